// Ranks are numbers in a mixed radix, of the degrees of the roles, and chips in another one, of the
// dimensions.  A role that takes the steps from `from` to `to` of the numbers has the part of them
// in a dimension by which the two intervals overlap.

#include "io/emit/rank_order.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace dfsearch {
namespace {

/// The chips of a role in a dimension of a plan: 1 where it has none.
std::int64_t chips_of(const Json& dimension, std::string_view role) {
  const auto found = dimension.find(role);
  return found == dimension.end() ? 1 : found->get<std::int64_t>();
}

}  // namespace

bool is_numbered_so(const Json& result, std::initializer_list<std::string_view> roles) {
  const Json& network = result.at("network");
  std::int64_t from = 1;
  for (const std::string_view role : roles) {
    std::int64_t degree = 1;
    for (const Json& dimension : network) degree *= chips_of(dimension, role);
    const std::int64_t to = from * degree;
    std::int64_t begin = 1;
    for (std::size_t d = 0; d < network.size(); ++d) {
      if (network[d].contains("order")) return true;
      const std::int64_t end =
          begin * result.at("machine").at("network")[d].at("degree").get<std::int64_t>();
      const std::int64_t first = std::max(from, begin), last = std::min(to, end);
      const std::int64_t chips = chips_of(network[d], role);
      if (last > first ? last != first * chips : chips != 1) return false;
      begin = end;
    }
    from = to;
  }
  return true;
}

std::string placement_text(const Json& result) {
  std::string text;
  for (const Json& dimension : result.at("network")) {
    std::string inside;
    for (const auto& [role, chips] : dimension.items()) {
      if (!chips.is_number()) continue;
      inside +=
          fmt::format("{}{} {}", inside.empty() ? "" : " x ", role, chips.get<std::int64_t>());
    }
    if (!inside.empty()) text += (text.empty() ? "" : ", then ") + inside;
  }
  return text;
}

}  // namespace dfsearch
