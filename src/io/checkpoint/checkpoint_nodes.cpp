// Packed nodes:
//
//   chain    each closed partition once, after its predecessor; nodes in
//            memory, written or read, share these chains, too
//   loops    the loops that are left to each kernel, once for all nodes with
//            the same loops
//   nodes    bound, outer point, sharding, and the state of the fusion
//
// Sets of kernels hold positions of engine/tables/kernel_order.hpp.

#include "io/checkpoint/checkpoint_nodes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "model/machine/network_choices.hpp"

namespace dfsearch {
namespace {

// Sets of kernels.

void put_set(ByteWriter& out, const KernelSet& set, std::size_t kernels) {
  std::vector<std::uint64_t> words((kernels + 63) / 64);
  set.for_each([&](std::size_t p) { words[p / 64] |= std::uint64_t{1} << (p % 64); });
  for (const std::uint64_t word : words) out.count(word);
}

KernelSet get_set(ByteReader& in, std::size_t kernels) {
  KernelSet set(kernels);
  for (std::size_t first = 0; first < kernels; first += 64) {
    const std::uint64_t word = in.count();
    for (std::size_t bit = 0; bit < 64; ++bit) {
      if ((word >> bit & 1) == 0) continue;
      if (first + bit >= kernels) throw BadBytes();
      set.insert(first + bit);
    }
  }
  return set;
}

// Sets of loops, as bits.

void put_loops(ByteWriter& out, LoopSet loops) {
  std::uint64_t bits = 0;
  for (const LoopPair loop : loops) bits |= std::uint64_t{1} << loop.index();
  out.count(bits);
}

LoopSet get_loops(ByteReader& in) {
  const std::uint64_t bits = in.count_up_to((std::uint64_t{1} << kLoopPairs) - 1);
  LoopSet loops;
  for (std::size_t l = 0; l < kLoopPairs; ++l) {
    if ((bits >> l & 1) != 0) loops.insert(LoopPair::at(l));
  }
  if (loops.size() == 0) throw BadBytes();
  return loops;
}

// Nodes.

enum NodeKind : std::uint64_t { kRoot, kNetwork, kPoint, kFusion, kOpenedFusion };

std::int32_t get_index(ByteReader& in) {
  const std::int64_t value = in.integer();
  // Partitions are at most a million (docs/formats.md), far fewer than the limit.
  if (value < 0 || value > (1 << 30)) throw BadBytes();
  return static_cast<std::int32_t>(value);
}

Ticks get_ticks(ByteReader& in) {
  const std::int64_t value = in.integer();
  if (value < 0 || value > kNever) throw BadBytes();
  return value;
}

}  // namespace

Score checked_bound(double bound, const std::string& of) {
  if (bound >= 0.0 && bound < std::numeric_limits<double>::infinity()) return Score(bound);
  throw BadBytes(fmt::format("the bound of {} is {}, expected a finite number from 0", of, bound));
}

std::uint64_t number_of(LoopPair loop) { return loop.index(); }

void NodeWriter::put(const MappingProblem::Node& node) {
  const FusionNode& fusion = node.fusion;
  NodeKind kind = kRoot;
  if (node.network) kind = kNetwork;
  if (node.point) kind = kPoint;
  if (node.context) kind = fusion.opened ? kOpenedFusion : kFusion;
  nodes_.count(kind);
  nodes_.real(node.bound.in_base_units());
  if (kind == kRoot) return;
  nodes_.count(node.network ? *node.network : node.point->network);
  if (kind == kNetwork) return;
  nodes_.integer(node.point->tile);
  nodes_.integer(node.point->micro_batch);
  nodes_.count(node.point->spilled ? 1 : 0);
  static const LoopSets kNone;
  nodes_.count(number_of(node.context    ? node.context->tables.decisions().sharding
                         : node.sharding ? *node.sharding
                                         : kNone));
  if (kind == kPoint) return;
  nodes_.count(number_of(fusion.closed.get()));
  nodes_.integer(fusion.spent);
  nodes_.integer(fusion.bound);
  nodes_.integer(fusion.next_index);
  if (kind == kFusion) return;
  nodes_.integer(fusion.opened->index);
  put_set(nodes_, fusion.opened->inside(kernels_), kernels_);
  put_set(nodes_, fusion.opened->outside(kernels_), kernels_);
}

/// Number of the sharding; 0 for none.
std::uint64_t NodeWriter::number_of(const LoopSets& sharding) {
  if (sharding.empty()) return 0;
  std::uint64_t& known = numbers_by_place_[&sharding];
  if (known != 0) return known;
  const auto [place, is_new] = sharding_numbers_.emplace(sharding, sharding_numbers_.size() + 1);
  if (is_new) {
    for (const LoopSet loops : sharding) put_loops(shardings_, loops);
  }
  return known = place->second;
}

/// Number of the partition, which is written after its predecessors; 0 for none.
std::uint64_t NodeWriter::number_of(const ClosedPartition* last) {
  std::vector<const ClosedPartition*> unknown;
  for (; last != nullptr && !numbers_.contains(last); last = last->previous.get()) {
    unknown.push_back(last);
  }
  std::uint64_t number = last != nullptr ? numbers_[last] : 0;
  for (; !unknown.empty(); unknown.pop_back()) {
    chain_.count(number);
    chain_.integer(unknown.back()->index);
    put_set(chain_, unknown.back()->kernels.as_set(kernels_), kernels_);
    number = numbers_.size() + 1;
    numbers_.emplace(unknown.back(), number);
  }
  return number;
}

NodeReader::NodeReader(const Problem& problem)
    : kernels_(problem.workload.graph.kernel_count()),
      networks_(network_choices(problem).size()),
      sequence_(problem.workload.sequence),
      batch_(problem.workload.global_batch),
      partitions_(problem.partition_limit()) {
  none_.done = KernelSet(kernels_);
}

void NodeReader::read_chain(std::string_view bytes, std::uint64_t length) {
  ByteReader in(bytes);
  for (std::uint64_t i = 0; i < length; ++i) {
    const Link& before = link(in.count_up_to(i));
    auto partition = std::make_shared<ClosedPartition>();
    partition->previous = before.closed;
    partition->index = get_index(in);
    const KernelSet kernels = get_set(in, kernels_);
    partition->kernels = KernelList(kernels);
    Link next{.closed = partition, .done = before.done, .used = before.used + 1};
    next.done |= kernels;
    links_.push_back(std::move(next));
  }
  if (!in.at_end()) throw BadBytes();
}

void NodeReader::read_shardings(std::string_view bytes, std::uint64_t count) {
  ByteReader in(bytes);
  for (std::uint64_t i = 0; i < count; ++i) {
    auto sharding = std::make_shared<LoopSets>();
    for (std::size_t k = 0; k < kernels_; ++k) sharding->push_back(get_loops(in));
    shardings_.push_back(std::move(sharding));
  }
  if (!in.at_end()) throw BadBytes();
}

std::vector<SearchState::Entry> NodeReader::read_nodes(std::string_view bytes,
                                                       std::uint64_t count) const {
  ByteReader in(bytes);
  std::vector<SearchState::Entry> entries;
  for (std::uint64_t i = 0; i < count; ++i) {
    MappingProblem::Node node = get_node(in);
    const Score bound = node.bound;
    entries.push_back({.bound = bound, .sequence = i, .node = std::move(node)});
  }
  if (!in.at_end()) throw BadBytes();
  return entries;
}

MappingSolution NodeReader::mapping(const std::vector<std::uint64_t>& point,
                                    const std::vector<std::uint64_t>& loops,
                                    std::vector<std::int64_t> partition) const {
  if (point.size() != 4 || loops.size() != kernels_ || partition.size() != kernels_) {
    throw BadBytes();
  }
  MappingSolution solution;
  solution.point = checked(point[0], static_cast<std::int64_t>(point[1]),
                           static_cast<std::int64_t>(point[2]), point[3]);
  for (const std::uint64_t loop : loops) {
    if (loop >= kLoopPairs) throw BadBytes();
    solution.sharding.push_back(LoopPair::at(loop));
  }
  for (const std::int64_t index : partition) {
    if (index < 0 || index >= partitions_) throw BadBytes();
  }
  solution.fusion.partition = std::move(partition);
  return solution;
}

OuterPoint NodeReader::checked(std::uint64_t network, std::int64_t tile, std::int64_t micro_batch,
                               std::uint64_t spilled) const {
  if (network >= networks_ || tile < 1 || tile > sequence_ || micro_batch < 1 ||
      micro_batch > batch_) {
    throw BadBytes();
  }
  return {.network = network, .tile = tile, .micro_batch = micro_batch, .spilled = spilled != 0};
}

MappingProblem::Node NodeReader::get_node(ByteReader& in) const {
  const std::uint64_t kind = in.count_up_to(kOpenedFusion);
  MappingProblem::Node node;
  node.bound = checked_bound(in.real(), "an open node");
  if (kind == kRoot) return node;
  const std::uint64_t network = in.count();
  if (kind == kNetwork) {
    if (network >= networks_) throw BadBytes();
    node.network = network;
    return node;
  }
  const std::int64_t tile = in.integer();
  const std::int64_t micro_batch = in.integer();
  node.point = checked(network, tile, micro_batch, in.count_up_to(1));
  const std::uint64_t sharding = in.count_up_to(shardings_.size());
  if (sharding > 0) node.sharding = shardings_[sharding - 1];
  if (kind == kPoint) return node;
  const Link& last = link(in.count_up_to(links_.size()));
  node.fusion.closed = last.closed;
  node.fusion.done = last.done;
  node.fusion.used = last.used;
  node.fusion.spent = get_ticks(in);
  node.fusion.bound = get_ticks(in);
  node.fusion.next_index = get_index(in);
  if (kind == kFusion) return node;
  const std::int32_t index = get_index(in);
  const KernelSet inside = get_set(in, kernels_);
  const KernelSet outside = get_set(in, kernels_);
  node.fusion.opened =
      std::make_shared<const FusionNode::Opened>(FusionNode::Opened::of(index, inside, outside));
  return node;
}

}  // namespace dfsearch
