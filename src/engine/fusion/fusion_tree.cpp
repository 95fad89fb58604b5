// The enumeration of the next partition.
//
// A node is an order ideal (all kernels of closed partitions) and its time.  The next partition is
// any set of kernels that, added to the ideal, makes an ideal again.  Such sets are enumerated by
// deciding one ready kernel after the other, in topological order: put it in, or keep it out, which
// keeps all its descendants out.  Every set comes up exactly once, and each decision costs time in
// proportion to the tensors of the kernel:
//
//   - SRAM and the number of kernels never fall when a kernel is put in, and a partition never
//     mixes kernels that repeat with others.  So a kernel that does not fit now stays out for good.
//   - Memory time may fall, so it bounds nothing until the set is closed, except for the tensors
//     that are sure to cross: loads from closed partitions and stores to kernels that stay out.
//   - A partial set is cut when the time spent, the time of the kernels inside and the bound of the
//     kernels outside are together above the limit.
//
// The enumeration is compared with brute force over all assignments in tests/engine/solve_test.cpp.

#include "engine/fusion/fusion_tree.hpp"

#include <algorithm>
#include <utility>

#include "engine/fusion/open_partition.hpp"
#include "model/step/step_time.hpp"

namespace dfsearch {
namespace {

constexpr std::int64_t kStepsBetweenStops = 4096;
constexpr Work kWordsOfDecision = 200;  // plus a part for copies of sets of kernels
constexpr Work kWordsOfKernel = 24;     // per kernel, for each node

class PartitionBranching {
 public:
  PartitionBranching(const FusionTree& search, const FusionTables& tables,
                     const PartitionRules& rules, const FusionNode& node, FusionSink& sink,
                     const PartitionDuals* duals)
      : search_(search),
        tables_(tables),
        rules_(rules),
        node_(node),
        sink_(sink),
        duals_(duals),
        rest_(search.rest(node)),
        unplaced_(rules.unplaced(node.done)),
        partition_(tables, node.done, duals),
        bounds_partial_(tables.bounds().use(SearchBound::Partial)),
        bound_(node.bound),
        words_of_decision_(kWordsOfDecision + static_cast<Work>(tables.size() / 4)),
        step_(1 + static_cast<std::int64_t>(tables.size() / 64)),
        deadline_(tables.deadline(), kStepsBetweenStops) {
    branched_.work = kWordsOfKernel * static_cast<Work>(tables.size());
    find_exchanges();
    if (duals == nullptr) return;
    dual_ = duals->of_rest(node.done);
    bound_ = std::max(node.bound, search.bound(node, *duals));
  }

  FusionTree::Branched run(std::int64_t budget) {
    budget_ = budget;
    for (const PartitionSlot& slot : rules_.slots(node_.next_index, unplaced_)) {
      if (node_.opened && slot.index != node_.opened->index) continue;
      slot_ = slot;
      const std::size_t mark = partition_.mark();
      keep_out_by_rules();
      if (node_.opened) resume(*node_.opened);
      decide(0);
      partition_.undo_to(mark);
    }
    return branched_;
  }

  /// The bound of the node itself, whose partition may be open.
  Ticks bound() {
    if (!node_.opened) return bound_;
    for (const PartitionSlot& slot : rules_.slots(node_.next_index, unplaced_)) {
      if (slot.index == node_.opened->index) slot_ = slot;
    }
    keep_out_by_rules();
    resume(*node_.opened);
    return partial_bound();
  }

 private:
  /// Collects the exchanges that map the ideal onto itself, for the later kernel of each pair.
  void find_exchanges() {
    if (tables_.order().exchanges().empty()) return;
    exchanges_.resize(tables_.size());
    for (const KernelPairs& exchange : tables_.order().exchanges()) {
      const bool leaves = std::all_of(exchange.begin(), exchange.end(), [this](const auto& pair) {
        return node_.done.contains(pair.first) == node_.done.contains(pair.second);
      });
      if (!leaves) continue;
      for (const auto& [earlier, later] : exchange) {
        if (!node_.done.contains(later)) exchanges_[later].push_back(&exchange);
      }
    }
  }

  /// Whether, with this kernel inside, some exchange maps the partition in the making onto a set
  /// that comes before it: at the first pair where both differ, that set has the earlier kernel.
  [[nodiscard]] bool comes_later(std::size_t kernel) const {
    const auto inside = [&](std::size_t p) { return p == kernel || partition_.is_inside(p); };
    const auto open = [&](std::size_t p) { return p != kernel && partition_.undecided(p); };
    for (const KernelPairs* exchange : exchanges_[kernel]) {
      const auto differs = [&](const auto& pair) {
        return open(pair.first) || open(pair.second) || inside(pair.first) != inside(pair.second);
      };
      const auto first = std::find_if(exchange->begin(), exchange->end(), differs);
      // An earlier kernel that is undecided may still join.
      if (first != exchange->end() && inside(first->second) && !inside(first->first) &&
          !open(first->first)) {
        return true;
      }
    }
    return false;
  }

  /// The next kernel to decide.  Keeps out the ready kernels before it, for which comes_later() is
  /// true.
  std::size_t next_ready(std::size_t from) {
    std::size_t next = partition_.first_ready(from);
    while (!exchanges_.empty() && next < partition_.ready_end() && comes_later(next)) {
      partition_.keep_out(next);
      next = partition_.first_ready(next + 1);
    }
    return next;
  }

  void keep_out_by_rules() {
    for (std::size_t p = 0; p < tables_.size(); ++p) {
      if (!partition_.undecided(p)) continue;
      const KernelCosts& kernel = tables_.kernel(p);
      const bool phase = kernel.backward ? slot_.backward : slot_.forward;
      const bool pin = kernel.pin < 0 || (slot_.pinned > 0 && kernel.pin == slot_.index);
      if (!phase || !pin) partition_.keep_out(p);
    }
  }

  void resume(const FusionNode::Opened& opened) {
    for (auto decision = opened.last; decision; decision = decision->previous) {
      path_.push_back({.kernel = decision->kernel, .inside = decision->inside, .shared = decision});
    }
    std::reverse(path_.begin(), path_.end());
    for (const Step& step : path_) {
      if (step.inside) {
        partition_.put_in(step.kernel);
      } else if (partition_.undecided(step.kernel)) {
        partition_.keep_out(step.kernel);
      }
    }
  }

  /// Decides the first ready kernel at or after `from` both ways, then the kernels after it.  No
  /// kernel before `from` is undecided and ready, since a kernel comes after its last producer.
  void decide(std::size_t from) {
    const std::size_t mark = partition_.mark();
    decide_on(next_ready(from));
    partition_.undo_to(mark);
  }

  void decide_on(std::size_t next) {
    if (partial_bound() > sink_.limit()) return;
    if (next >= partition_.ready_end()) {
      if (!partition_.kernels().empty()) close();
      return;
    }
    deadline_.check(step_);
    branched_.work += words_of_decision_;
    if (--budget_ < 0) {
      interrupt();
      return;
    }
    const OpenPartition::Totals before = partition_.totals();
    if (partition_.fits(next)) {
      partition_.put_in(next);
      path_.push_back({.kernel = static_cast<std::uint32_t>(next), .inside = true, .shared = {}});
      decide(next + 1);
      path_.pop_back();
      partition_.take_out(next, before);
    } else {
      ++branched_.cut;
      if (partition_.kernels().empty() && tables_.kernel(next).escapes) {
        partition_.put_in(next);
        close();
        partition_.take_out(next, before);
      }
    }
    const std::size_t mark = partition_.mark();
    partition_.keep_out(next);
    path_.push_back({.kernel = static_cast<std::uint32_t>(next), .inside = false, .shared = {}});
    decide(next + 1);
    path_.pop_back();
    partition_.undo_to(mark);
  }

  /// Lower bound of all completions in which kernels inside and outside stay there.
  [[nodiscard]] Ticks partial_bound() const {
    if (!bounds_partial_) return bound_;
    const OpenPartition::Totals& inside = partition_.totals();
    const Ticks least =
        overlapped(tables_.problem().execution.overlap, inside.compute,
                   tables_.costs().with_latency(inside.sure_memory), inside.network);
    Ticks rest = least + tables_.least_time(partition_.outside());
    if (duals_ != nullptr) {
      rest =
          std::max(rest, ticks_of(partition_.dual_time() - duals_->charges(rules_, slot_.index)));
    }
    return std::max(bound_, node_.spent + rest);
  }

  [[nodiscard]] std::int64_t forward_inside() const {
    return static_cast<std::int64_t>(partition_.kernels().size()) - partition_.totals().backward;
  }

  void close() {
    const OpenPartition::Totals& inside = partition_.totals();
    if (inside.pinned != slot_.pinned) return;
    if (slot_.needs_backward && inside.backward == 0) return;
    if (inside.backward > 0 && forward_inside() < unplaced_.forward) return;
    Rest rest = rest_;
    for (const std::uint32_t p : partition_.kernels()) rest -= tables_.kernel(p).share;
    const std::int32_t next_index = slot_.index + 1;
    if (!partition_.fits_in_memory() ||
        next_index + tables_.least_partitions(rest) > rules_.most()) {
      ++branched_.cut;
      return;
    }
    Ticks after = tables_.least_time(rest);
    if (duals_ != nullptr) {
      FineTicks dual = dual_ - duals_->charges(rules_, next_index);
      for (const std::uint32_t p : partition_.kernels()) dual -= duals_->kernels[p];
      after = std::max(after, ticks_of(dual));
    }
    const Ticks time = partition_.time(sink_.limit() - node_.spent - after);
    branched_.work += partition_.allocation_work();
    const Ticks bound = std::max(bound_, node_.spent + time + after);
    if (time < kNever && bound <= sink_.limit()) emit(time, bound, next_index, rest);
  }

  void emit(Ticks time, Ticks bound, std::int32_t next_index, const Rest& rest) {
    FusionNode child;
    child.done = node_.done;
    for (const std::uint32_t p : partition_.kernels()) child.done.insert(p);
    child.spent = node_.spent + time;
    child.bound = bound;
    child.next_index = next_index;
    child.used = node_.used + 1;
    const Unplaced left = rules_.unplaced_after(unplaced_, forward_inside(),
                                                partition_.totals().backward, child.done);
    if (!rules_.open(next_index, left)) return;
    KernelList kernels(partition_.kernels());
    const std::size_t bytes = sizeof(ClosedPartition) + 2 * kAllocation + kernels.heap_bytes();
    child.closed = std::make_shared<const ClosedPartition>(
        ClosedPartition{.previous = node_.closed,
                        .kernels = std::move(kernels),
                        .index = slot_.index,
                        .memory = tables_.allowance().charge(bytes)});
    if (rest.kernels[0] + rest.kernels[1] > 0) {
      sink_.child(std::move(child));
    } else {
      sink_.complete({.time = child.spent, .partition = search_.assignment(child.closed.get())});
    }
  }

  /// Emits the subtree below as a node of its own, since the budget is spent.
  void interrupt() {
    std::shared_ptr<const Decision> last;
    for (Step& step : path_) {
      if (!step.shared) {
        step.shared = std::make_shared<const Decision>(
            Decision{.previous = last, .kernel = step.kernel, .inside = step.inside});
      }
      last = step.shared;
    }
    FusionNode child = node_;
    child.bound = partial_bound();
    child.opened = std::make_shared<const FusionNode::Opened>(
        FusionNode::Opened{.index = slot_.index, .last = std::move(last)});
    sink_.child(std::move(child));
  }

  /// A decision on the current path; `shared` is set once a node refers to it.
  struct Step {
    std::uint32_t kernel;
    bool inside;
    std::shared_ptr<const Decision> shared;
  };

  const FusionTree& search_;
  const FusionTables& tables_;
  const PartitionRules& rules_;
  const FusionNode& node_;
  FusionSink& sink_;
  const PartitionDuals* duals_;  // or null
  FineTicks dual_ = 0;           // sum of the duals of kernels that are not done
  const Rest rest_;              // before the partition
  const Unplaced unplaced_;
  OpenPartition partition_;
  const bool bounds_partial_;
  Ticks bound_;  // of the node
  PartitionSlot slot_;
  std::vector<Step> path_;
  // For each kernel the exchanges that leave the ideal as it is and have it as the later of a pair.
  std::vector<std::vector<const KernelPairs*>> exchanges_;
  const Work words_of_decision_;
  const std::int64_t step_;  // steps counted per decision: more in large graphs
  PacedDeadline deadline_;
  std::int64_t budget_ = 0;
  FusionTree::Branched branched_;
};

/// A sink for computing bounds, to which nothing is emitted.
class NoSink final : public FusionSink {
 public:
  [[nodiscard]] Ticks limit() const override { return kNever - 1; }
  void child(FusionNode&&) override {}
  void complete(Fusion&&) override {}
};

}  // namespace

FusionNode::Opened FusionNode::Opened::of(std::int32_t index, const KernelSet& inside,
                                          const KernelSet& outside) {
  Opened opened{.index = index, .last = {}};
  const auto add = [&](std::size_t kernel, bool is_inside) {
    opened.last =
        std::make_shared<const Decision>(Decision{.previous = std::move(opened.last),
                                                  .kernel = static_cast<std::uint32_t>(kernel),
                                                  .inside = is_inside});
  };
  inside.for_each([&](std::size_t kernel) { add(kernel, true); });
  outside.for_each([&](std::size_t kernel) { add(kernel, false); });
  return opened;
}

KernelSet FusionNode::Opened::decided(bool inside, std::size_t kernels) const {
  KernelSet set(kernels);
  for (const Decision* decision = last.get(); decision != nullptr;
       decision = decision->previous.get()) {
    if (decision->inside == inside) set.insert(decision->kernel);
  }
  return set;
}

FusionTree::FusionTree(const FusionTables& tables) : tables_(tables), rules_(tables) {}

FusionNode FusionTree::root() const {
  FusionNode node;
  node.done = KernelSet(tables_.size());
  node.spent = tables_.weight_loads();
  node.bound = node.spent + tables_.least_time(rest(node));
  return node;
}

Rest FusionTree::rest(const FusionNode& node) const {
  Rest rest;
  for (std::size_t p = 0; p < tables_.size(); ++p) {
    if (!node.done.contains(p)) rest += tables_.kernel(p).share;
  }
  return rest;
}

Ticks FusionTree::bound(const FusionNode& node, const PartitionDuals& duals) const {
  return node.spent + ticks_of(duals.of_rest(node.done) - duals.charges(rules_, node.next_index));
}

Ticks FusionTree::bound_anew(const FusionNode& node, const PartitionDuals* duals) const {
  FusionNode unbounded = node;
  unbounded.bound = node.spent + tables_.least_time(rest(node));
  NoSink sink;
  return PartitionBranching(*this, tables_, rules_, unbounded, sink, duals).bound();
}

FusionTree::Branched FusionTree::branch(const FusionNode& node, std::int64_t budget,
                                        FusionSink& sink, const PartitionDuals* duals) const {
  return PartitionBranching(*this, tables_, rules_, node, sink, duals).run(budget);
}

bool FusionTree::contains(const FusionNode& node, const Fusion& fusion) const {
  const auto index = [&](std::size_t p) { return fusion.partition[tables_.id(p).index()]; };
  // Walks from the last closed partition to the first: the kernels of each must be exactly one
  // partition of the fusion and come before all kernels that are not done.
  std::int64_t next = kNever;
  for (std::size_t p = 0; p < tables_.size(); ++p) {
    if (!node.done.contains(p)) next = std::min(next, index(p));
  }
  if (node.opened) {
    for (const Decision* decision = node.opened->last.get(); decision != nullptr;
         decision = decision->previous.get()) {
      if (decision->inside) {
        if (index(decision->kernel) != next) return false;
        continue;
      }
      bool out = true;  // whether it and all that depend on it are out
      tables_.descendants(decision->kernel).for_each([&](std::size_t p) {
        out = out && index(p) != next;
      });
      if (!out) return false;
    }
  }
  for (auto closed = node.closed.get(); closed != nullptr; closed = closed->previous.get()) {
    const std::int64_t last = index(*closed->kernels.begin());
    bool same = last < next;
    for (std::size_t p = 0; p < tables_.size(); ++p) {
      same = same && (index(p) == last) == closed->kernels.contains(p);
    }
    if (!same) return false;
    next = last;
  }
  return true;
}

std::vector<std::int64_t> FusionTree::assignment(const ClosedPartition* closed) const {
  std::vector<std::int64_t> partition(tables_.size(), -1);
  for (; closed != nullptr; closed = closed->previous.get()) {
    for (const std::uint32_t p : closed->kernels) partition[tables_.id(p).index()] = closed->index;
  }
  return partition;
}

}  // namespace dfsearch
