#include "io/report/report_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/units_text.hpp"
#include "engine/names.hpp"
#include "graph/names.hpp"
#include "io/report/report_words.hpp"
#include "io/text/objective_text.hpp"
#include "io/text/text_table.hpp"
#include "model/machine/network_choices.hpp"
#include "model/names.hpp"

namespace dfsearch {
namespace {

/// "3.8 %": how much more `score` is than the best one.
std::string excess(Score score, const BestMapping& best) {
  const Score least = best.cost->objective;
  return percent(std::max(0.0, (score - least) / least));
}

std::string next_best_text(Objective objective, const BestMapping& best, const BestMapping& next) {
  const char* const worse = worse_word(objective);
  if (!next.cost) {
    return fmt::format("not found yet; at least {} {}", excess(next.lower_bound, best), worse);
  }
  const std::string text = fmt::format(
      "{}: {}, {} {}", parallelism_text(parallelism_of(next.mapping->network)),
      objective_text(objective, next.cost->objective), excess(next.cost->objective, best), worse);
  if (next.status == SearchStatus::Optimal) return text;
  return text + fmt::format("; not proved, at least {} {}", excess(next.lower_bound, best), worse);
}

std::vector<std::string> network_words(const Mapping& mapping) {
  std::vector<std::string> words;
  for (const Mapping::Dimension& dimension : mapping.network) {
    if (!words.empty()) words.back() += ',';
    words.push_back(std::to_string(dimension.degree));
    words.emplace_back(name_of(dimension.strategy));
  }
  return words;
}

Sheet table(Objective objective, const SearchResult& result) {
  TextTable table({"#", "tensor", "pipeline", "data", "step time", worse_word(objective), "gap",
                   "price", "network"});
  std::int64_t rank = 0;
  const auto add = [&](const BestMapping& found) {
    const std::string number = std::to_string(++rank);
    if (!found.cost) {
      table.add(
          {number, "?", "?", "?", "> " + objective_text(objective, found.lower_bound), "", "", ""},
          {});
      return;
    }
    const Parallelism degrees = parallelism_of(found.mapping->network);
    table.add({number, std::to_string(degrees.tensor), std::to_string(degrees.pipeline),
               std::to_string(degrees.data), to_text(found.cost->step_time),
               excess(found.cost->objective, result), percent(found.gap),
               found.cost->price > Dollars{} ? to_text(found.cost->price) : "-"},
              network_words(*found.mapping));
  };
  add(result);
  for (const BestMapping& found : result.alternatives) add(found);
  return TitledTable{"best parallelisms", std::move(table),
                     result.alternatives_complete ? "no other parallelism fits\n" : ""};
}

}  // namespace

Sheet ranking_text(Objective objective, const SearchResult& result) {
  if (!result.cost || result.parallelisms < 2) return "";
  if (result.alternatives.size() > 1) return table(objective, result);
  if (result.alternatives.size() == 1) {
    return labelled("next best", next_best_text(objective, result, result.alternatives.front()));
  }
  if (!result.alternatives_complete) return "";
  return labelled("next best", "none: no other parallelism fits");
}

}  // namespace dfsearch
