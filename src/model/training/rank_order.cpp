// Ranks are numbers in a mixed radix, of the degrees of the roles, and chips in another one, of the
// dimensions.  A role that takes the digits from `from` to `to` of the numbers has in a dimension as
// many chips as the two intervals overlap by.

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

bool numbers(Framework framework, const std::vector<Division>& network) {
  return is_numbered_so(network, kUsualOrder) ||
         (framework == Framework::Megatron && is_numbered_so(network, kStagesInside));
}

}  // namespace dfsearch::training
