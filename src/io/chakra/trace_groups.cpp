#include "io/chakra/trace_groups.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "io/text/parse_json.hpp"
#include "schema/types.hpp"

namespace dfsearch {
namespace {

/// Sorted chips as members and places between, from the inside out.  Groups that are no such
/// lattice stand for as many chips side by side.
std::vector<std::int64_t> counts_of(const std::vector<std::int64_t>& chips) {
  std::vector<std::int64_t> counts;
  std::int64_t members = 1, filled = 1;  // of the innermost level that is open; places below it
  std::size_t done = 1;
  while (done < chips.size()) {
    const std::int64_t stride = chips[done] - chips[0];
    std::size_t blocks = 1;
    const auto repeats = [&] {
      for (std::size_t i = 0; i < done; ++i) {
        const std::size_t at = blocks * done + i;
        if (at >= chips.size() ||
            chips[at] != chips[i] + static_cast<std::int64_t>(blocks) * stride)
          return false;
      }
      return true;
    };
    while (repeats()) ++blocks;
    if (blocks == 1 || stride % filled != 0) return {static_cast<std::int64_t>(chips.size())};
    if (stride > filled) {
      counts.push_back(members);
      counts.push_back(stride / filled);
      members = 1;
    }
    members *= static_cast<std::int64_t>(blocks);
    filled = stride * static_cast<std::int64_t>(blocks);
    done *= blocks;
  }
  counts.push_back(members);
  return counts;
}

}  // namespace

TraceGroups::TraceGroups(const std::string& json, const std::string& name) {
  const Json root = parse_json_object(json, name);
  for (const auto& [key, value] : root.items()) {
    std::vector<std::int64_t> chips;
    const bool is_list = value.is_array() && !value.empty() &&
                         std::all_of(value.begin(), value.end(), [](const Json& chip) {
                           return chip.is_number_unsigned() && chip <= kLargestCount;
                         });
    if (!is_list) {
      throw InputError(name + ": expected the chips of each group of the trace beside it, as in " +
                       R"({"1": [0, 1]})");
    }
    for (const Json& chip : value) chips.push_back(chip.get<std::int64_t>());
    std::sort(chips.begin(), chips.end());
    chips_ = std::max(chips_, chips.back() + 1);
    groups_[key] = {.members = static_cast<std::int64_t>(chips.size()), .counts = counts_of(chips)};
  }
}

TraceGroups::Group TraceGroups::find(const std::string& name) const {
  const auto found = groups_.find(name);
  return found == groups_.end() ? Group{.members = 0, .counts = {kLargestCount}} : found->second;
}

}  // namespace dfsearch
