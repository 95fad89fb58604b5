// Pairs of two sorted lists in the order of a function that rises with both, without storing all
// pairs: a row is an element of the first list with its next partner in the second one, and a heap
// orders the rows (Frederickson and Johnson, Journal of Computer and System Sciences 1982).

#include "engine/serving/root_queue.hpp"

#include <algorithm>
#include <utility>

namespace dfsearch::serving {
namespace {

/// The component-wise minimum.
SideBound least_of_both(const SideBound& a, const SideBound& b) {
  return {.spent = std::min(a.spent, b.spent),
          .weight = std::min(a.weight, b.weight),
          .first = std::min(a.first, b.first),
          .tpot = std::min(a.tpot, b.tpot),
          .fullness = std::min(a.fullness, b.fullness),
          .chips = std::min(a.chips, b.chips)};
}

}  // namespace

void RootQueue::push(Row row) {
  row.bound =
      bound_.value(row.side, row.group ? row.group->rest[row.next] : SideBound{}, row.there);
  rows_.push_back(std::move(row));
  std::push_heap(rows_.begin(), rows_.end(),
                 [](const Row& a, const Row& b) { return a.bound > b.bound; });
}

void RootQueue::add_aggregated(const Chain& chain) {
  const DeploymentBox box(space_, chain, nullptr);
  ++size_;
  push({.chain = &chain,
        .group = nullptr,
        .side = bound_.decoding(box),
        .there = bound_.chips_there(box.decode(), nullptr)});
}

void RootQueue::add_pairs(const std::vector<Chain>& decoders,
                          const std::vector<PrefillChain>& prefillers) {
  const Task& task = space_.task();
  groups_.assign(task.pools.size(), std::vector<Group>(task.precisions.size()));
  for (const PrefillChain& chain : prefillers) {
    const Structure& structure = chain.prefiller->structure();
    if (!chain.batches.empty())
      groups_[structure.pool][structure.precision].chains.push_back(&chain);
  }
  for (std::vector<Group>& of_pool : groups_) {
    for (Group& group : of_pool) {
      std::vector<std::pair<SideBound, const PrefillChain*>> sorted;
      for (const PrefillChain* chain : group.chains) {
        const Prefiller& prefiller = *chain->prefiller;
        sorted.emplace_back(bound_.prefilling(prefiller.structure(), chain->at_first,
                                              prefiller.between(chain->at_first, chain->at_last)),
                            chain);
      }
      const auto order = [&](const auto& one) {
        return std::pair(bound_.value({}, one.first, 1.0), one.first.chips);
      };
      std::stable_sort(sorted.begin(), sorted.end(),
                       [&](const auto& a, const auto& b) { return order(a) < order(b); });
      for (std::size_t i = 0; i < sorted.size(); ++i) {
        group.sides.push_back(sorted[i].first);
        group.chains[i] = sorted[i].second;
      }
      group.rest = group.sides;
      for (std::size_t i = group.rest.size(); i-- > 1;) {
        group.rest[i - 1] = least_of_both(group.rest[i - 1], group.rest[i]);
      }
    }
  }
  for (const Chain& chain : decoders) {
    if (chain.batches.empty()) continue;
    for (const std::vector<Group>& of_pool : groups_) {
      const Structure& decode = chain.decoder->structure();
      const Group& group = of_pool[decode.precision];
      if (group.chains.empty()) continue;
      const DeploymentBox box(space_, chain, group.chains.front());
      size_ += static_cast<std::int64_t>(group.chains.size());
      push({.chain = &chain,
            .group = &group,
            .side = bound_.decoding(box),
            .there = bound_.chips_there(decode, box.prefill())});
    }
  }
}

LeastFigures RootQueue::least_of(const Row& row) const {
  const std::int64_t before = row.group ? row.group->rest[row.next].chips : 0;
  return {.value = row.bound * (1.0 - kRounding),
          .tpot = row.side.tpot,
          .chips = row.side.chips + before,
          .first = {}};
}

std::optional<Root> RootQueue::pop(const std::function<bool(const LeastFigures&)>& is_beaten,
                                   std::int64_t& closed) {
  const std::lock_guard lock(mutex_);
  while (!rows_.empty()) {
    std::pop_heap(rows_.begin(), rows_.end(),
                  [](const Row& a, const Row& b) { return a.bound > b.bound; });
    Row row = std::move(rows_.back());
    rows_.pop_back();
    if (is_beaten(least_of(row))) {
      closed += static_cast<std::int64_t>(row.left());
      size_ -= static_cast<std::int64_t>(row.left());
      continue;
    }
    --size_;
    if (!row.group) return Root{row.chain, nullptr, row.bound};
    const std::size_t i = row.next++;
    const SideBound& before = row.group->sides[i];
    const PrefillChain* prefill = row.group->chains[i];
    LeastFigures least{.value = bound_.value(row.side, before, row.there),
                       .tpot = row.side.tpot,
                       .chips = row.side.chips + before.chips,
                       .first = {}};
    const Root root{row.chain, prefill, least.value};
    if (row.next < row.group->chains.size()) push(std::move(row));
    if (!space_.holds(prefill->role(0, 1), root.chain->role(0, 1))) continue;
    least.value *= 1.0 - kRounding;
    if (!is_beaten(least)) return root;
    ++closed;
  }
  return std::nullopt;
}

double RootQueue::least() const {
  const std::lock_guard lock(mutex_);
  return rows_.empty() ? kNever : rows_.front().bound;
}

std::int64_t RootQueue::size() const {
  const std::lock_guard lock(mutex_);
  return size_;
}

std::vector<LeastFigures> RootQueue::left() const {
  const std::lock_guard lock(mutex_);
  std::vector<LeastFigures> list;
  for (const Row& row : rows_) list.push_back(least_of(row));
  return list;
}

}  // namespace dfsearch::serving
