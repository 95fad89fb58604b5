#include "cli/gemm.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/units_text.hpp"
#include "cli/chip.hpp"
#include "cli/commands.hpp"
#include "cli/outputs.hpp"
#include "cli/standard_output.hpp"
#include "io/text/json_text.hpp"
#include "io/text/text_table.hpp"
#include "io/text/write_file.hpp"
#include "model/layer/level_traffic.hpp"
#include "model/names.hpp"
#include "technology/gemm.hpp"
#include "technology/intensity.hpp"
#include "technology/published_gemm.hpp"

namespace dfsearch {
namespace {

/// One GEMM with all that is known of it.
struct TimedGemm {
  Shard shape;
  GemmTime own;
  std::optional<Seconds> published;
  std::vector<GemmIntensities> intensities;
};

std::vector<std::string> level_names(const Chip& chip) {
  std::vector<std::string> names;
  for (const ChipLevel& level : chip.levels) names.emplace_back(name_of(level.name));
  if (chip.memory) names.emplace_back("memory");
  return names;
}

Json intensities_json(const std::vector<GemmIntensities>& all) {
  Json list = Json::array();
  for (const GemmIntensities& of : all) {
    Json strategies = Json::object();
    for (const auto& [name, quartiles] : of.strategies) append(strategies, name, quartiles);
    list.push_back({{"chips", of.chips}, {"all", of.all}, {"strategies", std::move(strategies)}});
  }
  return list;
}

std::string intensities_table(const std::vector<TimedGemm>& gemms) {
  TextTable table({"shape", "chips", "least", "quartile", "median", "quartile", "greatest",
                   "FLOP for a word of the memory, over all tiles"});
  for (const TimedGemm& gemm : gemms) {
    for (const GemmIntensities& of : gemm.intensities) {
      const auto add = [&](const Quartiles& quartiles, const std::string& which) {
        std::vector<std::string> cells = {
            fmt::format("{}x{}x{}", gemm.shape.m, gemm.shape.k, gemm.shape.n),
            std::to_string(of.chips)};
        for (const double value : quartiles) cells.push_back(fmt::format("{:.5g}", value));
        table.add(std::move(cells), {which});
      };
      add(of.all, "all");
      for (const auto& [name, quartiles] : of.strategies) add(quartiles, name);
    }
  }
  return "\n" + table.text();
}

Json gemm_json(const TimedGemm& gemm, const std::vector<std::string>& names) {
  Json bytes = Json::object();
  Json times = {{"compute", json_number(gemm.own.compute.in_base_units())}};
  for (std::size_t x = 0; x < names.size(); ++x) {
    append(bytes, names[x], json_number(gemm.own.levels[x].bytes.in_base_units()));
    append(times, names[x], json_number(gemm.own.levels[x].time.in_base_units()));
  }
  return {
      {"shape", Json::array({gemm.shape.m, gemm.shape.k, gemm.shape.n})},
      {"bytes", std::move(bytes)},
      {"times", std::move(times)},
      {"time", json_number(gemm.own.time.in_base_units())},
      {"published_time", gemm.published ? json_number(gemm.published->in_base_units()) : Json()},
      {"intensities", intensities_json(gemm.intensities)}};
}

std::string gemm_table(const std::vector<TimedGemm>& gemms, const std::vector<std::string>& names,
                       bool published) {
  std::vector<std::string> header = {"shape", "time", "compute"};
  header.insert(header.end(), names.begin(), names.end());
  if (published) header.emplace_back("published");
  header.emplace_back("");
  TextTable table(header);
  for (const TimedGemm& gemm : gemms) {
    std::vector<std::string> cells = {
        fmt::format("{}x{}x{}", gemm.shape.m, gemm.shape.k, gemm.shape.n), to_text(gemm.own.time),
        to_text(gemm.own.compute)};
    for (const GemmLevel& level : gemm.own.levels) cells.push_back(to_text(level.time));
    if (published) cells.push_back(to_text(*gemm.published));
    table.add(std::move(cells), {});
  }
  return table.text();
}

}  // namespace

int run_gemm(const CommandLine& line) {
  const Config config = load_chip(line);
  const Technology& technology = config.design->technology;
  const Chip& chip = *config.chip;
  const bool published = line.published || config.design->equations.gemm_tiles == GemmTiles::Drawn;
  check_output(line.json);
  std::vector<TimedGemm> gemms;
  for (const Shard& shape : line.shapes) {
    TimedGemm& gemm = gemms.emplace_back();
    gemm.shape = shape;
    gemm.own = gemm_time(technology, chip, shape, line.word, config.launch_overhead);
    for (const std::int64_t chips : line.shared_by) {
      const std::int64_t words =
          chip.levels.empty() ? 0 : words_of(chip.levels.back().share, line.word);
      if (words < 3) throw InputError(line.config + ": --intensities needs a level of three words");
      gemm.intensities.push_back(gemm_intensities(shape, chips, words));
    }
    if (!published) continue;
    gemm.published =
        published_gemm_time(technology, chip, shape, line.word, config.launch_overhead);
    if (gemm.published) continue;
    throw InputError(line.config +
                     ": the published time of a GEMM needs registers, L1, L2, a memory and "
                     "'technology.core.fma'");
  }
  const std::vector<std::string> names = level_names(chip);
  Json list = Json::array();
  for (const TimedGemm& gemm : gemms) list.push_back(gemm_json(gemm, names));
  const std::string json = json_text({{"config", title_of(line)}, {"gemms", std::move(list)}});
  if (!line.json.empty() && line.json != "-") write_file(line.json, json);
  print(line.json == "-" ? json
                         : title_of(line) + "\n" + gemm_table(gemms, names, published) +
                               (line.shared_by.empty() ? "" : intensities_table(gemms)));
  return kProved;
}

}  // namespace dfsearch
