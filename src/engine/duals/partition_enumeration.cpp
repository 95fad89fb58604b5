// The enumeration of partitions whose duals exceed their time.
//
// Sets are taken by their first kernel in a topological order (partition_walk.hpp).  In large graphs
// some of these are looked through at a time, maybe by several threads (ordered_walks.hpp).
//
// Against all sets: tests/engine/duals/partition_pricing_test.cpp.

#include "engine/duals/partition_enumeration.hpp"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

namespace dfsearch {
namespace {

// The sets of one first kernel of a smaller graph are soon found.
constexpr std::size_t kLargeEnumeration = 128;
constexpr std::size_t kPiecesAtOnce = 16;

std::size_t at_once(const FusionTables& tables, const PartitionPricing::Query& query) {
  if (query.at_once > 0) return query.at_once;
  return tables.size() >= kLargeEnumeration ? kPiecesAtOnce : 1;
}

}  // namespace

PartitionEnumeration::PartitionEnumeration(const FusionTables& tables,
                                           const PartitionPricing& pricing, const Duals& duals,
                                           const PartitionPricing::Query& query, SharedWork& work,
                                           std::int64_t& steps)
    : tables_(tables),
      pricing_(pricing),
      duals_(duals),
      query_(query),
      at_once_(at_once(tables, query)),
      threshold_(query.threshold),
      steps_(steps),
      walk_(tables, pricing, duals, query),
      walks_(work,
             [&] { return std::make_unique<PartitionWalk>(tables, pricing, duals, query_); }) {}

PartitionPricing::Found PartitionEnumeration::run() {
  --steps_;
  add_alone();
  const std::size_t first = query_.first;
  bool complete = firsts(first, tables_.size());
  if (complete && first > 0) complete = firsts(0, first);
  keep_best(found_, query_.most);
  return {.partitions = std::move(found_), .complete = complete, .next = next_};
}

/// What fits SRAM by itself alone.
void PartitionEnumeration::add_alone() {
  std::vector<PartitionColumn> all;
  for (std::size_t p = 0; p < tables_.size(); ++p) {
    const KernelCosts& kernel = tables_.kernel(p);
    if (!kernel.lonely || !kernel.escapes) continue;
    if (!pricing_.exchanges().empty() && tables_.order().first_alike()[p] != p) continue;
    PartitionColumn alone = pricing_.alone(p, duals_);
    if (alone.excess > threshold_) all.push_back(std::move(alone));
  }
  keep(std::move(all));
}

/// The sets whose first kernel has one of these places.  Whether the steps sufficed.
bool PartitionEnumeration::firsts(std::size_t begin, std::size_t end) {
  std::vector<std::size_t> places;
  const auto find = [&] { return at_once_ == 1 ? one_first(places.front()) : some_firsts(places); };
  for (std::size_t place = begin; place < end; ++place) {
    if (!walk_.go_to(place) || !walk_.may_exceed(threshold_)) break;
    if (!walk_.is_open(place)) continue;
    places.push_back(place);
    if (places.size() < at_once_) continue;
    if (!find() || found_.size() >= query_.enough) return false;
    places.clear();
  }
  return places.empty() ? steps_ >= 0 : find();
}

bool PartitionEnumeration::one_first(std::size_t place) {
  auto found = walk_.find(place, threshold_, walk_.relaxations(), steps_);
  steps_ -= found.steps;
  next_ = (place + 1) % tables_.size();
  keep(std::move(found.partitions));
  return steps_ >= 0;
}

bool PartitionEnumeration::some_firsts(const std::vector<std::size_t>& places) {
  const FineTicks threshold = threshold_;  // of all of them, though it rises meanwhile
  const ExcessBound::Relaxations before = walk_.relaxations();
  ExcessBound::Relaxations after = before;
  const bool sufficed = walks_.run(
      places.size(), steps_,
      [&](PartitionWalk& walk, std::size_t i, std::int64_t steps) {
        return walk.find(places[i], threshold, before, steps);
      },
      [&](std::size_t i, PartitionWalk::Found&& found) {
        next_ = (places[i] + 1) % tables_.size();
        if (found.relaxations != before) after = std::move(found.relaxations);
        keep(std::move(found.partitions));
      });
  walk_.use(after);
  return sufficed;
}

void PartitionEnumeration::keep(std::vector<PartitionColumn>&& partitions) {
  found_.insert(found_.end(), std::make_move_iterator(partitions.begin()),
                std::make_move_iterator(partitions.end()));
  if (found_.size() < 4 * query_.most) return;
  keep_best(found_, query_.most);
  threshold_ = std::max(threshold_, found_.back().excess);
}

}  // namespace dfsearch
