// Promises against the best of all completions, each summed up by its definition.

#include "engine/duals/reduced_cost_weights.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "support/expert_problem.hpp"
#include "support/open_point.hpp"
#include "support/plain_partitions.hpp"
#include "support/random_problem.hpp"

namespace dfsearch {
namespace {

using test::bit;
using test::Mask;
using test::pick;

constexpr std::int64_t kImpossible = std::numeric_limits<std::int64_t>::min();
constexpr std::array<std::size_t, 5> kRooms = {0, 1, 2, 7, 96};
constexpr double kAboutSram = 1.0 + 0x1p-40;  // what callers round up by

/// What a set of kernels adds to a partial one.
struct Completion {
  double need = 0.0;  ///< SRAM, the most on the way
  std::int64_t weights = 0;
};

/// The best ones, by what they need.
class Completions {
 public:
  /// Adds a completion of a partial set that uses `used` bytes.
  void add(double used, Completion completion) {
    least_used_ = std::min(least_used_, used);
    list_.push_back(completion);
  }
  void keep_best() {
    std::sort(list_.begin(), list_.end(),
              [](const Completion& a, const Completion& b) { return a.need < b.need; });
    std::vector<Completion> best;
    for (const Completion& completion : list_) {
      if (!best.empty() && completion.weights <= best.back().weights) continue;
      if (!best.empty() && completion.need == best.back().need) best.pop_back();
      best.push_back(completion);
    }
    list_ = std::move(best);
  }
  /// Completions that are worth more than all completions of less need.
  [[nodiscard]] const std::vector<Completion>& list() const { return list_; }
  /// SRAM that partial sets use at least.
  [[nodiscard]] double least_used() const { return least_used_; }
  [[nodiscard]] std::int64_t best() const { return list_.back().weights; }
  [[nodiscard]] std::int64_t best_within(double sram) const {
    const auto after = std::upper_bound(list_.begin(), list_.end(), sram,
                                        [](double s, const Completion& c) { return s < c.need; });
    return after == list_.begin() ? kImpossible : std::prev(after)->weights;
  }

 private:
  std::vector<Completion> list_;
  double least_used_ = std::numeric_limits<double>::infinity();
};

/// A path with all its sets of kernels.
struct World {
  const FusionTables& tables;
  PathDecomposition path;
  ReducedCostWeights weights;
  /// Buffers inside a partition, as a share of the streamed buffer, for some tensors; others are
  /// unchanged.
  std::map<std::pair<std::size_t, std::size_t>, double> given_back;

  [[nodiscard]] Bytes fused(std::size_t from, const Arc& arc) const {
    const auto found = given_back.find({from, arc.other});
    return found == given_back.end() ? arc.fused : found->second * arc.streamed;
  }
  /// Makes the path one of such buffers.
  void change_plan() {
    for (DecompositionStep& step : path.steps) {
      for (DecompositionStep::Link& link : step.links) {
        const std::size_t other = link.other;
        const auto ends =
            link.from_other ? std::pair(other, step.kernel) : std::pair(step.kernel, other);
        const auto found = given_back.find(ends);
        if (found != given_back.end()) link.fused = found->second * link.streamed;
      }
    }
  }
};

/// All completions of each step and frontier that some set has.
class AllSets {
 public:
  explicit AllSets(const World& world)
      : world_(world), steps_(world.path.steps.size()), step_of_(world.tables.size(), steps_) {
    for (std::size_t s = 0; s < steps_; ++s) step_of_[world.path.steps[s].kernel] = s;
    for (std::size_t p = 0; p < world.tables.size(); ++p) {
      for (const Arc& arc : world.tables.outputs(p)) {
        const std::size_t a = step_of_[p];
        const std::size_t b = step_of_[arc.other];
        if (a == steps_ && b == steps_) continue;
        tensors_.push_back({.first = std::min(a, b),
                            .last = std::max(a, b),
                            .transfer = arc.transfer,
                            .fused = world.fused(p, arc).in_base_units(),
                            .streamed = arc.streamed.in_base_units()});
      }
    }
    for (Mask set = 0; set < bit(steps_); ++set) add(set);
    for (auto& [where, completions] : found_) completions.keep_best();
  }

  using Where = std::pair<std::size_t, std::uint32_t>;  // step and frontier
  [[nodiscard]] const std::map<Where, Completions>& found() const { return found_; }
  /// Whether a set may need less SRAM than a part of it.
  [[nodiscard]] bool gives_back() const { return gives_back_; }
  [[nodiscard]] bool are_whole_bytes() const { return are_whole_bytes_; }
  [[nodiscard]] double most_sram() const { return most_sram_; }

 private:
  struct Ends {
    std::size_t first = 0;  // steps; of what is not in the path the number of all
    std::size_t last = 0;
    Ticks transfer = 0;
    double fused = 0.0;
    double streamed = 0.0;
  };

  /// Sum over the first decisions: a crossing tensor counts once both ends are decided, a buffer at
  /// once.
  [[nodiscard]] Completion sum(Mask set, std::size_t decided) const {
    Completion sum;
    const Mask inside = set & (bit(decided) - 1);
    for (std::size_t s = 0; s < decided; ++s) {
      if ((inside & bit(s)) == 0) continue;
      sum.need += world_.tables.kernel(world_.path.steps[s].kernel).weight.in_base_units();
      sum.weights += world_.weights.kernels[s];
    }
    for (const Ends& tensor : tensors_) {
      const bool first = (inside & bit(tensor.first)) != 0;
      const bool last = tensor.last < steps_ && (inside & bit(tensor.last)) != 0;
      if (first && last) sum.need += tensor.fused;
      if (first == last) continue;
      sum.need += tensor.streamed;
      if (tensor.last < decided) sum.weights -= world_.weights.memory * tensor.transfer;
    }
    return sum;
  }

  [[nodiscard]] std::uint32_t frontier(Mask set, std::size_t decided) const {
    std::uint32_t bits = 0;
    for (const Ends& tensor : tensors_) {
      if (tensor.last == steps_ || tensor.first >= decided || tensor.last < decided) continue;
      if ((set & bit(tensor.first)) != 0) bits |= world_.path.steps[tensor.first].bit;
    }
    return bits;
  }

  void add(Mask set) {
    const Completion all = sum(set, steps_);
    double peak = all.need;
    most_sram_ = std::max(most_sram_, all.need);
    for (std::size_t s = steps_ + 1; s-- > 0;) {
      const Completion before = sum(set, s);
      gives_back_ = gives_back_ || before.need > all.need;
      are_whole_bytes_ = are_whole_bytes_ && before.need == std::floor(before.need);
      peak = std::max(peak, before.need);
      most_sram_ = std::max(most_sram_, peak);
      found_[{s, frontier(set, s)}].add(
          before.need, {.need = peak - before.need, .weights = all.weights - before.weights});
    }
  }

  const World& world_;
  const std::size_t steps_;
  std::vector<std::size_t> step_of_;
  std::vector<Ends> tensors_;
  std::map<Where, Completions> found_;
  double most_sram_ = 0.0;
  bool gives_back_ = false;
  bool are_whole_bytes_ = true;
};

/// All of them in two of three cases, if they are few; many make many sets.
KernelSet some_kernels(const FusionTables& tables, std::mt19937_64& random) {
  KernelSet kernels(tables.size());
  const bool all = pick(random, 0, 2) > 0;
  std::int64_t left = pick(random, 0, 15) == 0 ? 12 : 8;
  for (std::size_t p = 0; p < tables.size() && left > 0; ++p) {
    if (!all && pick(random, 0, 3) == 0) continue;
    kernels.insert(p);
    --left;
  }
  return kernels;
}

ReducedCostWeights some_weights(const FusionTables& tables, const PathDecomposition& path,
                                std::mt19937_64& random) {
  ReducedCostWeights weights;
  weights.memory = pick(random, -1, 4);
  for (const DecompositionStep& step : path.steps) {
    Ticks near = step.memory + tables.kernel(step.kernel).compute;
    for (const DecompositionStep::Link& link : step.links) near += link.transfer;
    weights.kernels.push_back(pick(random, -300, 1000) * near / 250);
  }
  return weights;
}

/// Whether some buffers inside are smaller than one that is streamed.  Those of graphs never are.
enum class GiveBack : std::uint8_t { None, Some };

/// Random worlds and paths.
template <class Check>
void for_each_world(std::uint64_t count, GiveBack give_back, const Check& check) {
  for (std::uint64_t seed = 0; seed < count; ++seed) {
    CAPTURE(seed);
    const Problem problem = seed % 3 == 0
                                ? test::expert_problem(seed)
                                : test::random_problem(seed, {.kernels = 9, .assignments = 1e9});
    if (problem.execution.style == Style::KernelByKernel) continue;
    const auto context = test::open_point(problem, seed);
    const FusionTables& tables = context->tables;
    std::mt19937_64 random(seed);
    auto path = path_decomposition(tables, some_kernels(tables, random), 31);
    REQUIRE(path);
    World world{.tables = tables, .path = std::move(*path), .weights = {}, .given_back = {}};
    world.weights = some_weights(tables, world.path, random);
    const bool gives_back = give_back == GiveBack::Some && seed % 4 == 1;
    for (std::size_t p = 0; gives_back && p < tables.size(); ++p) {
      for (const Arc& arc : tables.outputs(p)) {
        if (pick(random, 0, 1) == 0) {
          world.given_back[{p, arc.other}] = static_cast<double>(pick(random, 0, 4)) / 8;
        }
      }
    }
    world.change_plan();
    const AllSets sets(world);
    REQUIRE((gives_back || !sets.gives_back()));
    check(world, sets, random);
  }
}

struct BoundCounts {
  int bounds = 0;
  int binding = 0;       // with all SRAM more could be added
  int binding_just = 0;  // and just that much is bounded, by 96 rooms
  int above = 0;         // rounding bounds too much
  int gives_back = 0;
};

void check_bounds(const World& world, const AllSets& sets, double sram, std::size_t rooms,
                  CompletionBound& bound, BoundCounts& counts) {
  CAPTURE(sram);
  CAPTURE(rooms);
  const double about = sram * kAboutSram;
  bound.find(world.path, world.weights, about, rooms);
  CompletionBound fresh;
  fresh.find(world.path, world.weights, about, rooms);
  const double room = about / static_cast<double>(std::max<std::size_t>(rooms, 1));
  for (const auto& [where, completions] : sets.found()) {
    const auto [step, frontier] = where;
    CAPTURE(step);
    CAPTURE(frontier);
    for (const Completion& tight : completions.list()) {
      const double used = sram - tight.need;
      if (used < 0.0 || (sets.gives_back() && used < completions.least_used())) break;
      const std::int64_t best = completions.best_within(tight.need);
      const double left = about - used;
      const std::int64_t most = bound.most(step, frontier, left);
      REQUIRE(most == fresh.most(step, frontier, left));
      REQUIRE(most >= best);
      REQUIRE(most <= completions.best());
      // Rounding may have given each of the kernels a part of a room.
      const double rounded = left + room * static_cast<double>(world.path.steps.size() - step + 1);
      if (rooms > 0 && !sets.gives_back()) {
        REQUIRE(most <= completions.best_within(rounded));
      }
      ++counts.bounds;
      const bool binds = best < completions.best();
      counts.binding += binds;
      counts.binding_just += binds && rooms == 96 && most <= best;
      counts.above += most > best;
    }
  }
}

}  // namespace

TEST_CASE("no less is bounded than the best completion adds that fits the SRAM that is left") {
  BoundCounts counts;
  CompletionBound bound;  // for one path after the other
  for_each_world(3000, GiveBack::Some, [&](const World& world, const AllSets& sets, auto& random) {
    const double sram = sets.most_sram() * static_cast<double>(pick(random, 0, 110)) / 100;
    for (const std::size_t rooms : kRooms) {
      check_bounds(world, sets, sram, rooms, bound, counts);
    }
    counts.gives_back += sets.gives_back();
  });
  CHECK(counts.bounds > 300'000);
  CHECK(counts.binding > 200'000);
  CHECK(counts.binding_just > 20'000);
  CHECK(counts.above > 50'000);
  CHECK(counts.gives_back > 200);
}

TEST_CASE("where SRAM does not bind the best completion is bounded") {
  int bounds = 0;
  for_each_world(800, GiveBack::Some, [&](const World& world, const AllSets& sets, auto& random) {
    const double enough = sets.most_sram() * static_cast<double>(pick(random, 1, 3)) * kAboutSram;
    CompletionBound bound;
    for (const std::size_t rooms : kRooms) {
      CAPTURE(rooms);
      bound.find(world.path, world.weights, enough, rooms);
      for (const auto& [where, completions] : sets.found()) {
        REQUIRE(bound.most(where.first, where.second, enough) == completions.best());
        ++bounds;
      }
    }
  });
  CHECK(bounds > 30'000);
}

TEST_CASE("where rooms are bytes the best completion is bounded that fits") {
  int bounds = 0;
  int binding = 0;
  for_each_world(1000, GiveBack::None, [&](const World& world, const AllSets& sets, auto& random) {
    if (!sets.are_whole_bytes()) return;
    const auto bytes = static_cast<std::int64_t>(std::clamp(sets.most_sram(), 1.0, 2000.0));
    const std::int64_t sram = pick(random, 1, bytes);
    CompletionBound bound;
    bound.find(world.path, world.weights, static_cast<double>(sram),
               static_cast<std::size_t>(sram));
    for (const auto& [where, completions] : sets.found()) {
      for (int i = 0; i < 4; ++i) {
        const auto left = static_cast<double>(pick(random, 0, sram));
        const std::int64_t best = completions.best_within(left);
        const std::int64_t most = bound.most(where.first, where.second, left);
        CAPTURE(where.first);
        CAPTURE(where.second);
        CAPTURE(left);
        REQUIRE(
            (most == best || (best == kImpossible && most <= -ReducedCostWeights::kGreatest / 2)));
        ++bounds;
        binding += best < completions.best();
      }
    }
  });
  CHECK(bounds > 30'000);
  CHECK(binding > 15'000);
}

}  // namespace dfsearch
