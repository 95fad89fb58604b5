#include "cli/commands.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <optional>

#include "base/error.hpp"
#include "base/units_text.hpp"
#include "cli/outputs.hpp"
#include "io/result/answer_rows.hpp"
#include "io/text/json_text.hpp"
#include "io/text/text_table.hpp"
#include "model/layer/level_traffic.hpp"
#include "technology/gemm.hpp"
#include "technology/lstm.hpp"

namespace dfsearch {
namespace {

constexpr const char* kNoPublishedTime =
    ": the published time of a GEMM needs registers, L1, L2, a memory and 'technology.core.fma'";

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
  return json_list(all, [](const GemmIntensities& of) -> Json {
    Json strategies = Json::object();
    for (const auto& [name, quartiles] : of.strategies) append(strategies, name, quartiles);
    return {{"chips", of.chips}, {"all", of.all}, {"strategies", std::move(strategies)}};
  });
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
  Json times = {{"compute", number(gemm.own.compute)}};
  for (std::size_t x = 0; x < names.size(); ++x) {
    append(bytes, names[x], number(gemm.own.levels[x].bytes));
    append(times, names[x], number(gemm.own.levels[x].time));
  }
  return {{"shape", Json::array({gemm.shape.m, gemm.shape.k, gemm.shape.n})},
          {"bytes", std::move(bytes)},
          {"times", std::move(times)},
          {"time", number(gemm.own.time)},
          {"published_time", or_null(gemm.published)},
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

/// A training step of an LSTM, step by step and folded.
struct TimedLstm {
  LstmModel model;
  LstmTime by_step, folded;
  std::optional<PublishedLstmTime> published;
};

}  // namespace

template <>
inline constexpr auto kKeys<LstmTime> = join(DFSEARCH_KEYS(LstmTime, forward, backward, embedding),
                                             key<LstmTime, &LstmTime::total>("time"));
template <>
inline constexpr auto kKeys<PublishedLstmTime> = join(
    DFSEARCH_KEYS(PublishedLstmTime, cell_forward, cell_backward, softmax_forward, softmax_backward,
                  embedding_forward, embedding_backward, update_cells, update_softmax, body),
    key<PublishedLstmTime, &PublishedLstmTime::total>("time"));

namespace {

Json lstm_json(const TimedLstm& lstm) {
  Json json =
      object_json(DFSEARCH_KEYS(LstmModel, batch, hidden, vocabulary, layers, steps), &lstm.model);
  append(json, "parameters", json_number(parameters_of(lstm.model)));
  put(json,
      join(key<TimedLstm, &TimedLstm::by_step>("step_by_step"),
           DFSEARCH_KEYS(TimedLstm, folded, published)),
      &lstm);
  return json;
}

std::string lstms_table(const std::vector<TimedLstm>& lstms, bool published) {
  std::vector<std::string> header = {"LSTM", "step by step", "folded"};
  if (published) header.emplace_back("published");
  header.emplace_back("");
  TextTable table(header);
  for (const TimedLstm& lstm : lstms) {
    const auto& [batch, hidden, vocabulary, layers, steps] = lstm.model;
    std::vector<std::string> cells = {
        fmt::format("{}x{}x{}x{}x{}", batch, hidden, vocabulary, layers, steps),
        to_text(lstm.by_step.total()), to_text(lstm.folded.total())};
    if (published) cells.push_back(to_text(lstm.published->total));
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
    gemm.published = published_gemm_time(technology, chip, shape, published_dataflow(shape),
                                         line.word, config.launch_overhead);
    if (gemm.published) continue;
    throw InputError(line.config + kNoPublishedTime);
  }
  std::vector<TimedLstm> lstms;
  for (const LstmModel& model : line.lstms) {
    if (!chip.memory) throw InputError(line.config + ": --lstm needs a memory");
    const auto time = [&](bool folded) {
      return lstm_time(technology, chip, model, line.word, config.launch_overhead, folded);
    };
    lstms.push_back(
        {.model = model, .by_step = time(false), .folded = time(true), .published = {}});
    if (!published) continue;
    lstms.back().published =
        published_lstm_time(technology, chip, model, line.word, config.launch_overhead);
    if (!lstms.back().published) throw InputError(line.config + kNoPublishedTime);
  }
  const std::vector<std::string> names = level_names(chip);
  Json list = json_list(gemms, [&](const TimedGemm& gemm) { return gemm_json(gemm, names); });
  Json all = {{"config", title_of(line)}, {"gemms", std::move(list)}};
  if (!lstms.empty()) all["lstms"] = json_list(lstms, lstm_json);
  write_json_or(line.json, json_text(all),
                title_of(line) + "\n" + (gemms.empty() ? "" : gemm_table(gemms, names, published)) +
                    (line.shared_by.empty() ? "" : intensities_table(gemms)) +
                    (lstms.empty() ? "" : lstms_table(lstms, published)));
  return kProved;
}

}  // namespace dfsearch
