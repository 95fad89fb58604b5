// A best-first search in one thread, without ties: the engine's branch and bound
// in its smallest form, for use inside an expansion.

#include "engine/fusion/relaxed_fusion.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/fusion/lazy_duals.hpp"
#include "engine/fusion/segment_fusion.hpp"
#include "engine/fusion/transpositions.hpp"

namespace dfsearch {
namespace {

class Search final : public FusionSink {
 public:
  Search(const FusionTables& tables, Ticks limit)
      : search_(tables),
        lazy_(tables),
        seen_(search_, tables.bounds(), tables.allowance()),
        limit_(limit) {}

  RelaxedFusion run(std::int64_t steps) {
    child(search_.root());
    for (int nodes = 0; !heap_.empty(); steps -= kStepsPerNode) {
      std::pop_heap(heap_.begin(), heap_.end(), later);
      const FusionNode node = std::move(heap_.back());
      heap_.pop_back();
      if (node.bound > limit_) break;
      if (steps <= 0) {
        // Duals may bound all open nodes above the best fusion met: then its time is the bound.
        found_.bound = std::min(bound(node), found_.fusion ? found_.fusion->time : kNever);
        for (const FusionNode& open : heap_) found_.bound = std::min(found_.bound, bound(open));
        return std::move(found_);
      }
      if (!node.opened && seen_.superseded(node)) continue;
      look_for_duals(++nodes);
      search_.branch(node, kStepsPerNode, *this, duals_);
    }
    if (found_.fusion) found_.bound = found_.fusion->time;
    return std::move(found_);
  }

  [[nodiscard]] Ticks limit() const override { return limit_; }

  void child(FusionNode&& node) override {
    if (node.bound > limit_ || (!node.opened && !seen_.admit(node))) return;
    heap_.push_back(std::move(node));
    std::push_heap(heap_.begin(), heap_.end(), later);
  }

  void complete(Fusion&& fusion) override {
    if (fusion.time > limit_) return;
    limit_ = fusion.time - 1;  // from now on only better ones
    found_.fusion = std::move(fusion);
  }

 private:
  static constexpr std::int64_t kStepsPerNode = 1000;
  static constexpr int kNodesBeforeDuals = 50;
  // Later ones would take longer than all nodes.
  static constexpr int kMostAttempts = 6;

  void look_for_duals(int nodes) {
    if (lazy_.are_alike()) {
      // Better ones before each node but the first, unless they take more than the first attempt that
      // nodes make due.
      const int most =
          std::max(kMostAttempts, LazyDuals::attempts_due(1, 1, search_.order().size()));
      const PartitionDuals* next = nodes > 1 ? lazy_.next(duals_, most, true) : nullptr;
      if (next != nullptr) duals_ = next;
      return;
    }
    const int due = LazyDuals::attempts_due(nodes, kNodesBeforeDuals, search_.order().size());
    const auto found = lazy_.after(std::min(due, kMostAttempts));
    duals_ = found.duals;
  }

  [[nodiscard]] Ticks bound(const FusionNode& node) const {
    return duals_ != nullptr ? std::max(node.bound, search_.bound(node, *duals_)) : node.bound;
  }

  /// Least bound first, among equal bounds what is further.
  static bool later(const FusionNode& a, const FusionNode& b) {
    return a.bound != b.bound ? a.bound > b.bound : a.used < b.used;
  }

  const FusionTree search_;
  LazyDuals lazy_;
  const PartitionDuals* duals_ = nullptr;  // once they are found
  Transpositions seen_;
  Ticks limit_;
  std::vector<FusionNode> heap_;
  RelaxedFusion found_;
};

}  // namespace

RelaxedFusion relaxed_fusion(const FusionTables& tables, Ticks limit, std::int64_t steps) {
  Search search(tables, limit);
  if (tables.bounds().use(SearchBound::Segments)) {
    if (auto segments = best_segments(tables)) search.complete(std::move(*segments));
  }
  return search.run(steps);
}

}  // namespace dfsearch
