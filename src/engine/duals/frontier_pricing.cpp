// Labels of partial sets (the resource-constrained shortest paths of Desrosiers et al. 1995).
//
// Kernels are decided in the order of the plan.  What a partial set adds to later depends on which
// kernels of the frontier it has, on its SRAM and on its excess by each part of the time.  So of
// two partial sets with the same frontier one is dropped if the other is no worse in any of these.
// Experts that are alike make few different labels, whatever their number: what counts is how
// many of them have which of their kernels inside, and nobody has to know that they are alike.
//
// A label is dropped as well if no way to go on is worth enough.  For a mixture of the parts, which
// is no more than the greatest of them, and a price of SRAM (Lagrange) the best way to go on is
// found for every frontier, from the last kernel to the first, before the labels are made.
//
// Against all sets: tests/engine/duals/frontier_pricing_test.cpp.

#include "engine/duals/frontier_pricing.hpp"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

namespace dfsearch {
namespace {

constexpr std::size_t kParts = std::tuple_size_v<KernelParts>;
constexpr std::size_t kMixtures = FrontierPricing::kMixtures;
constexpr double kImpossible = -std::numeric_limits<double>::infinity();

/// Shares of the parts; they add up to one.
constexpr std::array<std::array<double, kParts>, kMixtures> kShares = {{{1.0, 0.0, 0.0},
                                                                        {0.0, 1.0, 0.0},
                                                                        {0.0, 0.0, 1.0},
                                                                        {0.0, 0.875, 0.125},
                                                                        {0.0, 0.75, 0.25},
                                                                        {0.0, 0.625, 0.375},
                                                                        {0.0, 0.5, 0.5},
                                                                        {0.0, 0.375, 0.625},
                                                                        {0.0, 0.25, 0.75},
                                                                        {0.0, 0.125, 0.875}}};

/// Of a part that will not be the least.
constexpr FineTicks kNoMatter = std::numeric_limits<FineTicks>::max() / 2;

using Shares = std::array<double, kParts>;

/// SRAM that is a little more than there is: sums of bytes are rounded in any order.
constexpr double kAboutSram = 1.0 + 0x1p-40;

struct Label {
  std::uint32_t frontier = 0;  // which of it are inside
  std::uint32_t last = 0;      // place of the last decision to be inside, and one; 0: none
  double sram = 0.0;
  std::array<FineTicks, kParts> excess{};  // by each part of the time
  std::int64_t size = 0;
  double most = 0.0;  // no completion has more excess
};

struct Decision {
  std::uint32_t previous = 0;
  std::uint32_t kernel = 0;
};

class LabelSearch {
 public:
  LabelSearch(const FusionTables& tables, const FrontierPlan& plan, std::size_t group,
              const Duals& duals, const FrontierPricing::Query& query, FineTicks noise,
              FrontierPricing::BytePrices& byte_prices, std::int64_t& steps)
      : tables_(tables),
        plan_(plan),
        group_(group),
        duals_(duals),
        query_(query),
        overlap_(tables.problem().execution.overlap),
        above_(static_cast<double>(query.threshold + duals.charge[group]) +
               static_cast<double>(noise) / 2),
        noise_(static_cast<double>(noise)),
        sram_(tables.sram().in_base_units() * kAboutSram),
        byte_prices_(byte_prices),
        steps_(steps),
        deadline_(tables.deadline(), kStepsBetweenLooks) {
    for (const FrontierStep& step : plan.steps) {
      const KernelCosts& kernel = tables.kernel(step.kernel);
      const KernelParts own = parts(overlap_, kernel.compute, kernel.network, step.memory);
      auto& gains = gains_.emplace_back();
      for (std::size_t r = 0; r < kParts; ++r) {
        gains[r] = duals.kernels[step.kernel] - own[r] * kFinePerTick;
      }
    }
    const KernelParts memory = parts(overlap_, 0, 0, 1);
    for (std::size_t r = 0; r < kParts; ++r) memory_[r] = memory[r] * kFinePerTick;
  }

  FrontierPricing::Found run() {
    FrontierPricing::Found found;
    found.complete = !set_prices();
    if (found.complete) return found;
    std::vector<Label> labels{Label{.most = 0.0}};
    for (std::size_t s = 0; s < plan_.steps.size(); ++s) {
      tables_.deadline().check();
      std::vector<Label> next;
      next.reserve(2 * labels.size());
      for (const Label& label : labels) decide(s, label, next);
      steps_ -= static_cast<std::int64_t>(labels.size() / 2) + 1;
      keep_best(next);
      if (decisions_.size() > kMostDecisions) steps_ = -1;
      if (steps_ < 0) return found;
      labels = std::move(next);
    }
    found.partitions = columns(labels);
    found.complete = query_.beam == 0;
    return found;
  }

 private:
  // Some hundred megabytes with all labels.
  static constexpr std::size_t kMostDecisions = 8'000'000;
  static constexpr std::int64_t kStepsBetweenLooks = 100'000;

  [[nodiscard]] bool is_done(std::size_t kernel) const {
    return query_.done != nullptr && query_.done->contains(kernel);
  }

  /// What a kernel's tensors to the frontier add to the memory time.
  [[nodiscard]] static Ticks crossing(const FrontierStep& step, std::uint32_t frontier,
                                      bool inside) {
    Ticks sum = 0;
    for (const FrontierStep::Link& link : step.links) {
      if (((frontier & link.bit) != 0) != inside) sum += link.transfer;
    }
    return sum;
  }
  [[nodiscard]] static double sram_inside(const FrontierStep& step, std::uint32_t frontier) {
    Bytes sum = step.sram;
    for (const FrontierStep::Link& link : step.links) {
      sum += (frontier & link.bit) != 0 ? link.fused - link.streamed : link.streamed;
    }
    return sum.in_base_units();
  }
  [[nodiscard]] static std::uint32_t after(const FrontierStep& step, std::uint32_t frontier,
                                           bool inside) {
    return (inside ? frontier | step.bit : frontier) & ~step.leaving;
  }
  /// Whether the kernel may be inside or outside.  Of the next partition nothing may be inside
  /// before its producers.
  [[nodiscard]] bool may(const FrontierStep& step, std::uint32_t frontier, bool inside) const {
    if (is_done(step.kernel)) return !inside;
    if (!query_.next) return true;
    const auto is_missing = [this](std::size_t producer) { return !is_done(producer); };
    if (inside && std::any_of(step.others_before.begin(), step.others_before.end(), is_missing)) {
      return false;
    }
    for (const FrontierStep::Link& link : step.links) {
      const bool other = (frontier & link.bit) != 0;
      if (inside && link.from_other && !other && !is_done(link.other)) return false;
      if (!inside && !link.from_other && other) return false;
    }
    return true;
  }
  /// What ways to go on gain at most by a mixture of the parts, SRAM paid for, from each step on by
  /// the frontier.
  struct Completion {
    Shares shares{};
    double byte_price = 0.0;
    std::vector<std::vector<double>> gains;

    [[nodiscard]] double after(std::size_t steps, const Label& label, double sram) const {
      return byte_price * (sram - label.sram) + gains[steps][label.frontier];
    }
  };

  /// For the whole.
  double complete(Completion& completion) const {
    const Shares& shares = completion.shares;
    double memory = 0.0;
    for (std::size_t r = 0; r < kParts; ++r) memory += shares[r] * static_cast<double>(memory_[r]);
    auto& gains = completion.gains;
    gains.resize(plan_.steps.size() + 1);
    gains.back().assign(std::size_t{1} << plan_.width, 0.0);
    for (std::size_t s = plan_.steps.size(); s-- > 0;) {
      const FrontierStep& step = plan_.steps[s];
      const std::vector<double>& later = gains[s + 1];
      gains[s].assign(later.size(), kImpossible);
      double own = 0.0;
      for (std::size_t r = 0; r < kParts; ++r) {
        own += shares[r] * static_cast<double>(gains_[s][r]);
      }
      for (std::uint32_t frontier = 0;; frontier = (frontier - step.present) & step.present) {
        double& best = gains[s][frontier];
        if (may(step, frontier, false)) {
          best = later[after(step, frontier, false)] -
                 memory * static_cast<double>(crossing(step, frontier, false));
        }
        const double sram = sram_inside(step, frontier);
        if (sram <= sram_ && may(step, frontier, true)) {
          best = std::max(best, later[after(step, frontier, true)] + own -
                                    completion.byte_price * sram -
                                    memory * static_cast<double>(crossing(step, frontier, true)));
        }
        if (frontier == step.present) break;
      }
    }
    return gains.front().front() + completion.byte_price * sram_;
  }

  /// With the price at which the least is promised, which is returned; `price` is near it.
  double complete_well(Completion& completion, double& price, double highest) {
    if (price <= 0.0) price = highest / 16;
    completion.byte_price = price = std::min(price, highest);
    double least = complete(completion);
    for (const double factor : {2.0, 1.25, 1.06}) {
      for (const double change : {factor, 1.0 / factor}) {
        completion.byte_price = std::min(price * change, highest);
        const double promised = complete(completion);
        if (!(promised < least)) continue;
        least = promised;
        price = completion.byte_price;
      }
    }
    if (completion.byte_price != price) {
      completion.byte_price = price;
      complete(completion);
    }
    const auto states = static_cast<std::int64_t>(std::size_t{1} << plan_.width);
    steps_ -= 7 * states * static_cast<std::int64_t>(plan_.steps.size()) / 16;
    return least;
  }

  /// False if no mixture leaves a chance for any set.
  bool set_prices() {
    FineTicks sum = 0;
    for (const FrontierStep& step : plan_.steps) {
      if (!is_done(step.kernel)) sum += duals_.kernels[step.kernel];
    }
    const double highest = static_cast<double>(sum) / std::max(sram_, 1.0);
    const std::size_t mixtures = overlap_ == Overlap::Perfect         ? kMixtures
                                 : overlap_ == Overlap::ComputeMemory ? 2
                                                                      : 1;
    for (std::size_t m = 0; m < mixtures; ++m) {
      Completion& completion = completions_.emplace_back();
      completion.shares = kShares[m];
      if (complete_well(completion, byte_prices_[m], highest) <= above_) return false;
    }
    std::size_t place = kMixtures;
    for (std::size_t r = 0; r < kParts; ++r) {
      for (std::size_t other = 0; other < kParts; ++other) {
        if (other == r) continue;
        Completion& rise = rises_[r][other];
        rise.shares[other] = 1.0;
        rise.shares[r] = -1.0;
        complete_well(rise, byte_prices_[place++], highest);
      }
    }
    return true;
  }

  /// Forgets parts that another one stays below to the end.
  void forget_parts(std::size_t s, Label& label) const {
    for (std::size_t r = 0; r < kParts; ++r) {
      for (std::size_t other = 0; other < kParts && label.excess[r] != kNoMatter; ++other) {
        if (other == r || label.excess[other] == kNoMatter) continue;
        const double ahead = static_cast<double>(label.excess[r] - label.excess[other]);
        if (ahead - noise_ >= rises_[r][other].after(s, label, sram_)) label.excess[r] = kNoMatter;
      }
    }
  }
  static void add(FineTicks more, FineTicks& excess) {
    if (excess != kNoMatter) excess += more;
  }

  void decide(std::size_t s, const Label& label, std::vector<Label>& next) {
    const FrontierStep& step = plan_.steps[s];
    if (may(step, label.frontier, false)) {
      Label without = label;
      without.frontier = after(step, label.frontier, false);
      const Ticks crosses = crossing(step, label.frontier, false);
      for (std::size_t r = 0; r < kParts; ++r) add(-memory_[r] * crosses, without.excess[r]);
      offer(s + 1, without, next);
    }
    if (!may(step, label.frontier, true)) return;
    Label with = label;
    with.sram += sram_inside(step, label.frontier);
    if (with.sram > sram_) return;
    with.frontier = after(step, label.frontier, true);
    const Ticks crosses = crossing(step, label.frontier, true);
    for (std::size_t r = 0; r < kParts; ++r) {
      add(gains_[s][r] - memory_[r] * crosses, with.excess[r]);
    }
    ++with.size;
    if (!offer(s + 1, with, next)) return;
    decisions_.push_back(
        {.previous = label.last, .kernel = static_cast<std::uint32_t>(step.kernel)});
    next.back().last = static_cast<std::uint32_t>(decisions_.size());
  }

  bool offer(std::size_t s, Label& label, std::vector<Label>& next) const {
    label.most = std::numeric_limits<double>::infinity();
    for (const Completion& completion : completions_) {
      double mixed = completion.after(s, label, sram_);
      for (std::size_t r = 0; r < kParts; ++r) {
        if (completion.shares[r] > 0.0) {
          mixed += completion.shares[r] * static_cast<double>(label.excess[r]);
        }
      }
      label.most = std::min(label.most, mixed);
      if (!(label.most > above_)) return false;
    }
    forget_parts(s, label);
    next.push_back(label);
    return true;
  }

  /// Drops what is dominated and, beyond the beam, what promises least.
  void keep_best(std::vector<Label>& labels) {
    std::sort(labels.begin(), labels.end(), [](const Label& a, const Label& b) {
      return std::tie(a.frontier, a.sram, b.excess, b.size) <
             std::tie(b.frontier, b.sram, a.excess, a.size);
    });
    std::vector<Label> kept;
    std::size_t begin = 0;  // of those with the same frontier
    std::int64_t looks = 0;
    for (const Label& label : labels) {
      deadline_.check(1 + static_cast<std::int64_t>(kept.size() - begin) / 16);
      if (looks / 32 > steps_) break;
      if (!kept.empty() && kept.back().frontier != label.frontier) {
        cut_to_beam(kept, begin);
        begin = kept.size();
      }
      const auto dominates = [&](const Label& other) {
        ++looks;
        for (std::size_t r = 0; r < kParts; ++r) {
          if (other.excess[r] < label.excess[r]) return false;
        }
        return true;
      };
      const auto from = kept.begin() + static_cast<std::ptrdiff_t>(begin);
      if (std::none_of(from, kept.end(), dominates)) kept.push_back(label);
    }
    cut_to_beam(kept, begin);
    steps_ -= looks / 32 + 1;
    labels = std::move(kept);
  }
  /// Keeps what promises most of about as much SRAM.
  void cut_to_beam(std::vector<Label>& kept, std::size_t begin) const {
    if (query_.beam == 0 || kept.size() - begin <= query_.beam) return;
    const auto room = [&](const Label& label) {
      return static_cast<std::size_t>(label.sram / sram_ * static_cast<double>(query_.beam));
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

  [[nodiscard]] std::vector<PartitionColumn> columns(std::vector<Label>& labels) const {
    const auto least = [](const Label& label) {
      return *std::min_element(label.excess.begin(), label.excess.end());
    };
    const auto is_none = [&](const Label& label) {
      return label.size == 0 || !(static_cast<double>(least(label)) > above_);
    };
    labels.erase(std::remove_if(labels.begin(), labels.end(), is_none), labels.end());
    std::stable_sort(labels.begin(), labels.end(), [&](const Label& a, const Label& b) {
      return std::make_pair(least(a), a.size) > std::make_pair(least(b), b.size);
    });
    if (labels.size() > query_.most) labels.resize(query_.most);
    std::vector<PartitionColumn> columns;
    for (const Label& label : labels) {
      PartitionColumn column{.kernels = KernelSet(tables_.size()),
                             .group = group_,
                             .excess = least(label) - duals_.charge[group_],
                             .size = label.size};
      FineTicks dual = 0;
      for (std::uint32_t last = label.last; last != 0; last = decisions_[last - 1].previous) {
        column.kernels.insert(decisions_[last - 1].kernel);
        dual += duals_.kernels[decisions_[last - 1].kernel];
      }
      column.time = (dual - least(label)) / kFinePerTick;
      columns.push_back(std::move(column));
    }
    return columns;
  }

  const FusionTables& tables_;
  const FrontierPlan& plan_;
  const std::size_t group_;
  const Duals& duals_;
  const FrontierPricing::Query& query_;
  const Overlap overlap_;
  const double above_;  // excess with the charge
  const double noise_;
  const double sram_;
  FrontierPricing::BytePrices& byte_prices_;
  std::int64_t& steps_;
  PacedDeadline deadline_;
  std::vector<std::array<FineTicks, kParts>> gains_;  // of each step's kernel, tensors aside
  std::array<FineTicks, kParts> memory_{};            // what a tick of memory takes of each part
  std::vector<Completion> completions_;
  std::array<std::array<Completion, kParts>, kParts> rises_;  // of a part beside another one
  std::vector<Decision> decisions_;
};

}  // namespace

FrontierPricing::FrontierPricing(const FusionTables& tables, FrontierPlan plan, std::size_t group)
    : tables_(tables), plan_(std::move(plan)), group_(group) {
  for (const FrontierStep& step : plan_.steps) {
    const KernelCosts& kernel = tables.kernel(step.kernel);
    Ticks memory = step.memory;
    for (const FrontierStep::Link& link : step.links) memory += 2 * link.transfer;
    parts_ += (kernel.compute + kernel.network + memory) * kFinePerTick;
  }
}

/// Less than 2^7 roundings for each kernel, of numbers below the sum of all.
FineTicks FrontierPricing::noise(const Duals& duals) const {
  FineTicks sum = 0;
  for (const FrontierStep& step : plan_.steps) sum += duals.kernels[step.kernel] >> 31;
  const auto kernels = static_cast<FineTicks>(plan_.steps.size());
  return (sum + (parts_ >> 31) + (duals.charge[group_] >> 31)) * (1 + kernels / 4096) +
         4 * kernels + 64;
}

FrontierPricing::Found FrontierPricing::find(const Duals& duals, const Query& query,
                                             std::int64_t& steps) {
  return LabelSearch(tables_, plan_, group_, duals, query, noise(duals), byte_prices_, steps).run();
}

}  // namespace dfsearch
