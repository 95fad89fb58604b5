// The exported fusion against the plain model, without a solver.
//
// With the integer columns of a mapping decided, the test works out every other
// column by its meaning, not by the rows, and looks which rows are violated: none
// of a mapping that fits, and then the objective is the time of its layer; at
// least one of a mapping that does not.

#include "milp/fusion_model.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "base/error.hpp"
#include "io/lp/lp_text.hpp"
#include "milp/column_names.hpp"
#include "milp/fusion_matrices.hpp"
#include "model/evaluate.hpp"
#include "support/machine_worlds.hpp"
#include "support/model_worlds.hpp"
#include "support/random_problem.hpp"

namespace dfsearch {
namespace {

class Point {
 public:
  Point(const Problem& problem, const Mapping& mapping, const std::vector<CoreGrid>& cores,
        bool spilled, const LinearModel& model)
      : graph_(problem.workload.graph),
        names_(graph_),
        mapping_(mapping),
        cores_(cores),
        spilled_(spilled) {
    for (std::size_t t = 0; t < graph_.tensor_count(); ++t) {
      tensors_.emplace(names_.of(TensorId(t)), TensorId(t));
    }
    for (const LinearModel::Column& column : model.columns) values_.push_back(value(column));
    raise_times(model);
  }

  [[nodiscard]] double objective(const LinearModel& model) const {
    double sum = 0.0;
    for (std::size_t c = 0; c < values_.size(); ++c) sum += model.columns[c].cost * values_[c];
    return sum;
  }

  /// Name of a row or column that is violated; empty if none is.
  [[nodiscard]] std::string violated(const LinearModel& model) const {
    for (std::size_t c = 0; c < values_.size(); ++c) {
      const LinearModel::Column& column = model.columns[c];
      if (values_[c] < column.lower || values_[c] > column.upper) return column.name;
    }
    for (const LinearModel::Row& row : model.rows) {
      const double excess = left(row) - row.right;
      const double slack = 1e-7 * (1.0 + std::abs(row.right));
      if ((row.sense != Sense::AtLeast && excess > slack) ||
          (row.sense != Sense::AtMost && excess < -slack)) {
        return row.name;
      }
    }
    return {};
  }

 private:
  [[nodiscard]] std::int64_t partition(KernelId k) const { return mapping_.partition[k.index()]; }

  [[nodiscard]] double value(const LinearModel::Column& column) const {
    const MilpName name = *parse_milp_name(column.name);
    const std::int64_t p = *parse_index(name.indices.back());
    const char symbol = name.symbol[0];
    if (symbol == 'F') return spilled_;
    if (symbol == 'Q' && name.indices.size() == 2) {
      return spilled_ && partition(*names_.kernel(name.indices[0])) == p;
    }
    if (symbol == 'B' || symbol == 'D' || symbol == 'L' || symbol == 'Q') {
      const std::string key = std::string(name.indices[0]) + "," + std::string(name.indices[1]);
      const Tensor& tensor = graph_.tensor(tensors_.at(key));
      const std::int64_t u = partition(tensor.from);
      const std::int64_t v = partition(tensor.to);
      if (symbol == 'B') return u == p && v == p;
      if (symbol == 'D') return (u == p) != (v == p);
      if (symbol == 'Q') return spilled_ && (u == p) != (v == p);
      return u != v && u <= p && p <= v;
    }
    if (symbol == 'A' || symbol == 'H' || symbol == 'Y') {
      const KernelId k = *names_.kernel(name.indices[0]);
      if (symbol == 'H') return partition(k) <= p;
      if (symbol == 'A') return partition(k) == p;
      const CoreGrid grid = cores_[k.index()];
      const std::string option = std::to_string(grid.lanes) + "x" + std::to_string(grid.stages);
      return partition(k) == p && name.indices[1] == option;
    }
    if (symbol == 'P') return any([&](KernelId k) { return backward(k) && partition(k) <= p; });
    if (symbol == 'R') {
      return any([&](KernelId k) { return graph_.kernel(k).repeat > 1 && partition(k) == p; });
    }
    if (symbol == 'U') return any([&](KernelId k) { return partition(k) == p; });
    return 0.0;  // C, M and T follow
  }

  template <class Holds>
  [[nodiscard]] bool any(Holds holds) const {
    for (std::size_t k = 0; k < graph_.kernel_count(); ++k) {
      if (holds(KernelId(k))) return true;
    }
    return false;
  }
  [[nodiscard]] bool backward(KernelId k) const {
    return graph_.kernel(k).phase == Phase::Backward;
  }

  [[nodiscard]] double left(const LinearModel::Row& row) const {
    double sum = 0.0;
    for (const LinearSum::Term& t : row.terms) {
      sum += t.coefficient * values_[static_cast<std::size_t>(t.column)];
    }
    return sum;
  }

  /// Times are the least that their rows allow, as is whether anything moves: C by `pace`, M by
  /// `moves`, then T.
  void raise_times(const LinearModel& model) {
    for (const char symbol : {'C', 'M', 'T'}) {
      for (const LinearModel::Row& row : model.rows) {
        for (const LinearSum::Term& t : row.terms) {
          const auto column = static_cast<std::size_t>(t.column);
          if (model.columns[column].name[0] != symbol || t.coefficient != -1.0) continue;
          values_[column] += std::max(0.0, left(row) - row.right);
        }
      }
    }
  }

  const DataflowGraph& graph_;
  MilpNames names_;
  const Mapping& mapping_;
  const std::vector<CoreGrid>& cores_;
  bool spilled_;
  std::map<std::string, TensorId> tensors_;
  std::vector<double> values_;
};

bool has_gap(const std::vector<std::int64_t>& partition) {
  return test::partitions_used(partition) !=
         *std::max_element(partition.begin(), partition.end()) + 1;
}

/// Not in the model: decided before it.
bool of_outside(Resource resource) {
  return resource == Resource::Tile || resource == Resource::Batch ||
         resource == Resource::Sharding;
}

struct Count {
  int fitting = 0;
  int refused = 0;
  int spilled = 0;  ///< fitting mappings that use the second memory
};

/// Rows hold for a mapping that fits, with its time; one is violated by any other.
void check_rows(const Problem& problem, std::uint64_t seed, Count& count) {
  CAPTURE(seed);
  Mapping mapping = test::random_mapping(problem, seed);
  mapping.cores.clear();
  const auto verdict = evaluate(problem, mapping);
  const Cost* cost = std::get_if<Cost>(&verdict);
  if (cost == nullptr) {
    const Resource resource = std::get<Infeasible>(verdict).resource;
    // Without options that fit there is no point to look at.
    if (of_outside(resource) || resource == Resource::Cores) return;
    ++count.refused;
    const std::vector<CoreGrid> cores(problem.workload.graph.kernel_count());
    const LinearModel model = fusion_model(problem, given_decisions(problem, &mapping));
    for (const bool spilled : {false, true}) {
      CHECK(Point(problem, mapping, cores, spilled, model).violated(model) != "");
    }
    return;
  }
  const LinearModel model = fusion_model(problem, given_decisions(problem, &mapping));
  const Point point(problem, mapping, cost->cores, cost->spilled, model);
  const std::string row = point.violated(model);
  if (has_gap(mapping.partition)) {
    CHECK((row.empty() || row.starts_with("compact")));
    return;
  }
  ++count.fitting;
  if (cost->spilled) ++count.spilled;
  CHECK(row == "");
  CHECK(point.objective(model) * model.unit ==
        doctest::Approx(cost->layer_time.in_base_units()).epsilon(1e-9));
}

}  // namespace

TEST_CASE("rows hold for mappings that fit, with their time, and for no others") {
  Count count;
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    check_rows(test::random_problem(seed), seed, count);
  }
  CHECK(count.fitting > 300);
  CHECK(count.refused > 300);
}

TEST_CASE("so they do in worlds of the whole machine, of copies and of two tiers of memory") {
  std::map<test::MachineWorld, Count> counts;
  int spilled = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    Count& count = counts[test::machine_world(seed)];
    check_rows(test::random_machine_problem(seed), seed, count);
  }
  for (const auto& [world, count] : counts) {
    CAPTURE(static_cast<int>(world));
    CHECK(count.fitting > 30);
    CHECK(count.refused > 10);
    spilled += count.spilled;
  }
  CHECK(spilled > 50);
}

TEST_CASE("so they do where memory has a latency") {
  Count count;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    Problem problem =
        seed % 3 == 0 ? test::random_machine_problem(seed) : test::random_problem(seed);
    problem.system.memory[0].latency = Seconds(static_cast<double>(1 + seed % 7) / 4.0);
    check_rows(problem, seed, count);
  }
  CHECK(count.fitting > 300);
  CHECK(count.spilled > 10);
}

TEST_CASE("the numbers of a small world, by hand") {
  // test::example: A 0.15 s, B 1.2 s, C 0.2 s; A -> B takes 1.2 s to memory, once; B
  // all-reduces for 0.8 s.  A is alone in 0: it computes 0.15 s and stores 1.2 s.  B
  // and C in 1: 1.4 s, load 1.2 s, network 0.8 s.  Together 1.2 s + 1.4 s.
  Problem problem = test::example();
  problem.execution.partitions = 2;
  const Mapping mapping = test::example_mapping({0, 1, 1});
  const LinearModel model = fusion_model(problem, given_decisions(problem, &mapping));
  const Point point(problem, mapping, {}, false, model);
  CHECK(point.violated(model) == "");
  CHECK(point.objective(model) * model.unit == doctest::Approx(2.6).epsilon(1e-9));
  // The factor 14 and the transfer of 12 s of the same world.
  CHECK(model.comments.back().find("x 14 s + 12 s") != std::string::npos);
  // Two copies share them.
  problem.workload.copies = 2;
  const LinearModel copied = fusion_model(problem, given_decisions(problem, &mapping));
  CHECK(copied.comments.back().find("x 7 s + 6 s") != std::string::npos);
}

TEST_CASE("pins and halves leave only columns that may be 1") {
  Problem problem = test::idle_problem(3);
  problem.execution.partitions = 4;
  problem.execution.pins = {2, std::nullopt, std::nullopt};
  const Mapping mapping = test::plain_mapping(problem);
  const LinearModel model = fusion_model(problem, given_decisions(problem, &mapping));
  int of_first = 0;
  for (const LinearModel::Column& column : model.columns) {
    const std::string& pinned = problem.workload.graph.kernels()[0].name;
    if (!column.name.starts_with("A[" + pinned + ",")) continue;
    ++of_first;
    CHECK(column.name == "A[" + pinned + ",2]");
    CHECK(column.lower == 1.0);
    CHECK(column.upper == 1.0);
  }
  CHECK(of_first == 1);
}

TEST_CASE("a model too large to write is refused with what helps") {
  Problem problem = test::idle_problem(3);
  problem.execution.partitions = 1'000'000;
  problem.execution.pins = {999'999, std::nullopt, std::nullopt};
  const Mapping mapping = test::plain_mapping(problem);
  try {
    fusion_model(problem, given_decisions(problem, &mapping));
    FAIL("written");
  } catch (const InputError& error) {
    CHECK(std::string(error.what()).find("set execution.partitions to fewer") != std::string::npos);
  }
}

TEST_CASE("decisions that the config leaves open are asked for by name") {
  Problem problem = test::example();
  problem.workload.tile.reset();
  problem.system.network[0].degree.reset();
  problem.system.network[0].strategy.reset();
  problem.system.network[1].degree.reset();
  try {
    given_decisions(problem, nullptr);
    FAIL("nothing was missing");
  } catch (const InputError& error) {
    const std::string message = error.what();
    CHECK(message.find("system.network.0.degree, system.network.0.strategy, "
                       "system.network.1.degree, workload.tile") != std::string::npos);
    CHECK(message.find("--mapping") != std::string::npos);
  }
  // A decision that the workload fixes is not open.
  problem.workload.network_use = NetworkUse::Tensor;
  problem.workload.tile = 2;
  try {
    given_decisions(problem, nullptr);
    FAIL("nothing was missing");
  } catch (const InputError& error) {
    const std::string message = error.what();
    CHECK(message.find("network.0.degree, system.network.1.degree:") != std::string::npos);
  }
  Mapping mapping = test::example_mapping();
  mapping.micro_batch = 5;
  CHECK_THROWS_AS(given_decisions(test::example(), &mapping), InputError);
}

}  // namespace dfsearch
