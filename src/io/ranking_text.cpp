#include "io/ranking_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/units_text.hpp"
#include "io/names.hpp"
#include "io/report_words.hpp"
#include "io/text_table.hpp"
#include "model/network_choices.hpp"

namespace dfsearch {
namespace {

/// "3.8 %": how much longer `time` is than the best one.
std::string excess(Seconds time, const BestMapping& best) {
  const Seconds least = best.cost->step_time;
  return percent(std::max(0.0, (time - least) / least));
}

std::string next_best_text(const BestMapping& best, const BestMapping& next) {
  if (!next.cost) {
    return fmt::format("not found yet; at least {} slower", excess(next.lower_bound, best));
  }
  const Seconds time = next.cost->step_time;
  const std::string text =
      fmt::format("{}: {}, {} slower", parallelism_text(parallelism_of(next.mapping->network)),
                  to_text(time), excess(time, best));
  if (next.status == SearchStatus::Optimal) return text;
  return text + fmt::format("; not proved, at least {} slower", excess(next.lower_bound, best));
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

std::string table(const SearchResult& result) {
  TextTable table(
      {"#", "tensor", "pipeline", "data", "step time", "slower", "gap", "price", "network"});
  std::int64_t rank = 0;
  const auto add = [&](const BestMapping& found) {
    const std::string number = std::to_string(++rank);
    if (!found.cost) {
      table.add({number, "?", "?", "?", "> " + to_text(found.lower_bound), "", "", ""}, {});
      return;
    }
    const Parallelism degrees = parallelism_of(found.mapping->network);
    table.add({number, std::to_string(degrees.tensor), std::to_string(degrees.pipeline),
               std::to_string(degrees.data), to_text(found.cost->step_time),
               excess(found.cost->step_time, result), percent(found.gap),
               found.cost->price > Dollars{} ? to_text(found.cost->price) : "-"},
              network_words(*found.mapping));
  };
  add(result);
  for (const BestMapping& found : result.alternatives) add(found);
  std::string text = "\nbest parallelisms\n" + table.text();
  if (result.alternatives_complete) text += "no other parallelism fits\n";
  return text;
}

}  // namespace

std::string ranking_text(const SearchResult& result) {
  if (!result.cost || result.parallelisms < 2) return "";
  if (result.alternatives.size() > 1) return table(result);
  if (result.alternatives.size() == 1) {
    return labelled("next best", next_best_text(result, result.alternatives.front()));
  }
  if (!result.alternatives_complete) return "";
  return labelled("next best", "none: no other parallelism fits");
}

}  // namespace dfsearch
