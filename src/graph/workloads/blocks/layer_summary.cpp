// Run-length encoding in two levels: at each layer the period that covers most of the layers ahead
// is taken, the shortest one first.

#include "graph/workloads/blocks/layer_summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace dfsearch {
namespace {

using Names = std::span<const std::string>;

constexpr std::size_t kMostRuns = 8;
constexpr std::size_t kLongestPeriod = 32;

/// Times that the first `period` names follow each other.
std::size_t repeats(Names names, std::size_t period) {
  std::size_t end = period;
  while (end < names.size() && names[end] == names[end - period]) ++end;
  return end / period;
}

/// The runs of equal names, and their number.
std::string runs_of(Names names, std::size_t& runs) {
  std::string text;
  while (!names.empty()) {
    const std::size_t run = repeats(names, 1);
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", run, names[0]);
    names = names.subspan(run);
    ++runs;
  }
  return text;
}

std::string totals_of(const std::vector<std::string>& names) {
  std::string text;
  for (auto name = names.begin(); name != names.end(); ++name) {
    if (std::find(names.begin(), name, *name) != name) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ",
                        std::count(names.begin(), names.end(), *name), *name);
  }
  return text + " in an order of their own";
}

}  // namespace

std::string layer_summary(const Stack& stack) {
  std::vector<std::string> names;
  for (const std::uint16_t kind : stack.layers) names.push_back(stack.kinds[kind].text());
  std::string text;
  std::size_t runs = 0;
  for (Names rest = names; !rest.empty();) {
    std::size_t period = 1, covered = repeats(rest, 1);
    for (std::size_t p = 2; p <= std::min(rest.size() / 2, kLongestPeriod); ++p) {
      const std::size_t times = repeats(rest, p);
      if (times < 2 || times * p <= covered) continue;
      period = p;
      covered = times * p;
    }
    if (!text.empty()) text += ", ";
    text += period == 1
                ? runs_of(rest.first(covered), runs)
                : fmt::format("{} x ({})", covered / period, runs_of(rest.first(period), runs));
    rest = rest.subspan(covered);
  }
  return runs <= kMostRuns ? text : totals_of(names);
}

}  // namespace dfsearch
