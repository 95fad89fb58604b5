// A value that no plan has is reported at its place.  The search finds out if values are
// incompatible or memory is too small.

#include "io/config/config_readers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/counts.hpp"
#include "graph/workloads/blocks/mixed_layers.hpp"
#include "io/text/map_reader.hpp"
#include "model/training/plan.hpp"

namespace dfsearch {
namespace {

using training::Role;
using training::Schedule;
using training::Task;

/// Refuses values that no plan has with any other decisions: degrees that do not divide their
/// total, batches and layers that fit no legal degree, and chunks that contradict the schedule.
/// The search finds out whether all values are compatible.
class PlanRules {
 public:
  PlanRules(const YamlNode& root, const Task& task, InputMessages& messages)
      : root_(root), task_(task), choices_(task.choices), messages_(messages) {}

  void check() {
    for (const Role role : training::kRoles) check_degree(role);
    check_micro_batch();
    check_layers();
    check_chunks();
    check_recompute();
  }

 private:
  using Degrees = std::vector<std::int64_t>;

  [[nodiscard]] const YamlEntry* entry(std::string_view section, std::string_view key) const {
    const YamlEntry* found = root_.find(section);
    return found ? found->value.find(key) : nullptr;
  }
  void wrong(std::initializer_list<const YamlEntry*> entries, std::string_view key,
             const std::string& what) {
    messages_.add(place_of_conflict(entries), key, what);
  }
  /// The product of the degrees of the dimensions that serve only this role, and the first such
  /// dimension.
  [[nodiscard]] std::pair<std::int64_t, const YamlEntry*> pinned(Role role) const {
    std::pair<std::int64_t, const YamlEntry*> found = {1, nullptr};
    for (std::size_t d = choices_.network.size(); d-- > 0;) {
      if (choices_.network[d] != role) continue;
      found.first *= *task_.machine.network[d].degree;
      found.second = entry("system", "network")->value.items[d].find("strategy");
    }
    return found;
  }
  /// The number that the degree of a role must divide, as it must divide the number of chips.
  [[nodiscard]] std::int64_t divided(Role role) const {
    switch (role) {
      case Role::Tensor:
        return task_.model.mixed ? task_.machine.chips : task_.model.heads;
      case Role::Context:
        return task_.pass.tokens;
      case Role::Expert:
        return task_.model.experts ? task_.model.experts->count : 1;
      case Role::Data:
        return task_.global_batch;
      case Role::Pipeline:
        break;
    }
    return task_.machine.chips;
  }

  /// The rule of a block that a degree breaks, whatever the other degrees are; empty: none.
  [[nodiscard]] std::string misfit_of_block(Role role, std::int64_t degree) const {
    if (!task_.model.mixed) return "";
    if (role == Role::Pipeline && degree > 1) return task_.model.mixed->unsplit();
    if (role != Role::Tensor && role != Role::Context) return "";
    const bool is_tensor = role == Role::Tensor;
    return task_.model.mixed->misfit(is_tensor ? degree : 1, is_tensor ? 1 : degree,
                                     Runner::Training);
  }

  void check_degree(Role role) {
    const DegreeChoice& choice = choices_.degrees[static_cast<std::size_t>(role)];
    const auto [product, strategy] = pinned(role);
    Degrees& legal = degrees_[static_cast<std::size_t>(role)];
    for (const std::int64_t degree : divisors(task_.machine.chips)) {
      if (choice.allows(degree) && divided(role) % degree == 0 && degree % product == 0 &&
          (role != Role::Pipeline || degree <= task_.model.layers) &&
          misfit_of_block(role, degree).empty()) {
        legal.push_back(degree);
      }
    }
    if (!legal.empty()) return;
    const YamlEntry* given = entry("parallelism", training::name_of(role));
    std::string what;
    const std::string of_block =
        choice.values.size() == 1 ? misfit_of_block(role, choice.values[0]) : "";
    if (!of_block.empty()) return wrong({given, strategy}, training::name_of(role), of_block);
    if (role == Role::Expert && !task_.model.experts) {
      what = given ? "expected 1, as the model has no experts"
                   : "expected another role, as the model has no experts";
    } else {
      constexpr std::array kWhole = {"heads", "sequence", "experts", "global batch"};
      const std::string chips =
          fmt::format("expected a divisor of the chips, {}, ", task_.machine.chips);
      what = role == Role::Pipeline
                 ? fmt::format("{}of at most the layers, {}", chips, task_.model.layers)
                 : fmt::format("{}and of the {}, {}", chips, kWhole[static_cast<std::size_t>(role)],
                               divided(role));
      if (product > 1) {
        what += fmt::format(
            ", that is a multiple of {}, the degree of the dimensions that serve it", product);
      }
    }
    if (choice.values.size() == 1) what += fmt::format(", got {}", choice.values[0]);
    wrong({given, strategy}, given ? training::name_of(role) : "strategy", what);
  }

  void check_micro_batch() {
    const Degrees& data = degrees_[static_cast<std::size_t>(Role::Data)];
    if (choices_.micro_batches.empty() || data.empty()) return;
    const std::int64_t micro_batch = choices_.micro_batches.front();
    if (std::any_of(data.begin(), data.end(), [&](std::int64_t degree) {
          return task_.global_batch / degree % micro_batch == 0;
        })) {
      return;
    }
    wrong({entry("workload", "micro_batch"), entry("parallelism", "data"),
           entry("workload", "global_batch")},
          "micro_batch",
          fmt::format("expected a divisor of the {} samples of a replica, got {}",
                      task_.global_batch / data.front(), micro_batch));
  }

  void check_layers() {
    const Degrees& pipeline = degrees_[static_cast<std::size_t>(Role::Pipeline)];
    const auto stages = static_cast<std::int64_t>(choices_.layers.size());
    if (stages == 0 || pipeline.empty() ||
        std::find(pipeline.begin(), pipeline.end(), stages) != pipeline.end()) {
      return;
    }
    const std::string expected =
        pipeline.size() == 1
            ? fmt::format("{} stages", pipeline.front())
            : fmt::format("a number of stages that divides the chips, {}", task_.machine.chips);
    wrong({entry("training", "layers"), entry("parallelism", "pipeline")}, "layers",
          fmt::format("expected the layers of {}, got those of {}", expected, stages));
  }

  /// Checks that interleaved stages, and only these, have more than one chunk.
  void check_chunks() {
    const auto& schedules = choices_.schedules;
    const auto& chunks = choices_.chunks;
    const auto interleaved = std::count(schedules.begin(), schedules.end(), Schedule::Interleaved);
    const std::string_view key = "chunks";
    const auto refuse = [&](const char* expected) {
      wrong({entry("training", key), entry("training", "schedule")}, key,
            fmt::format("{}, got {}", expected, chunks.front()));
    };
    const bool may_be_whole =
        chunks.empty() || std::find(chunks.begin(), chunks.end(), 1) != chunks.end();
    if (!may_be_whole && !schedules.empty() && interleaved == 0) {
      refuse("expected 1, as only interleaved stages have chunks");
    } else if (chunks.size() == 1 && may_be_whole && !schedules.empty() &&
               interleaved == static_cast<std::ptrdiff_t>(schedules.size())) {
      refuse("expected at least 2, as the stages are interleaved");
    }
  }

  void check_recompute() {
    const auto& given = choices_.recomputes;
    const auto selective = std::count(given.begin(), given.end(), training::Recompute::Selective);
    if (given.empty() || selective != static_cast<std::ptrdiff_t>(given.size()) ||
        !task_.pass.fused || task_.stack) {
      return;
    }
    wrong({entry("training", "recompute")}, "recompute",
          "expected none or full, as selective recomputes scores, which fused attention does not "
          "keep; or set 'attention: unfused' in the workload");
  }

  const YamlNode& root_;
  const Task& task_;
  const training::Choices& choices_;
  InputMessages& messages_;
  std::array<Degrees, training::kRoles.size()> degrees_;  ///< legal ones of each role
};

}  // namespace

void check_plan_rules(const YamlNode& root, const Task& task, InputMessages& messages) {
  PlanRules(root, task, messages).check();
}

}  // namespace dfsearch
