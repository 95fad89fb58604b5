// Depth first (Knuth's Algorithm X): the kernel that fewest partitions of the list can cover is
// covered next, by each of them.  Where duals are good the list is short and some kernel has hardly
// a choice, so most branches end after a few partitions.
//
// The same kernels are left after many choices of others.  What covers of theirs have at least is
// remembered, unless a partition of theirs was left out because of what had been chosen for others:
// of partitions that each need another one done first only some may be in a cover.  So each branch
// tells on which choices it depends.
//
// Against all covers: tests/engine/fusion/exact_covers_test.cpp.

#include "engine/fusion/exact_covers.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <span>
#include <utility>

#include "engine/fusion/ordered_fusion.hpp"
#include "engine/tables/partition_rules.hpp"

namespace dfsearch {
namespace {

constexpr std::size_t kBits = 64;  // of a word
constexpr std::size_t kMostRemembered = 1'000'000;
constexpr std::size_t kRememberedPerCharge = 4096;
constexpr std::int64_t kStepsBetweenLooks = 1024;
// A look at a column takes some ten operations.
constexpr std::size_t kColumnsPerStep = 8;

}  // namespace

ExactCovers::ExactCovers(const FusionTables& tables, const PartitionPricing& pricing,
                         const PartitionDuals& duals,
                         const std::vector<PartitionColumn>& partitions)
    : tables_(tables),
      pricing_(pricing),
      duals_(duals),
      partitions_(partitions),
      words_(KernelSet(tables.size()).words().size()),
      bits_(partitions.size() * words_),
      levels_(tables.size() + 1),
      count_(tables.size()),
      forward_(tables.size()),
      backward_(tables.size()),
      deadline_(tables.deadline(), kStepsBetweenLooks) {
  for (std::size_t c = 0; c < partitions.size(); ++c) {
    const std::span<const Word> words = partitions[c].kernels.words();
    std::copy(words.begin(), words.end(), bits_.begin() + static_cast<std::ptrdiff_t>(c * words_));
    slack_.push_back(-partitions[c].excess);
    group_.push_back(static_cast<std::uint8_t>(partitions[c].group));
  }
  for (std::size_t p = 0; p < tables.size(); ++p) {
    (tables.kernel(p).backward ? backward_ : forward_).insert(p);
  }
  memory_.push_back(tables.allowance().charge(bits_.size() * sizeof(Word) +
                                              slack_.size() * (sizeof(FineTicks) + 1)));
}

/// Where partitions that would close a cycle are left out at once, fewer branches are met, but of
/// most it depends on earlier choices what they hold; where cycles show in the end, more of them hold
/// for any.  Either may take far longer than the other, so each gets half of the steps.
ExactCovers::Best ExactCovers::find(FineTicks limit, std::int64_t& steps) {
  best_ = {.complete = true, .slack = limit, .fusion = std::nullopt};
  std::vector<std::uint32_t>& all = levels_.front().columns;
  all.resize(partitions_.size());
  std::iota(all.begin(), all.end(), 0U);
  std::stable_sort(all.begin(), all.end(),
                   [this](std::uint32_t a, std::uint32_t b) { return slack(a) < slack(b); });
  KernelSet left(tables_.size());
  for (std::size_t p = 0; p < tables_.size(); ++p) left.insert(p);
  for (const bool looks_ahead : {true, false}) {
    looks_ahead_ = looks_ahead;
    const std::int64_t given = looks_ahead ? steps / 2 : steps;
    steps_ = given;
    static_cast<void>(extend(0, left, 0));
    steps -= given - steps_;
    best_.complete = steps_ >= 0;
    if (best_.complete) break;
  }
  return std::move(best_);
}

/// `slack`: of the chosen ones.  Goes through all covers of the kernels left, but for those that
/// choices from the depth on that it returns do not allow.
ExactCovers::Depth ExactCovers::extend(Depth depth, const KernelSet& left, FineTicks slack) {
  Level& level = levels_[depth];
  const auto columns = static_cast<std::int64_t>(level.columns.size() / kColumnsPerStep);
  deadline_.check(1 + columns);
  if ((steps_ -= 1 + columns) < 0) return 0;
  if (left.first_from(0) == left.end()) return offer(slack);
  const auto known = least_.find(left);
  if (known != least_.end() && slack + known->second >= best_.slack) return kOnNone;
  choose_covering(level, left);
  Depth depends = kOnNone;
  for (const LeftOut& out : level.left_out) depends = std::min(depends, out.depends);
  for (const std::uint32_t column : level.covering) {
    const FineTicks with = slack + this->slack(column);
    if (with >= best_.slack) break;
    depends = std::min(depends, choose(depth, left, column, with));
    if (steps_ < 0) return 0;
  }
  if (depends >= depth) remember(left, best_.slack - slack);
  return depends;
}

/// As extend().
ExactCovers::Depth ExactCovers::choose(Depth depth, const KernelSet& left, std::uint32_t column,
                                       FineTicks slack) {
  bool goes = true;
  Chosen next = with_neighbours(partitions_[column], goes);
  if (!goes) return next.depends;
  KernelSet rest = left;
  partitions_[column].kernels.for_each([&](std::size_t p) { rest.erase(p); });
  chosen_.push_back(std::move(next));
  keep_those_beside(chosen_.back(), slack, levels_[depth], levels_[depth + 1]);
  const Depth depends = extend(depth + 1, rest, slack);
  chosen_.pop_back();
  return depends;
}

/// The columns of the kernel that fewest have.
void ExactCovers::choose_covering(Level& level, const KernelSet& left) {
  std::fill(count_.begin(), count_.end(), 0U);
  for (const std::uint32_t column : level.columns) {
    const Word* const set = bits(column);
    for (std::size_t w = 0; w < words_; ++w) {
      for (Word word = set[w]; word != 0; word &= word - 1) {
        ++count_[w * kBits + static_cast<std::size_t>(std::countr_zero(word))];
      }
    }
  }
  std::size_t hardest = left.first_from(0);
  left.for_each([&](std::size_t p) {
    if (count_[p] < count_[hardest]) hardest = p;
  });
  level.covering.clear();
  for (const std::uint32_t column : level.columns) {
    if ((bits(column)[hardest / kBits] >> (hardest % kBits) & 1) != 0) {
      level.covering.push_back(column);
    }
  }
}

/// It does not go if it and chosen ones each need the other done first.
ExactCovers::Chosen ExactCovers::with_neighbours(const PartitionColumn& partition,
                                                 bool& goes) const {
  Chosen next{.partition = &partition,
              .before = KernelSet(tables_.size()),
              .after = KernelSet(tables_.size()),
              .depends = static_cast<Depth>(chosen_.size())};
  partition.kernels.for_each([&](std::size_t p) {
    next.before |= pricing_.ancestors(p);
    next.after |= pricing_.descendants(p);
    // No forward kernel is in a later partition than a backward one.
    if (tables_.kernel(p).backward) {
      next.before |= forward_;
    } else {
      next.after |= backward_;
    }
  });
  for (const Chosen& other : chosen_) {
    const bool before = next.before.intersects(other.partition->kernels);
    const bool after = next.after.intersects(other.partition->kernels);
    if (!before && !after) continue;
    next.depends = std::min(next.depends, other.depends);
    if (before) next.before |= other.before;
    if (after) next.after |= other.after;
    if (before && after && looks_ahead_) goes = false;
  }
  return next;
}

/// Of the columns those that have no kernel of the next one and may be in a cover with it.
void ExactCovers::keep_those_beside(const Chosen& next, FineTicks slack, const Level& from,
                                    Level& to) {
  const std::span<const Word> kernels = next.partition->kernels.words();
  const std::span<const Word> before = next.before.words();
  const std::span<const Word> after = next.after.words();
  const std::array<bool, 2> full{is_full(0), is_full(1)};
  const auto meets = [&](const Word* set, std::span<const Word> other) {
    Word common = 0;
    for (std::size_t w = 0; w < words_; ++w) common |= set[w] & other[w];
    return common != 0;
  };
  to.columns.clear();
  to.left_out.clear();
  for (const LeftOut& out : from.left_out) {
    if (!meets(bits(out.column), kernels)) to.left_out.push_back(out);
  }
  for (const std::uint32_t column : from.columns) {
    if (slack + this->slack(column) >= best_.slack) break;
    const Word* const set = bits(column);
    if (meets(set, kernels)) continue;
    if (full[group_[column]]) {
      to.left_out.push_back({.column = column, .depends = 0});
    } else if (looks_ahead_ && meets(set, before) && meets(set, after)) {
      to.left_out.push_back({.column = column, .depends = next.depends});
    } else {
      to.columns.push_back(column);
    }
  }
}

bool ExactCovers::is_full(std::size_t group) const {
  const PartitionRules& rules = pricing_.rules();
  if (group >= rules.groups()) return false;
  const auto used = std::count_if(chosen_.begin(), chosen_.end(), [&](const Chosen& chosen) {
    return chosen.partition->group == group;
  });
  return used >= rules.left(group, 0);
}

/// Of the partitions that the bound counts on beyond those chosen.
FineTicks ExactCovers::unused_charges() const {
  FineTicks sum = duals_.charges(pricing_.rules(), 0);
  for (const Chosen& chosen : chosen_) sum -= duals_.charge[chosen.partition->group];
  return sum;
}

/// As extend().
ExactCovers::Depth ExactCovers::offer(FineTicks slack) {
  const FineTicks unused = unused_charges();
  if (slack + unused >= best_.slack) return unused == 0 ? kOnNone : 0;
  std::vector<const PartitionColumn*> cover;
  for (const Chosen& chosen : chosen_) cover.push_back(chosen.partition);
  steps_ -= static_cast<std::int64_t>(cover.size() * tables_.size() / kColumnsPerStep);
  OrderedFusion ordered = put_in_order(tables_, std::move(cover));
  if (!ordered.fusion && ordered.is_cyclic) return 0;
  best_.slack = slack + unused;
  best_.fusion = std::move(ordered.fusion);
  return unused == 0 ? kOnNone : 0;
}

void ExactCovers::remember(const KernelSet& left, FineTicks least) {
  const auto known = least_.find(left);
  if (known != least_.end()) {
    known->second = std::max(known->second, least);
    return;
  }
  if (least_.size() >= kMostRemembered) return;
  if (least_.size() == charged_) {
    const std::size_t bytes =
        (sizeof(std::pair<KernelSet, FineTicks>) + left.heap_bytes() + 2 * kAllocation) *
        kRememberedPerCharge;
    if (tables_.allowance().is_tight(bytes)) return;
    memory_.push_back(tables_.allowance().charge(bytes));
    charged_ += kRememberedPerCharge;
  }
  least_.emplace(left, least);
}

}  // namespace dfsearch
