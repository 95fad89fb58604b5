// Worked cases of the memory of training.  An independent program computed all their digits with
// the equations of docs/truth.md, section 5.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "io/predict/csv_table.hpp"
#include "io/predict/run_table.hpp"
#include "io/text/input_messages.hpp"
#include "model/training/evaluate.hpp"

namespace dfsearch {
namespace {

using memory::Level;
using memory::StageMemory;

std::string text_of(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The parts of a case by the names of its columns.
std::vector<std::pair<std::string_view, double>> parts_of(const training::RunTime& time) {
  const auto fullest =
      std::max_element(time.stages.begin(), time.stages.end(), [](const auto& a, const auto& b) {
        return a[Level::Typical].device() < b[Level::Typical].device();
      });
  const StageMemory& held = (*fullest)[Level::Typical];
  const auto at = [&](Level level) {
    const StageMemory* most = nullptr;
    for (const auto& stage : time.stages) {
      if (most == nullptr || stage[level].device() > most->device()) most = &stage[level];
    }
    return *most;
  };
  const StageMemory low = at(Level::Low), high = at(Level::High);
  return {{"stage", static_cast<double>(fullest - time.stages.begin())},
          {"weights", held.weights},
          {"adapters", held.adapters},
          {"gradients", held.gradients},
          {"optimizer", held.optimizer},
          {"activations", held.activations},
          {"loss_moment", held.moments[0]},
          {"last_layer", held.moments[1]},
          {"first_layer", held.moments[2]},
          {"step_moment", held.moments[3]},
          {"loss_bytes", held.loss},
          {"working", held.working},
          {"gathered", held.gathered},
          {"step", held.step},
          {"resident", held.resident},
          {"fragments", held.fragments},
          {"allocated", held.allocated()},
          {"device", held.device()},
          {"low_allocated", low.allocated()},
          {"low_device", low.device()},
          {"high_allocated", high.allocated()},
          {"high_device", high.device()},
          {"limit", time.judgement.visible.in_base_units()}};
}

TEST_CASE("worked cases of the memory of training hold to all digits") {
  InputMessages messages;
  const char* const path = "tests/data/memory/cases.csv";
  const CsvTable table(text_of(path), path, messages);
  const std::vector<MeasuredRun> runs = read_runs(table, messages);
  REQUIRE(runs.size() == 31);
  std::size_t next = 0;
  table.each_row(messages, [&](const RowReader& row) {
    const MeasuredRun& run = runs[next++];
    CAPTURE(run.id);
    const training::RunTime time = training::run_time(*run.task, run.plan);
    for (const auto& [column, value] : parts_of(time)) {
      CAPTURE(column);
      const double expected = *row.number(column);
      CHECK(std::fabs(value - expected) <= 1e-9 * std::max(1.0, expected));
    }
    CHECK(row.text("verdict") == name_of(time.judgement.verdict));
    CHECK(row.text("phase") == name_of(time.judgement.held.moment));
    // The parts of a report add up to what a chip needs.
    CHECK(time.memory.total().in_base_units() ==
          doctest::Approx(*row.number("device")).epsilon(1e-9));
  });
}

}  // namespace
}  // namespace dfsearch
