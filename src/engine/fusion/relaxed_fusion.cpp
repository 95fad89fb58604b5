// A best-first search in one thread, without ties: the engine's branch and bound
// in its smallest form, for use inside an expansion.

#include "engine/fusion/relaxed_fusion.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/fusion/segment_fusion.hpp"
#include "engine/fusion/transpositions.hpp"

namespace dfsearch {
namespace {

class Search final : public FusionSink {
 public:
  Search(const FusionTables& tables, Ticks limit)
      : search_(tables), seen_(search_, tables.bounds(), tables.allowance()), limit_(limit) {}

  RelaxedFusion run(std::int64_t steps) {
    child(search_.root());
    for (; !heap_.empty(); steps -= kStepsPerNode) {
      std::pop_heap(heap_.begin(), heap_.end(), later);
      const FusionNode node = std::move(heap_.back());
      heap_.pop_back();
      if (node.bound > limit_) break;
      if (steps <= 0) {
        found_.bound = node.bound;
        return std::move(found_);
      }
      if (!node.opened && seen_.superseded(node)) continue;
      search_.branch(node, kStepsPerNode, *this);
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
  /// Least bound first, among equal bounds the node with most partitions.
  static bool later(const FusionNode& a, const FusionNode& b) {
    return a.bound != b.bound ? a.bound > b.bound : a.used < b.used;
  }

  const FusionTree search_;
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
