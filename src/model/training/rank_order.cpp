// Ranks are numbers in two mixed radices: one of the degrees of the roles, the other of the chips of
// each dimension.  A role runs through the numbers in steps of `from` up to `to`, a dimension in
// steps of `begin` up to `end`.  By the factor by which these two intervals overlap, so many chips of
// the role are in the dimension.

#include "model/training/rank_order.hpp"

#include <algorithm>

namespace dfsearch::training {

bool is_numbered_so(const std::vector<Division>& network, RankOrder order) {
  std::int64_t from = 1;
  for (const Role role : order) {
    std::int64_t to = from;
    for (const Division& dimension : network) to *= dimension[role];
    std::int64_t begin = 1;
    for (const Division& dimension : network) {
      if (!dimension.order.empty()) return true;
      std::int64_t end = begin;
      for (const Role each : kRoles) end *= dimension[each];
      const std::int64_t first = std::max(from, begin), last = std::min(to, end);
      if (std::max(first, last) != first * dimension[role]) return false;
      begin = end;
    }
    from = to;
  }
  return true;
}

bool can_number(Framework framework, const std::vector<Division>& network, TensorLayout layout) {
  if (is_numbered_so(network, kUsualOrder)) return true;
  if (framework != Framework::Megatron || !is_numbered_so(network, kStagesInside)) return false;
  Degrees degrees;
  for (const Division& dimension : network) {
    for (const Role role : kRoles) degrees[role] *= dimension[role];
  }
  return degrees[Role::Context] == 1 && expert_ranks(degrees, layout) == 1;
}

}  // namespace dfsearch::training
