// The meaning of a quantity does not depend on the other axes, so two configs that differ in
// quantities alone compare as the quantities do.  A choice that does not set a quantity has the
// value of the base, which must then be the same for all points.

#include "io/study/point_facts.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "io/checkpoint/problem_fingerprint.hpp"

namespace dfsearch {
namespace {

using Path = std::vector<std::string>;

/// Keys of the quantities that `is_no_less` compares; a star is an index.
const std::array<Path, 14> kQuantityKeys = {{{"system", "accelerator", "cores"},
                                             {"system", "accelerator", "frequency"},
                                             {"system", "accelerator", "sram"},
                                             {"system", "memory", "bandwidth"},
                                             {"system", "memory", "capacity"},
                                             {"system", "network", "*", "bandwidth"},
                                             {"price", "accelerator"},
                                             {"price", "memory"},
                                             {"price", "link"},
                                             {"price", "switch"},
                                             {"power", "accelerator"},
                                             {"power", "memory"},
                                             {"power", "link"},
                                             {"power", "switch"}}};

bool is_quantity(const Path& path) {
  return std::any_of(kQuantityKeys.begin(), kQuantityKeys.end(), [&](const Path& key) {
    return std::equal(
        path.begin(), path.end(), key.begin(), key.end(),
        [](const std::string& x, const std::string& y) { return x == y || y == "*"; });
  });
}

/// Whether points differ in the sources of their configs.
bool has_other_sources(const Study& study) {
  if (study.has_base_axis()) return true;
  return std::any_of(study.axes.begin(), study.axes.end(), [](const StudyAxis& axis) {
    return std::any_of(axis.changes.begin(), axis.changes.end(), [](const auto& changes) {
      return std::any_of(changes.begin(), changes.end(),
                         [](const Override& change) { return change.path.back() == "from"; });
    });
  });
}

/// The problem without prices, powers and the quantities that make a step slower when they shrink.
Problem without_quantities(Problem problem) {
  Machine& system = problem.system;
  system.accelerator.cores = 1;
  system.accelerator.frequency = Hertz(1.0);
  system.accelerator.sram = Bytes(1.0);
  system.memory[0].bandwidth = BytesPerSecond(1.0);
  system.memory[0].capacity = Bytes(1.0);
  for (NetworkDimension& dimension : system.network) dimension.bandwidth = BytesPerSecond(1.0);
  system.price = {};
  system.power = {};
  return problem;
}

std::vector<double> quantities_of(const Machine& system) {
  std::vector<double> all = {
      static_cast<double>(system.accelerator.cores), system.accelerator.frequency.in_base_units(),
      system.accelerator.sram.in_base_units(),       system.memory[0].bandwidth.in_base_units(),
      system.memory[0].capacity.in_base_units(),     system.price.accelerator.in_base_units(),
      system.price.memory.in_base_units(),           system.price.switch_port.in_base_units(),
      system.power.accelerator.in_base_units(),      system.power.memory.in_base_units(),
      system.power.switch_port.in_base_units()};
  for (const NetworkDimension& dimension : system.network) {
    all.push_back(dimension.bandwidth.in_base_units());
  }
  for (const auto& link : system.price.link) all.push_back(link.in_base_units());
  for (const auto& link : system.power.link) all.push_back(link.in_base_units());
  return all;
}

}  // namespace

bool grows(const Config& config) {
  const Problem& problem = config.problem;
  // A core's share of a level shrinks when there are more cores.
  const bool has_levels = problem.execution.levels && !problem.system.levels.empty();
  const Machine& system = problem.system;
  const bool has_rates = !system.price.by_peak && !system.power.by_peak;
  return !config.design && has_rates && problem.objective == Objective::StepTime &&
         !problem.system.second_memory() && !has_levels;
}

bool is_no_less(const Config& a, const Config& b) {
  if (!grows(a) || !grows(b)) return false;
  const std::vector<double> of_a = quantities_of(a.problem.system);
  const std::vector<double> of_b = quantities_of(b.problem.system);
  if (of_a.size() != of_b.size()) return false;
  for (std::size_t i = 0; i < of_a.size(); ++i) {
    if (of_b[i] < of_a[i]) return false;
  }
  return fingerprint_of(without_quantities(a.problem)) ==
         fingerprint_of(without_quantities(b.problem));
}

bool sets_quantities(const Study& study, std::size_t dimension) {
  if (study.has_base_axis() && study.axes.front().dimension == dimension) return false;
  std::vector<std::set<Path>> of_choices;
  for (const StudyAxis& axis : study.axes) {
    if (axis.dimension != dimension) continue;
    of_choices.resize(axis.changes.size());
    for (std::size_t i = 0; i < axis.changes.size(); ++i) {
      for (const Override& change : axis.changes[i]) {
        if (!is_quantity(change.path)) return false;
        of_choices[i].insert(change.path);
      }
    }
  }
  const bool all_set_the_same =
      std::all_of(of_choices.begin(), of_choices.end(),
                  [&](const std::set<Path>& paths) { return paths == of_choices.front(); });
  return all_set_the_same || !has_other_sources(study);
}

}  // namespace dfsearch
