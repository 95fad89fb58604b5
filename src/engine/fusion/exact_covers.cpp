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

#include "engine/fusion/partition_sequence.hpp"
#include "engine/tables/partition_rules.hpp"

namespace dfsearch {
namespace {

constexpr std::size_t kBits = 64;  // of a word
constexpr std::size_t kMostRemembered = 1'000'000;
constexpr std::size_t kRememberedPerCharge = 4096;
constexpr std::int64_t kStepsBetweenLooks = 8192;
// What a step is worth: some hundred operations.
constexpr std::int64_t kStepsPerBranch = 16;
constexpr std::int64_t kShortestTurn = 16;  // of all steps
constexpr std::size_t kWordsPerStep = 12;
constexpr std::size_t kRemovedPerStep = 8;
constexpr std::size_t kTestedPerStep = 24;  // for cycles

/// Calls `visit(number)` for each bit of the word at this place.
template <class Visit>
void for_each_bit(std::size_t place, std::uint64_t word, Visit visit) {
  for (; word != 0; word &= word - 1) {
    visit(place * kBits + static_cast<std::size_t>(std::countr_zero(word)));
  }
}

void insert(std::vector<std::uint64_t>& bits, std::size_t number) {
  bits[number / kBits] |= std::uint64_t{1} << (number % kBits);
}

void unite(std::vector<std::uint64_t>& bits, const std::vector<std::uint64_t>& others) {
  for (std::size_t w = 0; w < bits.size(); ++w) bits[w] |= others[w];
}

bool are_any_outside(const std::vector<std::uint64_t>& bits,
                     const std::vector<std::uint64_t>& others) {
  std::uint64_t any = 0;
  for (std::size_t w = 0; w < bits.size(); ++w) any |= bits[w] & ~others[w];
  return any != 0;
}

/// Of the word at this place the bits of numbers below.
std::uint64_t bits_below(std::size_t number, std::size_t place) {
  if (number >= (place + 1) * kBits) return ~std::uint64_t{0};
  return number > place * kBits ? (std::uint64_t{1} << (number % kBits)) - 1 : 0;
}

}  // namespace

ExactCovers::ExactCovers(const FusionTables& tables, const PartitionPricing& pricing,
                         const PartitionDuals& duals,
                         const std::vector<PartitionColumn>& partitions)
    : tables_(tables),
      pricing_(pricing),
      duals_(duals),
      words_((partitions.size() + kBits - 1) / kBits),
      words_of_kernels_(KernelSet(tables.size()).words().size()),
      having_(tables.size(), Columns(words_)),
      of_group_{Columns(words_), Columns(words_)},
      meanings_(partitions.size()),
      levels_(tables.size() + 1),
      forward_(tables.size()),
      backward_(tables.size()),
      cyclic_with_others_(words_),
      deadline_(tables.deadline(), kStepsBetweenLooks) {
  for (const PartitionColumn& partition : partitions) partitions_.push_back(&partition);
  std::stable_sort(partitions_.begin(), partitions_.end(),
                   [](const auto* a, const auto* b) { return a->excess > b->excess; });
  for (std::size_t c = 0; c < partitions_.size(); ++c) {
    const PartitionColumn& partition = *partitions_[c];
    const std::span<const Word> words = partition.kernels.words();
    bits_.insert(bits_.end(), words.begin(), words.end());
    slack_.push_back(-partition.excess);
    insert(of_group_.at(partition.group), c);
    partition.kernels.for_each([&](std::size_t p) { insert(having_[p], c); });
  }
  for (std::size_t p = 0; p < tables.size(); ++p) {
    (tables.kernel(p).backward ? backward_ : forward_).insert(p);
  }
  memory_.push_back(tables.allowance().charge(
      bits_.size() * sizeof(Word) + (tables.size() + 2) * bytes_of_columns() +
      slack_.size() * (sizeof(FineTicks) + 2 * sizeof(void*))));
}

/// Where partitions that would close a cycle are left out at once, fewer branches are met, but of
/// most it depends on earlier choices what they hold; where cycles show in the end, more of them hold
/// for any.  Either may take far longer than the other, so they take turns, each twice as long as the
/// one before; what they remember holds for both.
ExactCovers::Best ExactCovers::find(FineTicks limit, std::int64_t& steps, FineTicks apart) {
  best_ = {.complete = false, .slack = limit, .fusion = std::nullopt};
  wanted_ = limit;
  apart_ = apart;
  KernelSet left(tables_.size());
  for (std::size_t p = 0; p < tables_.size(); ++p) left.insert(p);
  for (std::int64_t given = steps / kShortestTurn; !best_.complete && steps >= 0; given *= 2) {
    for (const bool looks_ahead : {true, false}) {
      looks_ahead_ = looks_ahead;
      steps_ = std::min(given, steps);
      const std::int64_t before = steps_;
      begin();
      static_cast<void>(extend(0, left, 0));
      steps -= before - steps_;
      best_.complete = steps_ >= 0;
      if (best_.complete || steps < 0) break;
    }
  }
  return std::move(best_);
}

/// Before the first choice: all columns of less slack.
void ExactCovers::begin() {
  Level& level = levels_.front();
  prepare(level);
  std::fill(level.count.begin(), level.count.end(), 0U);
  const std::size_t end = columns_within(wanted_);
  for (std::size_t w = 0; w < words_; ++w) level.columns[w] = bits_below(end, w);
  for (std::size_t c = 0; c < end; ++c) {
    partitions_[c]->kernels.for_each([&](std::size_t p) { ++level.count[p]; });
  }
}

/// Goes through all covers of the kernels left; the partitions chosen so far have this slack
/// together.  Returns the depth of the earliest choice because of which a cover was left out: what was
/// found holds whatever is chosen before that depth, and for any choices if that is kOnNone.
ExactCovers::Depth ExactCovers::extend(Depth depth, const KernelSet& left, FineTicks slack) {
  const Level& level = levels_[depth];
  const auto steps = kStepsPerBranch + static_cast<std::int64_t>(words_ / kWordsPerStep);
  deadline_.check(steps);
  if ((steps_ -= steps) < 0) return 0;
  std::size_t hardest = left.first_from(0);
  if (hardest == left.end()) return offer(slack);
  const auto known = least_.find(left);
  if (known != least_.end() && slack + known->second >= wanted_) return kOnNone;
  // The kernel that fewest columns have is covered next.
  left.for_each([&](std::size_t p) {
    if (level.count[p] < level.count[hardest]) hardest = p;
  });
  Depth depends = kOnNone;
  bool goes_on = true;
  for (std::size_t w = 0; w < words_ && goes_on; ++w) {
    for_each_bit(w, level.columns[w] & having_[hardest][w], [&](std::size_t column) {
      const FineTicks with = slack + slack_[column];
      goes_on = goes_on && steps_ >= 0 && with < wanted_;
      if (!goes_on) return;
      depends = std::min(depends, choose(depth, left, static_cast<std::uint32_t>(column), with));
    });
  }
  if (steps_ < 0) return 0;
  if (depends > 0) depends = std::min(depends, left_out(depth));
  if (depends >= depth) remember(left, wanted_ - slack);
  return depends;
}

/// As extend().
ExactCovers::Depth ExactCovers::choose(Depth depth, const KernelSet& left, std::uint32_t column,
                                       FineTicks slack) {
  const Meaning& means = meaning(column, levels_[depth]);
  bool goes = true;
  Chosen next = with_neighbours(column, means, goes);
  if (!goes) return next.depends;
  KernelSet rest = left;
  rest -= partitions_[column]->kernels;
  if (looks_ahead_) find_cyclic_with_others(next, means, rest, levels_[depth].columns);
  chosen_.push_back(std::move(next));
  enter(depth, means, slack);
  const Depth depends = extend(depth + 1, rest, slack);
  chosen_.pop_back();
  return depends;
}

const ExactCovers::Meaning& ExactCovers::meaning(std::uint32_t column, Level& level) {
  std::unique_ptr<Meaning>& known = meanings_[column];
  if (known) return *known;
  steps_ -= static_cast<std::int64_t>(partitions_.size() / kTestedPerStep);
  const std::size_t bytes =
      sizeof(Meaning) + 2 * (forward_.heap_bytes() + bytes_of_columns()) + 5 * kAllocation;
  if (tables_.allowance().is_tight(bytes)) {
    find_meaning(column, level.meaning);
    return level.meaning;
  }
  known = std::make_unique<Meaning>();
  known->memory = tables_.allowance().charge(bytes);
  find_meaning(column, *known);
  return *known;
}

void ExactCovers::find_meaning(std::uint32_t column, Meaning& meaning) const {
  meaning.before = KernelSet(tables_.size());
  meaning.after = KernelSet(tables_.size());
  meaning.overlapping.assign(words_, 0);
  meaning.cyclic.assign(words_, 0);
  partitions_[column]->kernels.for_each([&](std::size_t p) {
    unite(meaning.overlapping, having_[p]);
    meaning.before |= pricing_.ancestors(p);
    meaning.after |= pricing_.descendants(p);
    // No forward kernel is in a later partition than a backward one.
    if (tables_.kernel(p).backward) {
      meaning.before |= forward_;
    } else {
      meaning.after |= backward_;
    }
  });
  for (std::size_t w = 0; w < words_; ++w) {
    const Word others = ~meaning.overlapping[w] & bits_below(partitions_.size(), w);
    for_each_bit(w, others, [&](std::size_t other) {
      const auto c = static_cast<std::uint32_t>(other);
      if (meets(c, meaning.before) && meets(c, meaning.after)) insert(meaning.cyclic, other);
    });
  }
}

/// It does not go if it and chosen ones each need the other done first.
ExactCovers::Chosen ExactCovers::with_neighbours(std::uint32_t column, const Meaning& meaning,
                                                 bool& goes) const {
  Chosen next{.partition = partitions_[column],
              .before = meaning.before,
              .after = meaning.after,
              .depends = static_cast<Depth>(chosen_.size())};
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

/// Of the columns those that are so only because of what was chosen before: what comes before or after
/// that does so here, too.
void ExactCovers::find_cyclic_with_others(const Chosen& next, const Meaning& meaning,
                                          const KernelSet& left, const Columns& columns) {
  std::fill(cyclic_with_others_.begin(), cyclic_with_others_.end(), 0);
  const auto add = [&](const KernelSet& all, const KernelSet& by_itself, const KernelSet& others) {
    KernelSet more = all;
    more -= by_itself;
    more.for_each_common(left, [&](std::size_t p) {
      for (std::size_t w = 0; w < words_; ++w) {
        const Word untold = having_[p][w] & columns[w] & ~cyclic_with_others_[w];
        for_each_bit(w, untold, [&](std::size_t column) {
          if (meets(static_cast<std::uint32_t>(column), others)) {
            insert(cyclic_with_others_, column);
          }
        });
      }
    });
  };
  add(next.before, meaning.before, next.after);
  add(next.after, meaning.after, next.before);
}

/// The level after the last choice: of the columns those that have no kernel of it and may be in a
/// cover with it.
void ExactCovers::enter(Depth depth, const Meaning& meaning, FineTicks slack) {
  const Level& from = levels_[depth];
  Level& to = levels_[depth + 1];
  prepare(to);
  to.count = from.count;
  to.depends = chosen_.back().depends;
  const std::size_t end = columns_within(wanted_ - slack);
  const std::array<Word, 2> full{is_full(0) ? ~Word{0} : 0, is_full(1) ? ~Word{0} : 0};
  const Word ahead = looks_ahead_ ? ~Word{0} : 0;
  std::size_t removed = 0;
  Word any_full = 0;
  Word any_cyclic = 0;
  Word any_cyclic_with_others = 0;
  for (std::size_t w = 0; w < words_; ++w) {
    Word left = from.columns[w] & ~meaning.overlapping[w] & bits_below(end, w);
    to.met[w] = from.met[w] | meaning.overlapping[w];
    to.full[w] = left & ((of_group_[0][w] & full[0]) | (of_group_[1][w] & full[1]));
    left &= ~to.full[w];
    to.cyclic[w] = left & meaning.cyclic[w] & ahead;
    left &= ~to.cyclic[w];
    to.cyclic_with_others[w] = left & cyclic_with_others_[w] & ahead;
    left &= ~to.cyclic_with_others[w];
    to.columns[w] = left;
    any_full |= to.full[w];
    any_cyclic |= to.cyclic[w];
    any_cyclic_with_others |= to.cyclic_with_others[w];
    for_each_bit(w, from.columns[w] & ~left, [&](std::size_t column) {
      ++removed;
      partitions_[column]->kernels.for_each([&](std::size_t p) { --to.count[p]; });
    });
  }
  to.any_full = any_full != 0;
  to.any_cyclic = any_cyclic != 0;
  to.any_cyclic_with_others = any_cyclic_with_others != 0;
  steps_ -= static_cast<std::int64_t>(removed / kRemovedPerStep);
}

/// The earliest choice that left out a column of kernels that are left.
ExactCovers::Depth ExactCovers::left_out(Depth depth) const {
  Depth least = kOnNone;
  const Columns& met = levels_[depth].met;
  for (Depth d = 1; d <= depth; ++d) {
    const Level& level = levels_[d];
    if (level.any_full && are_any_outside(level.full, met)) return 0;
    if (level.any_cyclic && d - 1 < least && are_any_outside(level.cyclic, met)) least = d - 1;
    if (level.any_cyclic_with_others && level.depends < least &&
        are_any_outside(level.cyclic_with_others, met)) {
      least = level.depends;
    }
  }
  return least;
}

bool ExactCovers::meets(std::uint32_t column, const KernelSet& kernels) const {
  const Word* const set = bits_.data() + column * words_of_kernels_;
  const std::span<const Word> words = kernels.words();
  Word common = 0;
  for (std::size_t w = 0; w < words_of_kernels_; ++w) common |= set[w] & words[w];
  return common != 0;
}

/// How many columns have less slack: the first ones.
std::size_t ExactCovers::columns_within(FineTicks slack) const {
  return static_cast<std::size_t>(std::lower_bound(slack_.begin(), slack_.end(), slack) -
                                  slack_.begin());
}

/// Gives it room, once.
void ExactCovers::prepare(Level& level) const {
  if (!level.count.empty()) return;
  level.count.resize(tables_.size());
  for (Columns* columns :
       {&level.columns, &level.met, &level.cyclic, &level.cyclic_with_others, &level.full}) {
    columns->resize(words_);
  }
  level.memory =
      tables_.allowance().charge(5 * bytes_of_columns() + tables_.size() * sizeof(std::uint32_t));
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
  if (slack + unused >= wanted_) return unused == 0 ? kOnNone : 0;
  std::vector<const KernelSet*> cover;
  for (const Chosen& chosen : chosen_) cover.push_back(&chosen.partition->kernels);
  steps_ -= static_cast<std::int64_t>(cover.size() * tables_.size() / kTestedPerStep);
  OrderedFusion ordered = put_in_order(tables_, std::move(cover));
  if (!ordered.fusion && ordered.is_cyclic) return 0;
  best_.slack = slack + unused;
  wanted_ = best_.slack - apart_ + 1;
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
