// The equations as a whole: evaluate against the plain model on random worlds,
// and what must hold of any cost whatever the numbers.

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "graph/workloads/llm/transformer_graph.hpp"
#include "model/evaluate.hpp"
#include "model/step/step_time.hpp"
#include "support/machine_worlds.hpp"
#include "support/model_worlds.hpp"
#include "support/plain_model.hpp"
#include "support/random_problem.hpp"
#include "support/step_worlds.hpp"
#include "support/transformer_worlds.hpp"

namespace dfsearch {
namespace {

using test::cost_of;
using test::pick;

void check_close(Seconds time, double expected, double scale) {
  CHECK(std::abs(time.in_base_units() - expected) <= 1e-9 * scale);
}

void check_same(const Cost& cost, const test::PlainCost& plain) {
  CHECK(cost.step_time.in_base_units() == doctest::Approx(plain.step).epsilon(1e-9));
  CHECK(cost.layer_time.in_base_units() == doctest::Approx(plain.layer).epsilon(1e-9));
  CHECK(cost.utilization == doctest::Approx(plain.utilization).epsilon(1e-9));
  CHECK(cost.weights.in_base_units() == plain.weights);
  CHECK(cost.activations.in_base_units() == plain.activations);
  CHECK(cost.stored.in_base_units() == plain.stored);
  CHECK(cost.memory_intensity == doctest::Approx(plain.memory_intensity).epsilon(1e-9));
  CHECK(cost.tokens_per_second.value_or(0.0) ==
        doctest::Approx(plain.tokens_per_second).epsilon(1e-9));
  if (cost.serving) {
    CHECK(cost.serving->latency.in_base_units() == doctest::Approx(plain.latency).epsilon(1e-9));
  }
  REQUIRE(cost.partitions.size() == plain.partitions.size());
  for (std::size_t p = 0; p < plain.partitions.size(); ++p) {
    const PartitionCost& one = cost.partitions[p];
    const test::PlainPartition& other = plain.partitions[p];
    check_close(one.compute, other.compute, plain.layer);
    check_close(one.memory, other.memory, plain.layer);
    check_close(one.network, other.network, plain.layer);
    check_close(one.time, other.time, plain.layer);
    CHECK(one.sram.in_base_units() == other.sram);
  }
}

/// Checks that both models say the same of `seeds` random mappings; `look` sees those that fit.
/// Returns how many do not, by reason.
template <class World, class Look>
std::map<Resource, int> compare(std::uint64_t seeds, const World& world, const Look& look) {
  std::map<Resource, int> infeasible;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    CAPTURE(seed);
    const Problem problem = world(seed);
    const Mapping mapping = test::random_mapping(problem, seed);
    const auto result = evaluate(problem, mapping);
    const auto plain = test::plain_cost(problem, mapping);
    const Cost* cost = std::get_if<Cost>(&result);
    CHECK((cost != nullptr) == plain.has_value());
    if (cost == nullptr) {
      ++infeasible[std::get<Infeasible>(result).resource];
    } else if (plain) {
      check_same(*cost, *plain);
      look(seed, problem, mapping, *cost);
    }
  }
  return infeasible;
}

TEST_CASE("evaluate agrees with the plain model on thousands of random mappings") {
  int feasible = 0;
  auto infeasible = compare(
      6000, [](std::uint64_t seed) { return test::random_problem(seed / 3); },
      [&](auto, auto&&...) { ++feasible; });
  // Worth nothing if everything or nothing fitted.
  CHECK(feasible > 1500);
  for (const Resource resource :
       {Resource::Sram, Resource::Memory, Resource::Cores, Resource::Precedence, Resource::Phase,
        Resource::Pin, Resource::Sharding, Resource::Repeat, Resource::Batch, Resource::Tile}) {
    const std::string name = name_of(resource);
    CAPTURE(name);
    CHECK(infeasible[resource] > 0);
  }
}

TEST_CASE("evaluate agrees with the plain model on DLRM, HPL, FFT, decode and mixtures") {
  std::array<int, 6> feasible{};
  int spilled = 0;
  compare(
      3600, [](std::uint64_t seed) { return test::random_machine_problem(seed / 2); },
      [&](auto seed, auto&&, auto&&, const Cost& cost) {
        ++feasible[seed / 2 % 6];
        spilled += cost.spilled;
      });
  for (const int count : feasible) CHECK(count > 80);
  CHECK(std::accumulate(feasible.begin(), feasible.end(), 0) < 3100);
  CHECK(spilled > 100);
}

TEST_CASE("evaluate agrees with the plain model on other rates and on gathers at once") {
  int feasible = 0;
  const auto world = [](std::uint64_t seed) {
    Problem problem =
        seed % 2 == 0 ? test::random_problem(seed / 3) : test::random_machine_problem(seed / 3);
    if (seed % 3 != 1) problem.equations.gather = GatherOrder::AtOnce;
    if (seed % 3 != 2) problem.equations.directions = 2;
    test::set_rates(problem, seed);
    return problem;
  };
  compare(6000, world, [&](auto, auto&&...) { ++feasible; });
  CHECK(feasible > 1500);
}

TEST_CASE("evaluate agrees with the plain model on pieces of layers by rule") {
  std::array<int, 3> feasible{};
  compare(
      6600, [](std::uint64_t seed) { return test::random_transformer_problem(seed / 2); },
      [&](auto seed, auto&&...) { ++feasible[seed / 2 % 3]; });
  for (const int count : feasible) CHECK(count > 300);
}

TEST_CASE("evaluate agrees with the plain model on kernels with steps") {
  int feasible = 0;
  int waiting = 0;
  const auto world = [](std::uint64_t seed) {
    const test::WorldLimits limits{.two_axes = seed % 4 == 0};
    return test::with_steps(test::random_problem(seed / 2, limits), seed / 2, seed % 3 == 0);
  };
  compare(9000, world, [&](auto, const Problem& problem, auto&&...) {
    ++feasible;
    waiting += problem.workload.graph.turn(KernelId(0)).has_value();
  });
  CHECK(feasible > 500);
  CHECK(waiting > 50);
}

TEST_CASE("evaluate agrees with the plain model on grids of tensor dimensions") {
  int feasible = 0;
  int on_two = 0;
  const auto world = [](std::uint64_t seed) {
    const test::WorldLimits limits{.two_axes = true};
    return seed % 2 == 0 ? test::random_problem(seed / 4, limits)
                         : test::random_transformer_problem(seed / 4, limits);
  };
  compare(9000, world, [&](auto, auto&&, const Mapping& mapping, auto&&) {
    ++feasible;
    on_two += !std::all_of(mapping.sharding.begin(), mapping.sharding.end(),
                           [](LoopPair pair) { return pair.is_single(); });
  });
  CHECK(feasible > 500);
  CHECK(on_two > 300);
}

/// Calls `check` with random problems and mappings that fit.
void for_each_feasible(
    std::uint64_t seeds,
    const std::function<void(const Problem&, const Mapping&, const Cost&, std::uint64_t)>& check) {
  int found = 0;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    CAPTURE(seed);
    const Problem problem = test::random_problem(seed);
    const Mapping mapping = test::random_mapping(problem, seed);
    const auto result = evaluate(problem, mapping);
    if (const Cost* cost = std::get_if<Cost>(&result)) {
      check(problem, mapping, *cost, seed);
      ++found;
    }
  }
  CHECK(found > static_cast<int>(seeds / 5));
}

/// Rounding up to ticks may add a little.
void check_no_longer(Seconds time, Seconds than) { CHECK(time <= than * (1.0 + 1e-12)); }

TEST_CASE("more bandwidth never costs more") {
  for_each_feasible(2000, [](Problem problem, const Mapping& mapping, const Cost& cost, auto seed) {
    std::mt19937_64 random(seed);
    const double more = 1.0 + static_cast<double>(pick(random, 1, 300)) / 100.0;
    Problem memory = problem;
    memory.system.memory[0].bandwidth = memory.system.memory[0].bandwidth * more;
    check_no_longer(cost_of(memory, mapping).step_time, cost.step_time);
    for (NetworkDimension& d : problem.system.network) {
      d.bandwidth = d.bandwidth * more;
      check_no_longer(cost_of(problem, mapping).step_time, cost.step_time);
    }
  });
}

TEST_CASE("a faster clock or more SRAM never costs more") {
  for_each_feasible(1000, [](Problem problem, const Mapping& mapping, const Cost& cost, auto) {
    problem.system.accelerator.sram = problem.system.accelerator.sram * 2.0;
    const Seconds roomy = cost_of(problem, mapping).step_time;
    // More SRAM may only save weights that are loaded once a step.
    if (problem.equations.weight_traffic != WeightTraffic::PerStep) CHECK(roomy == cost.step_time);
    CHECK(roomy <= cost.step_time);
    problem.system.accelerator.frequency = 1.5 * problem.system.accelerator.frequency;
    check_no_longer(cost_of(problem, mapping).step_time, cost.step_time);
  });
}

/// The mapping of a layer for two of them in one graph, whose partitions are apart.
Mapping repeated(const DataflowGraph& layer, const DataflowGraph& both, const Mapping& mapping,
                 std::int64_t partitions) {
  std::map<std::string, std::size_t> index;
  for (std::size_t k = 0; k < layer.kernel_count(); ++k) index[layer.kernels()[k].name] = k;
  Mapping twice = mapping;
  twice.sharding.clear();
  twice.partition.clear();
  twice.cores.clear();
  for (const Kernel& kernel : both.kernels()) {
    const std::size_t k = index.at(kernel.name.substr(3));
    const bool is_second = kernel.name.starts_with("L2.");
    const bool forward = kernel.phase == Phase::Forward;
    const std::int64_t turn = forward ? (is_second ? 1 : 0) : (is_second ? 2 : 3);
    twice.sharding.push_back(mapping.sharding[k]);
    twice.partition.push_back(mapping.partition[k] + turn * partitions);
    if (!mapping.cores.empty()) twice.cores.push_back(mapping.cores[k]);
  }
  return twice;
}

TEST_CASE("layers in one graph cost as much as one by one, if they are mapped alike") {
  int compared = 0;
  for_each_feasible(1500, [&](Problem problem, const Mapping& mapping, const Cost&, auto) {
    const DataflowGraph layer = problem.workload.graph;
    const bool in_halves = problem.equations.phases == SplitPhases::Halves;
    if (layer.seams().empty() || (in_halves && layer.has_backward())) return;
    problem.equations.phases = SplitPhases::Separate;
    problem.equations.layer_seams = LayerSeams::Charged;
    problem.execution.style = Style::Dataflow;
    problem.execution.pins.clear();
    problem.sharding_pins.clear();
    problem.system.accelerator.sram = problem.system.memory[0].capacity = Bytes::infinity();
    const std::int64_t partitions =
        *std::max_element(mapping.partition.begin(), mapping.partition.end()) + 1;
    problem.execution.partitions = partitions;
    const double once = cost_of(problem, mapping).layer_time.in_base_units();
    problem.workload.graph = unrolled_layers(layer, 2);
    problem.execution.partitions = 4 * partitions;
    const Mapping twice = repeated(layer, problem.workload.graph, mapping, partitions);
    const double both = cost_of(problem, twice).layer_time.in_base_units();
    CHECK(both == doctest::Approx(2.0 * once).epsilon(1e-9));
    ++compared;
  });
  CHECK(compared > 100);
}

TEST_CASE("with a tensor degree of 1 every sharding costs the same") {
  int compared = 0;
  for_each_feasible(2000, [&](Problem problem, Mapping mapping, const Cost&, auto seed) {
    std::mt19937_64 random(seed);
    for (std::size_t d = 0; d < mapping.network.size(); ++d) {
      if (mapping.network[d].strategy != Strategy::Tensor) continue;
      problem.system.chips /= mapping.network[d].degree;
      mapping.network[d].degree = 1;
      problem.system.network[d].degree = 1;
    }
    problem.system.accelerator.sram = Bytes::infinity();  // shards were smaller
    problem.system.memory[0].capacity = Bytes::infinity();
    const Cost before = cost_of(problem, mapping);
    const auto& kernels = problem.workload.graph.kernels();
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      const std::vector<Loop> loops = test::plain_loops(kernels[i]);
      const auto last = static_cast<std::int64_t>(loops.size()) - 1;
      const Loop other = loops[static_cast<std::size_t>(pick(random, 0, last))];
      compared += LoopPair(other) != mapping.sharding[i] ? 1 : 0;
      mapping.sharding[i] = other;
    }
    const Cost after = cost_of(problem, mapping);
    CHECK(after.layer_ticks == before.layer_ticks);
    CHECK(after.step_time == before.step_time);
    CHECK(after.weights == before.weights);
  });
  CHECK(compared > 500);
}

TEST_CASE("twice the layers are twice the time of the layers") {
  for_each_feasible(2000, [](Problem problem, const Mapping& mapping, const Cost&, auto) {
    problem.system.memory[0].capacity = Bytes::infinity();
    problem.equations.virtual_stages = VirtualStages::Fixed;  // the bubble stays as it is
    if (problem.equations.weight_traffic == WeightTraffic::PerStep) {
      problem.equations.weight_traffic = WeightTraffic::Resident;  // of twice the weights fewer fit
    }
    // The layers that the stages divide.
    problem.workload.layers = 2 * degree_of(mapping.network, Strategy::Pipeline);
    const Cost once = cost_of(problem, mapping);
    problem.workload.layers *= 2;
    const Cost twice = cost_of(problem, mapping);
    const StepTime step = step_time(problem, mapping.network, mapping.micro_batch);
    if (once.step_time == step.least / step.copies) return;  // the links do not see layers
    CHECK(twice.layer_ticks == once.layer_ticks);
    CHECK(twice.weights == 2.0 * once.weights);
    CHECK((twice.step_time - twice.pipeline_transfer).in_base_units() ==
          doctest::Approx(2.0 * (once.step_time - once.pipeline_transfer).in_base_units())
              .epsilon(1e-12));
    // Equal numbers of chunks hand on equally often, but published once for each layer.
    const bool of_layers = problem.equations.pipeline == PipelineTime::Bubble;
    CHECK(twice.pipeline_transfer == (of_layers ? 2.0 : 1.0) * once.pipeline_transfer);
  });
}

/// The problem and the mapping with kernel i at place[i] of the list.
std::pair<Problem, Mapping> relabelled(const Problem& problem, const Mapping& mapping,
                                       const std::vector<std::size_t>& place) {
  Problem other = problem;
  Mapping moved = mapping;
  const DataflowGraph& graph = problem.workload.graph;
  std::vector<Kernel> kernels = graph.kernels();
  for (std::size_t i = 0; i < place.size(); ++i) {
    kernels[place[i]] = graph.kernels()[i];
    moved.sharding[place[i]] = mapping.sharding[i];
    moved.partition[place[i]] = mapping.partition[i];
    if (!mapping.cores.empty()) moved.cores[place[i]] = mapping.cores[i];
    if (!problem.execution.pins.empty()) {
      other.execution.pins[place[i]] = problem.execution.pins[i];
    }
  }
  std::vector<Tensor> tensors;
  for (const Tensor& t : graph.tensors()) {
    tensors.insert(tensors.begin(),
                   test::tensor(place[t.from.index()], place[t.to.index()], t.operand));
  }
  std::vector<Tensor> seams;
  for (const Tensor& s : graph.seams()) {
    seams.insert(seams.begin(),
                 test::tensor(place[s.from.index()], place[s.to.index()], s.operand));
  }
  other.workload.graph = DataflowGraph(std::move(kernels), std::move(tensors), std::move(seams));
  return {other, moved};
}

TEST_CASE("the order of the lists of kernels and tensors changes nothing") {
  for_each_feasible(
      2000, [](const Problem& problem, const Mapping& mapping, const Cost& cost, auto seed) {
        // Kernel by kernel, the order of the list is the mapping.
        if (problem.execution.style == Style::KernelByKernel) return;
        std::mt19937_64 random(seed);
        std::vector<std::size_t> place(problem.workload.graph.kernel_count());
        for (std::size_t i = 0; i < place.size(); ++i) place[i] = i;
        for (std::size_t i = place.size(); i > 1; --i) {
          const std::int64_t other = pick(random, 0, static_cast<std::int64_t>(i) - 1);
          std::swap(place[i - 1], place[static_cast<std::size_t>(other)]);
        }
        const auto [moved_problem, moved] = relabelled(problem, mapping, place);
        const Cost other = cost_of(moved_problem, moved);
        CHECK(other.step_time.in_base_units() ==
              doctest::Approx(cost.step_time.in_base_units()).epsilon(1e-12));
        CHECK(other.activations == cost.activations);
        CHECK(other.weights == cost.weights);
        REQUIRE(other.partitions.size() == cost.partitions.size());
        for (std::size_t p = 0; p < cost.partitions.size(); ++p) {
          CHECK(other.partitions[p].sram == cost.partitions[p].sram);
          CHECK(other.partitions[p].kernels.size() == cost.partitions[p].kernels.size());
        }
      });
}

TEST_CASE("overlap never costs more than none") {
  for_each_feasible(1000, [](Problem problem, const Mapping& mapping, const Cost&, auto) {
    const auto with = [&](Overlap overlap) {
      problem.execution.overlap = overlap;
      return cost_of(problem, mapping).layer_ticks;
    };
    CHECK(with(Overlap::Perfect) <= with(Overlap::ComputeMemory));
    CHECK(with(Overlap::ComputeMemory) <= with(Overlap::None));
  });
}

TEST_CASE("the cores of the best allocation, given back, cost the same") {
  int given = 0;
  for_each_feasible(1000, [&](const Problem& problem, Mapping mapping, const Cost& cost, auto) {
    if (cost.cores.empty()) return;
    mapping.cores = cost.cores;
    CHECK(cost_of(problem, mapping).layer_ticks == cost.layer_ticks);
    ++given;
  });
  CHECK(given > 50);
}

}  // namespace
}  // namespace dfsearch
