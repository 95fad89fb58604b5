#include "engine/fusion/fusion_replay.hpp"

#include <algorithm>
#include <vector>

#include "engine/fusion/open_partition.hpp"

namespace dfsearch {
namespace {

std::string differs(const std::string& what, std::int64_t found, std::int64_t expected) {
  return what + " is " + std::to_string(found) + ", expected " + std::to_string(expected);
}

}  // namespace

std::optional<std::string> FusionReplay::wrong_in(const FusionNode& node) {
  std::vector<const ClosedPartition*> chain;
  for (auto closed = node.closed.get(); closed != nullptr && !after_.contains(closed);
       closed = closed->previous.get()) {
    chain.push_back(closed);
  }
  for (; !chain.empty(); chain.pop_back()) {
    const ClosedPartition& closed = *chain.back();
    FusionNode next = closed.previous ? after_.at(closed.previous.get()) : root_;
    if (auto wrong = close(closed, next)) {
      return "partition " + std::to_string(closed.index) + " " + *wrong;
    }
    after_.emplace(&closed, std::move(next));
  }
  const FusionNode& right = node.closed ? after_.at(node.closed.get()) : root_;
  if (tables_.least_partitions(tree_.rest(right)) == 0) return "nothing is left to do";
  if (!(node.done == right.done)) return "its finished kernels are not those of its partitions";
  if (node.spent != right.spent) return differs("its time so far", node.spent, right.spent);
  if (node.used != right.used) return differs("its number of partitions", node.used, right.used);
  if (node.next_index != right.next_index) {
    return differs("its next partition", node.next_index, right.next_index);
  }
  return node.opened ? check_opened(node) : std::nullopt;
}

/// Adds the partition to the node if it continues the node; else returns the reason.
FusionReplay::Wrong FusionReplay::close(const ClosedPartition& partition, FusionNode& node) const {
  const KernelSet kernels = partition.kernels.as_set(tables_.size());
  if (auto wrong = check_members(kernels, node)) return wrong;
  if (partition.kernels.size() == 0) return "has no kernel";
  const auto index = rules_.index_for(kernels, node.next_index, rules_.unplaced(node.done));
  if (!index) return "has kernels that may share no partition now";
  if (*index != partition.index) return differs("has a wrong index: it", partition.index, *index);
  OpenPartition open(tables_, node.done);
  bool fits = true;
  for (const std::uint32_t p : partition.kernels) {
    fits = fits && open.fits(p);
    open.put_in(p);
  }
  const bool escapes =
      partition.kernels.size() == 1 && tables_.kernel(*partition.kernels.begin()).escapes;
  if (!fits && !escapes) return "does not fit the chip";
  if (!open.fits_in_memory()) return "leaves more than the memory holds";
  const Ticks time = open.time(kNever - 1);
  if (time >= kNever) return "has no finite time";
  node.done |= kernels;
  node.spent += time;
  node.next_index = partition.index + 1;
  ++node.used;
  return std::nullopt;
}

/// Checks that the kernels and those done before form an order ideal of the tensors.
FusionReplay::Wrong FusionReplay::check_members(const KernelSet& kernels,
                                                const FusionNode& node) const {
  const DataflowGraph& graph = tables_.problem().workload.graph;
  Wrong wrong;
  kernels.for_each([&](std::size_t p) {
    if (node.done.contains(p)) wrong = "has " + name(p) + ", which an earlier partition has";
    for (const TensorId t : graph.inputs(tables_.id(p))) {
      const std::size_t from = tables_.order().position(graph.tensor(t).from);
      if (!node.done.contains(from) && !kernels.contains(from)) {
        wrong = "has " + name(p) + " before its producer " + name(from);
      }
    }
  });
  return wrong;
}

FusionReplay::Wrong FusionReplay::check_opened(const FusionNode& node) const {
  const FusionNode::Opened& opened = *node.opened;
  const auto slots = rules_.slots(node.next_index, rules_.unplaced(node.done));
  const auto slot = std::find_if(slots.begin(), slots.end(),
                                 [&](const PartitionSlot& s) { return s.index == opened.index; });
  if (slot == slots.end()) {
    return "its open partition has the index " + std::to_string(opened.index) +
           ", which it may not have";
  }
  OpenPartition open(tables_, node.done);
  const KernelSet inside = opened.inside(tables_.size());
  const KernelSet outside = opened.outside(tables_.size());
  Wrong wrong;
  inside.for_each([&](std::size_t p) {
    const KernelCosts& kernel = tables_.kernel(p);
    if (outside.contains(p)) wrong = name(p) + " is inside and outside at once";
    if (!(kernel.backward ? slot->backward : slot->forward) ||
        (kernel.pin >= 0 && kernel.pin != slot->index)) {
      wrong = name(p) + " may not be in it";
    }
    if (!open.fits(p)) wrong = name(p) + " does not fit beside the others";
    open.put_in(p);
  });
  outside.for_each([&](std::size_t p) {
    if (node.done.contains(p)) wrong = name(p) + " is outside and finished at once";
  });
  if (!wrong) wrong = check_members(inside, node);
  if (wrong) *wrong = "its open partition: " + *wrong;
  return wrong;
}

const std::string& FusionReplay::name(std::size_t position) const {
  return tables_.problem().workload.graph.kernel(tables_.id(position)).name;
}

}  // namespace dfsearch
