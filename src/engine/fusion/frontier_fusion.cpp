// Partition after partition.  The linear program is solved for the kernels that are left, and some
// sets that may come next and that its duals pay for are tried: of them stays the one with which its
// own time and the program's value for the rest are the least.  A set that is paid for may be a
// mistake all the same: equal experts leave many ways to begin and few to end.
//
// Against the plain model: tests/engine/fusion/frontier_fusion_test.cpp.

#include "engine/fusion/frontier_fusion.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "engine/duals/frontier_duals.hpp"
#include "engine/duals/frontier_program.hpp"
#include "engine/fusion/open_partition.hpp"
#include "engine/tables/partition_rules.hpp"

namespace dfsearch {
namespace {

constexpr std::size_t kBeam = 64;
constexpr std::size_t kTried = 64;
constexpr std::array<int, 3> kHigher = {8, 5, 2};
constexpr std::size_t kCandidates = 12;
// What one more partition counts among candidates: some of all duals, by this power of two.
constexpr int kOneMore = 12;

class Chain {
 public:
  Chain(const FusionTables& tables, std::vector<FrontierPricing>& pricings, FineTicks each,
        std::int64_t& steps)
      : tables_(tables),
        rules_(tables),
        pricings_(pricings),
        program_(tables, pricings),
        each_(each),
        steps_(steps),
        done_(tables.size()) {
    fusion_.time = tables.weight_loads();
  }

  std::optional<Fusion> find() {
    const FusionTree tree(tables_);
    while (tables_.least_partitions(rest()) > 0) {
      tables_.deadline().check();
      if (steps_ < 0 || !append()) return std::nullopt;
    }
    fusion_.partition = tree.assignment(last_.get());
    return std::move(fusion_);
  }

 private:
  struct Next {
    KernelSet kernels;
    Ticks time = 0;
    FineTicks excess = 0;
    FineTicks dual = 0;
    std::int32_t index = 0;
  };

  [[nodiscard]] Rest rest() const {
    Rest rest;
    for (std::size_t p = 0; p < tables_.size(); ++p) {
      if (!done_.contains(p)) rest += tables_.kernel(p).share;
    }
    return rest;
  }

  /// What it takes as the next partition; nothing if it may not be that.
  [[nodiscard]] std::optional<Next> next(const KernelSet& kernels) const {
    const Unplaced unplaced = rules_.unplaced(done_);
    if (!rules_.open(next_index_, unplaced)) return std::nullopt;
    const auto index = rules_.index_for(kernels, next_index_, unplaced);
    if (!index) return std::nullopt;
    OpenPartition open(tables_, done_);
    Next next{.kernels = kernels, .index = *index};
    std::int64_t size = 0;
    bool fits = true;
    bool escapes = true;
    kernels.for_each([&](std::size_t p) {
      fits = fits && open.fits(p);
      open.put_in(p);
      next.dual += program_.duals().kernels[p];
      escapes = tables_.kernel(p).escapes;
      ++size;
    });
    if (!fits && !(size == 1 && escapes)) return std::nullopt;
    if (!open.fits_in_memory()) return std::nullopt;
    next.time = open.time(kNever - 1);
    if (next.time >= kNever) return std::nullopt;
    next.excess = next.dual - next.time * kFinePerTick;
    return next;
  }

  bool append() {
    if (!program_.solve(done_, steps_)) return false;
    std::vector<Next> candidates = find_candidates();
    std::optional<Next> best;
    FineTicks least = 0;
    for (Next& candidate : candidates) {
      KernelSet done = done_;
      done |= candidate.kernels;
      const auto later = program_.value(done, steps_);
      if (!later) return false;
      const FineTicks whole = candidate.time * kFinePerTick + *later;
      if (best && whole >= least) continue;
      least = whole;
      best = std::move(candidate);
    }
    if (!best) return false;
    fusion_.time += best->time;
    ++fusion_.used;
    next_index_ = best->index + 1;
    done_ |= best->kernels;
    last_ = std::make_shared<const ClosedPartition>(ClosedPartition{
        .previous = std::move(last_), .kernels = KernelList(best->kernels), .index = best->index});
    return true;
  }

  /// Some of different times, of which the most is won for what is covered.
  [[nodiscard]] std::vector<Next> find_candidates() {
    std::vector<Next> candidates;
    const auto offer = [&](const KernelSet& kernels) {
      auto candidate = next(kernels);
      if (!candidate) return;
      const auto same = [&](const Next& other) {
        return other.time == candidate->time && other.dual == candidate->dual;
      };
      if (std::any_of(candidates.begin(), candidates.end(), same)) return;
      candidates.push_back(std::move(*candidate));
    };
    // What is overpaid when duals are so much higher: large sets come first.
    for (const int more : kHigher) {
      Duals higher = program_.duals();
      for (FineTicks& dual : higher.kernels) dual += dual >> more;
      for (FrontierPricing& pricing : pricings_) {
        const auto found = pricing.find(
            higher, {.most = kTried, .beam = kBeam, .choice = {.done = &done_, .next = true}},
            steps_);
        for (const PartitionColumn& column : found.partitions) offer(column.kernels);
      }
    }
    for (std::size_t p = 0; p < tables_.size() && candidates.empty(); ++p) {
      if (!is_ready(p)) continue;
      KernelSet alone(tables_.size());
      alone.insert(p);
      offer(alone);
    }
    std::stable_sort(candidates.begin(), candidates.end(),
                     [this](const Next& a, const Next& b) { return value(a) > value(b); });
    if (candidates.size() > kCandidates) candidates.resize(kCandidates);
    return candidates;
  }

  /// What is won for what is covered; a partition more costs a little.
  [[nodiscard]] double value(const Next& next) const {
    return static_cast<double>(next.excess - each_) / static_cast<double>(next.dual + 1);
  }

  [[nodiscard]] bool is_ready(std::size_t p) const {
    if (done_.contains(p)) return false;
    const auto inputs = tables_.inputs(p);
    return std::all_of(inputs.begin(), inputs.end(),
                       [&](const Arc& arc) { return done_.contains(arc.other); });
  }

  const FusionTables& tables_;
  const PartitionRules rules_;
  std::vector<FrontierPricing>& pricings_;
  FrontierProgram program_;
  const FineTicks each_;
  std::int64_t& steps_;
  KernelSet done_;
  std::shared_ptr<const ClosedPartition> last_;
  std::int32_t next_index_ = 0;
  Fusion fusion_;
};

}  // namespace

std::optional<Fusion> frontier_fusion(const FusionTables& tables, const PartitionDuals& duals,
                                      std::int64_t& steps) {
  auto pricings = frontier_pricings(tables, FrontierUse::Fusion);
  if (!pricings) return std::nullopt;
  const FineTicks all = duals.of_rest(KernelSet(tables.size()));
  return Chain(tables, *pricings, all >> kOneMore, steps).find();
}

}  // namespace dfsearch
