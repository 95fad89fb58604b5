// Label pricing: labels of partial sets (resource-constrained shortest paths; Desrosiers et al.
// 1995).
//
// Kernels are decided in the order of the path.  Later additions to a partial set depend on its
// kernels in the frontier, on its SRAM and on its excess by each part of the time.  If one of two
// partial sets with the same frontier is no worse than the other in SRAM and every excess, the
// other is dropped (dominance).  Experts that are alike make few different labels, whatever their
// number: labels differ only by the number of experts for each choice of kernels inside, and no
// code has to detect that they are alike.
//
// A label is dropped as well if no completion has enough excess.  For some convex mixtures of the
// parts of the time, a bound on all completions is known for every frontier and for the SRAM that
// is left (reduced_cost_weights.hpp).  A convex mixture never exceeds the greatest part, so the
// excess under the mixture is never too low.
//
// Tested against all sets: tests/engine/duals/label_pricing_test.cpp.

// Dominance is tested against the maxima of a set of vectors (Kung, Luccio and Preparata 1975):
// maximal points with two coordinates descend in one as they ascend in the other.
//
// Tested against comparing each excess in turn: tests/engine/duals/label_dominance_test.cpp.

#include "engine/duals/label_pricing.hpp"

#include <algorithm>
#include <bit>
#include <iterator>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>

namespace dfsearch {
namespace {

constexpr std::size_t kMostSets = 12;  // returned by one call
constexpr std::size_t kPricedParts = std::tuple_size_v<PartExcess>;
constexpr int kNoiseShift = 31;
// Shares in a mixture of two parts are multiples of a step, here in quarters.  Beams have a longer
// step: they need no sharp bounds, since they drop labels in any case.
constexpr std::int64_t kPricedShareStep = 1;
constexpr std::int64_t kShareStepOfBeam = 2;

constexpr int kParts = static_cast<int>(std::tuple_size_v<PartExcess>);

/// The set of parts that matter, as bits.
unsigned kind_of(const PartExcess& excess) {
  unsigned kind = 0;
  for (int r = 0; r < kParts; ++r) {
    if (excess[static_cast<std::size_t>(r)] != kNoMatter) kind |= 1U << r;
  }
  return kind;
}

std::size_t first_of(unsigned kind) { return static_cast<std::size_t>(std::countr_zero(kind)); }
/// The last part of a kind; if the kind has one part, the same as first_of().
std::size_t second_of(unsigned kind) { return static_cast<std::size_t>(std::bit_width(kind)) - 1; }

bool has_front(unsigned kind) { return kind != 0 && std::popcount(kind) <= 2; }

}  // namespace

class LabelSearch {
 public:
  LabelSearch(const FusionTables& tables, const PathDecomposition& path, std::size_t group,
              const std::vector<std::size_t>& timed, const Duals& duals, std::size_t beam,
              FineTicks noise, std::vector<CompletionBound>& bounds)
      : tables_(tables),
        path_(path),
        group_(group),
        timed_(timed),
        duals_(duals),
        beam_(beam),
        above_(std::clamp(duals.charge[group] + noise, -kGreatestExcess, kGreatestExcess)),
        sram_(about_sram(tables)),
        bounds_(bounds),
        deadline_(tables.deadline(), kComparisonsBetweenChecks),
        gains_(tables, path, duals) {}

  /// Continues until all steps are done or `work`, which it counts down, is used up.
  LabelPricing::Columns go_on(Work& work) {
    using Status = LabelPricing::Status;
    if (!gains_.adds_up) return {.partitions = {}, .end = Status::TooMany};
    if (mixtures_.empty()) {
      if (!find_bounds(work)) return {.partitions = {}, .end = Status::Complete};
      Label nothing;
      nothing.excess.fill(kNoMatter);
      for (const std::size_t r : timed_) nothing.excess[r] = 0;
      labels_.assign(1, nothing);
      whole_.assign(path_.steps.size(), nothing);
    }
    for (; step_ < path_.steps.size(); ++step_) {
      tables_.deadline().check();
      if (!is_step_decided_ && work > 0) decide_all(work);
      if (!is_step_decided_ || !keep_best(work))
        return {.partitions = {}, .end = Status::OutOfWork};
      if (decisions_.size() > kMostDecisions) return {.partitions = {}, .end = Status::TooMany};
      is_step_decided_ = false;
    }
    return {.partitions = columns(), .end = Status::Complete};
  }

 private:
  struct Label {
    std::uint32_t frontier = 0;  // bits of the frontier's kernels inside
    std::uint32_t last = 0;      // 1 + place of the last decision for inside; 0: none
    double sram = 0.0;
    PartExcess excess{};
    std::int64_t size = 0;
    std::int64_t most = 0;  // upper bound on the excess of all completions, in quarters
  };

  struct Decision {
    std::uint32_t previous = 0;
    std::uint32_t kernel = 0;
  };

  // The decisions and labels then take some hundred megabytes.
  static constexpr std::size_t kMostDecisions = 8'000'000;
  static constexpr std::int64_t kComparisonsBetweenChecks = 1'000'000;
  // Words touched to decide a label, to bound it by one mixture, to sort it and to compare it once.
  static constexpr Work kWordsOfLabel = 72;
  static constexpr Work kWordsOfMixture = 12;
  static constexpr Work kWordsOfPlace = 36;
  static constexpr Work kWordsOfComparison = 3;

  /// The completion bound of the sum of the excesses weighted by these shares.
  const CompletionBound& bound(const PartShares& shares, std::size_t rooms) {
    const std::size_t place = mixtures_.size() + rises_.size();
    bounds_[place].find(path_, gains_.weights(shares, timed_), sram_, rooms);
    return bounds_[place];
  }

  /// Returns false if the bound of some mixture proves that no set has enough excess.
  bool find_bounds(Work& work) {
    const std::vector<PartShares> mixtures =
        part_mixtures(timed_, beam_ == 0 ? kPricedShareStep : kShareStepOfBeam);
    const std::size_t bounds = mixtures.size() + timed_.size() * (timed_.size() - 1);
    const std::size_t states = CompletionBound::states(path_);
    const std::size_t rooms = CompletionBound::rooms(states, bounds);
    work -= static_cast<Work>(bounds * states * (rooms + 1));
    bounds_.resize(std::max(bounds_.size(), bounds));
    for (const PartShares& shares : mixtures) {
      tables_.deadline().check();
      const CompletionBound& found = bound(shares, rooms);
      if (found.most(0, 0, sram_) <= kQuarters * above_) return false;
      mixtures_.emplace_back(shares, found);
    }
    for (const std::size_t r : timed_) {
      for (const std::size_t other : timed_) {
        if (other == r) continue;
        PartShares shares{};
        shares[other] = kQuarters;
        shares[r] = -kQuarters;
        rises_.push_back({.part = r, .other = other, .bound = &bound(shares, rooms)});
      }
    }
    return true;
  }

  /// Drops each part whose excess stays above another part's excess in every completion, since only
  /// the least excess counts.
  void forget_parts(std::size_t place, Label& label) const {
    for (const Rise& rise : rises_) {
      FineTicks& excess = label.excess[rise.part];
      if (excess == kNoMatter || label.excess[rise.other] == kNoMatter) continue;
      const FineTicks ahead = excess - label.excess[rise.other];
      if (kQuarters * ahead >= rise.bound->most(place)) excess = kNoMatter;
    }
  }
  static void add(FineTicks more, FineTicks& excess) {
    if (excess != kNoMatter) excess += more;
  }

  /// Decides the kernel of the step for every label, both ways.
  void decide_all(Work& work) {
    next_.clear();
    next_.reserve(2 * labels_.size());
    for (const Label& label : labels_) decide(step_, label, next_);
    const auto mixtures = static_cast<Work>(mixtures_.size());
    work -= static_cast<Work>(labels_.size() + 1) * (kWordsOfLabel + kWordsOfMixture * mixtures);
    held_ = tables_.allowance().charge(next_.capacity() * sizeof(Label) +
                                       decisions_.capacity() * sizeof(Decision));
    order_.clear();
    for (const Label& label : next_) {
      order_.push_back({.frontier = label.frontier,
                        .label = static_cast<std::uint32_t>(order_.size()),
                        .sram = label.sram});
    }
    std::sort(order_.begin(), order_.end(), [&](const Place& a, const Place& b) {
      if (a.frontier != b.frontier) return a.frontier < b.frontier;
      if (a.sram != b.sram) return a.sram < b.sram;
      const Label& left = next_[a.label];
      const Label& right = next_[b.label];
      return std::tie(right.excess, right.size) < std::tie(left.excess, left.size);
    });
    work -= static_cast<Work>(order_.size()) * kWordsOfPlace;
    labels_.clear();
    begin_ = 0;
    place_ = 0;
    met_.clear();
    is_step_decided_ = true;
  }

  void decide(std::size_t s, const Label& label, std::vector<Label>& next) {
    const DecompositionStep& step = path_.steps[s];
    Label without = label;
    without.frontier = step.after(label.frontier, false);
    const Ticks crosses_without = step.crossing(label.frontier, false);
    for (std::size_t r = 0; r < kPricedParts; ++r) {
      add(-gains_.memory[r] * crosses_without, without.excess[r]);
    }
    if (offer(s + 1, without, next) && label.frontier != 0) keep_whole(s, next.back());
    Label with = label;
    with.sram += step.sram_inside(label.frontier);
    if (with.sram > sram_) return;
    with.frontier = step.after(label.frontier, true);
    const Ticks crosses = step.crossing(label.frontier, true);
    for (std::size_t r = 0; r < kPricedParts; ++r) {
      add(gains_.of_steps[s][r] - gains_.memory[r] * crosses, with.excess[r]);
    }
    ++with.size;
    if (!offer(s + 1, with, next)) return;
    decisions_.push_back(
        {.previous = label.last, .kernel = static_cast<std::uint32_t>(step.kernel)});
    next.back().last = static_cast<std::uint32_t>(decisions_.size());
    keep_whole(s, next.back());
  }

  /// Keeps the set of the label if it has no kernel in the frontier and is the best such set of
  /// this step.  Without a kernel in the frontier the set has no undecided neighbour, so its cost
  /// is known.
  void keep_whole(std::size_t s, const Label& label) {
    if (label.frontier == 0 && is_better(label, whole_[s])) whole_[s] = label;
  }
  static FineTicks least(const Label& label) {
    return *std::min_element(label.excess.begin(), label.excess.end());
  }
  static bool is_better(const Label& a, const Label& b) {
    return std::make_pair(least(a), a.size) > std::make_pair(least(b), b.size);
  }

  bool offer(std::size_t s, Label& label, std::vector<Label>& next) const {
    label.most = std::numeric_limits<std::int64_t>::max();
    const std::size_t place = bounds_.front().place(s, label.frontier, sram_ - label.sram);
    for (const BoundedMixture& mixture : mixtures_) {
      if (!mixture.matters(label.excess)) continue;
      label.most = std::min(label.most, mixture.most(label.excess, place));
      if (label.most <= kQuarters * above_) return false;
    }
    forget_parts(place, label);
    next.push_back(label);
    return true;
  }

  /// Keeps the labels that no other label dominates, cut to the beam.  Returns false if the work
  /// did not suffice; the next call continues.
  bool keep_best(Work& work) {
    for (; place_ < order_.size(); ++place_) {
      if (work <= 0) return false;
      const Label& label = next_[order_[place_].label];
      if (!labels_.empty() && labels_.back().frontier != label.frontier) {
        cut_to_beam(labels_, begin_);
        begin_ = labels_.size();
        met_.clear();
      }
      std::int64_t comparisons = 0;
      const bool is_dominated = met_.has_as_great(label.excess, comparisons);
      deadline_.check(comparisons);
      work -= kWordsOfComparison * comparisons;
      if (is_dominated) continue;
      met_.add(label.excess);
      labels_.push_back(label);
    }
    cut_to_beam(labels_, begin_);
    return true;
  }
  /// If there are more labels than the beam is wide, keeps only the label with the highest bound
  /// among labels of about equal SRAM.
  void cut_to_beam(std::vector<Label>& kept, std::size_t begin) const {
    if (beam_ == 0 || kept.size() - begin <= beam_) return;
    const auto room = [&](const Label& label) {
      return static_cast<std::size_t>(label.sram / sram_ * static_cast<double>(beam_));
    };
    std::size_t last = begin;
    for (std::size_t i = begin + 1; i < kept.size(); ++i) {
      if (room(kept[i]) != room(kept[last])) {
        kept[++last] = kept[i];
      } else if (kept[i].most > kept[last].most) {
        kept[last] = kept[i];
      }
    }
    kept.resize(last + 1);
  }

  /// The best sets: first sets that share no kernels, then any others.  Columns that all lie in one
  /// part of the graph would leave the other parts to later rounds.  Among sets of equal cost one
  /// is enough.
  [[nodiscard]] std::vector<PartitionColumn> columns() const {
    std::vector<Label> sets = labels_;
    sets.insert(sets.end(), whole_.begin(), whole_.end());
    const auto is_none = [&](const Label& label) {
      return label.size == 0 || least(label) <= above_;
    };
    sets.erase(std::remove_if(sets.begin(), sets.end(), is_none), sets.end());
    std::stable_sort(sets.begin(), sets.end(), is_better);
    const auto cost_the_same = [](const Label& a, const Label& b) {
      return a.size == b.size && a.sram == b.sram && least(a) == least(b);
    };
    sets.erase(std::unique(sets.begin(), sets.end(), cost_the_same), sets.end());
    std::vector<PartitionColumn> columns;
    std::vector<PartitionColumn> others;
    KernelSet covered(tables_.size());
    for (const Label& label : sets) {
      if (columns.size() == kMostSets) break;
      PartitionColumn column = this->column(label);
      if (covered.intersects(column.kernels)) {
        if (others.size() < kMostSets) others.push_back(std::move(column));
        continue;
      }
      covered |= column.kernels;
      columns.push_back(std::move(column));
    }
    for (PartitionColumn& column : others) {
      if (columns.size() == kMostSets) break;
      columns.push_back(std::move(column));
    }
    return columns;
  }

  [[nodiscard]] PartitionColumn column(const Label& label) const {
    PartitionColumn column{.kernels = KernelSet(tables_.size()),
                           .group = group_,
                           .excess = least(label) - duals_.charge[group_]};
    FineTicks dual = 0;
    for (std::uint32_t last = label.last; last != 0; last = decisions_[last - 1].previous) {
      column.kernels.insert(decisions_[last - 1].kernel);
      dual += duals_.kernels[decisions_[last - 1].kernel];
    }
    column.time = (dual - least(label)) / kFinePerTick;
    return column;
  }

  const FusionTables& tables_;
  const PathDecomposition& path_;
  const std::size_t group_;
  const std::vector<std::size_t>& timed_;
  const Duals duals_;
  const std::size_t beam_;
  const FineTicks above_;  // sets of interest have a greater excess, charge included
  const double sram_;
  std::vector<CompletionBound>& bounds_;
  PacedDeadline deadline_;
  const ReducedCosts gains_;
  std::vector<BoundedMixture> mixtures_;
  /// Upper bound on the rise of the excess of `other` minus the excess of `part`.
  struct Rise {
    std::size_t part = 0;
    std::size_t other = 0;
    const CompletionBound* bound = nullptr;
  };
  std::vector<Rise> rises_;
  /// A label's place in the order of comparison.
  struct Place {
    std::uint32_t frontier = 0;
    std::uint32_t label = 0;
    double sram = 0.0;
  };
  // The current step.  `labels_` has the labels before it, later the labels kept after it.
  std::size_t step_ = 0;
  bool is_step_decided_ = false;
  std::vector<Label> labels_;
  std::vector<Label> next_;   // all labels after the step
  std::vector<Place> order_;  // of next_
  std::size_t place_ = 0;     // in `order_`: the next label to compare
  std::size_t begin_ = 0;     // in `labels_`: the first kept with the current frontier
  LabelDominance met_;        // excesses kept with the current frontier
  std::vector<Decision> decisions_;
  std::vector<Label> whole_;  // the best set whose cost is known after each step
  MemoryCharge held_;         // memory of the decisions and labels
};

LabelPricing::LabelPricing(const FusionTables& tables, PathDecomposition path, std::size_t group,
                           std::shared_ptr<CompletionBounds> room)
    : tables_(tables),
      path_(std::move(path)),
      group_(group),
      timed_(timed_parts(tables, path_)),
      room_(std::move(room)) {}

LabelPricing::LabelPricing(LabelPricing&&) noexcept = default;
LabelPricing::~LabelPricing() = default;

FineTicks LabelPricing::noise(const Duals& duals) const {
  FineTicks sum = duals.charge[group_] >> kNoiseShift;
  for (const DecompositionStep& step : path_.steps) {
    const KernelCosts& kernel = tables_.kernel(step.kernel);
    const Ticks all = kernel.compute + kernel.network + most_memory(step);
    sum += (all * kFinePerTick + duals.kernels[step.kernel]) >> kNoiseShift;
  }
  return sum + 1;
}

LabelPricing::Columns LabelPricing::find(const Duals& duals, std::size_t beam, Work& work) {
  std::vector<CompletionBound>& bounds = room_->bounds;
  if (!search_) {
    search_ = std::make_unique<LabelSearch>(tables_, path_, group_, timed_, duals, beam,
                                            noise(duals), bounds);
  }
  Columns found = search_->go_on(work);
  if (found.end != Status::OutOfWork) search_.reset();
  const auto bytes = [](std::size_t sum, const auto& bound) { return sum + bound.heap_bytes(); };
  room_->memory = tables_.allowance().charge(
      std::accumulate(bounds.begin(), bounds.end(), std::size_t{0}, bytes));
  return found;
}

void LabelDominance::clear() {
  all_.clear();
  for (Front& front : fronts_) front.clear();
}

void LabelDominance::add(const PartExcess& excess) {
  all_.push_back(excess);
  const unsigned own = kind_of(excess);
  for (unsigned kind = 1; kind < kKinds; ++kind) {
    if ((own & ~kind) != 0 || !has_front(kind)) continue;
    Front& front = fronts_[kind];
    const Point point{.first = excess[first_of(kind)], .second = excess[second_of(kind)]};
    const auto begin = std::partition_point(front.begin(), front.end(),
                                            [&](const Point& p) { return p.first > point.first; });
    if (begin != front.begin() && std::prev(begin)->second >= point.second) continue;
    if (begin != front.end() && begin->first == point.first && begin->second >= point.second) {
      continue;
    }
    const auto end = std::partition_point(begin, front.end(),
                                          [&](const Point& p) { return p.second <= point.second; });
    if (begin == end) {
      front.insert(begin, point);
    } else {
      *begin = point;
      front.erase(std::next(begin), end);
    }
  }
}

bool LabelDominance::has_as_great(const PartExcess& excess, std::int64_t& comparisons) const {
  const unsigned kind = kind_of(excess);
  if (has_front(kind)) {
    const Front& front = fronts_[kind];
    comparisons += static_cast<std::int64_t>(std::bit_width(front.size()));
    const auto end = std::partition_point(front.begin(), front.end(), [&](const Point& p) {
      return p.first >= excess[first_of(kind)];
    });
    return end != front.begin() && std::prev(end)->second >= excess[second_of(kind)];
  }
  comparisons += static_cast<std::int64_t>(all_.size());
  return std::any_of(all_.begin(), all_.end(), [&](const PartExcess& other) {
    return std::equal(other.begin(), other.end(), excess.begin(), std::greater_equal<>{});
  });
}

}  // namespace dfsearch
