// A greedy path decomposition: the next kernel is one that widens the frontier least.  In a tree
// the width of the frontier is at most the depth of the tree; each hub adds 1.

#include "engine/duals/path_decomposition.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <utility>

namespace dfsearch {
namespace {

constexpr std::size_t kWidest = 12;
constexpr std::size_t kStates = std::size_t{1} << 18;  // limit of states of all frontiers

class PathBuilder {
 public:
  PathBuilder(const FusionTables& tables, const KernelSet& kernels, std::size_t widest)
      : tables_(tables),
        kernels_(kernels),
        widest_(widest),
        waiting_(tables.size()),
        bit_of_(tables.size()),
        is_decided_(tables.size()),
        growth_(tables.size()) {
    kernels.for_each([&](std::size_t p) {
      const auto count = [&](const Arc& arc) { waiting_[p] += kernels.contains(arc.other); };
      std::for_each(tables.inputs(p).begin(), tables.inputs(p).end(), count);
      std::for_each(tables.outputs(p).begin(), tables.outputs(p).end(), count);
    });
    kernels.for_each([&](std::size_t p) {
      growth_[p] = growth(p);
      left_.emplace(growth_[p], p);
    });
  }

  std::optional<PathDecomposition> find() {
    while (!left_.empty()) {
      tables_.deadline().check();
      const std::size_t kernel = left_.begin()->second;
      left_.erase(left_.begin());
      if (!decide(kernel)) return std::nullopt;
      update_growth_around(kernel);
    }
    return std::move(path_);
  }

 private:
  template <class Visit>
  void for_each_arc(std::size_t p, Visit visit) const {
    for (const Arc& arc : tables_.inputs(p)) visit(arc, true);
    for (const Arc& arc : tables_.outputs(p)) visit(arc, false);
  }

  /// Increase of the frontier's width by the kernel.
  [[nodiscard]] std::int64_t growth(std::size_t p) const {
    std::int64_t open = 0;
    std::int64_t freed = 0;
    for_each_arc(p, [&](const Arc& arc, bool) {
      if (!kernels_.contains(arc.other)) return;
      open += !is_decided_[arc.other];
      freed += is_decided_[arc.other] && waiting_[arc.other] == 1;
    });
    return (open > 0 ? 1 : 0) - freed;
  }

  /// Updates the growth of all kernels that this decision may affect: neighbours of the kernel, and
  /// the last undecided neighbour of the kernel or of a decided neighbour.
  void update_growth_around(std::size_t decided) {
    const auto update_neighbours = [&](std::size_t p) {
      for_each_arc(p, [&](const Arc& arc, bool) { update_growth(arc.other); });
    };
    update_neighbours(decided);
    for_each_arc(decided, [&](const Arc& arc, bool) {
      if (is_decided_[arc.other] && waiting_[arc.other] == 1) update_neighbours(arc.other);
    });
  }
  void update_growth(std::size_t p) {
    if (is_decided_[p] || !kernels_.contains(p)) return;
    const std::int64_t now = growth(p);
    if (now == growth_[p]) return;
    left_.erase({growth_[p], p});
    growth_[p] = now;
    left_.emplace(now, p);
  }

  /// Appends the step that decides the kernel.  Returns false if there are not enough bits.
  bool decide(std::size_t p) {
    DecompositionStep step{.kernel = p,
                           .bit = 0,
                           .present = used_,
                           .leaving = 0,
                           .links = {},
                           .memory = tables_.kernel(p).explicit_memory,
                           .sram = tables_.kernel(p).weight};
    const auto free = static_cast<std::size_t>(std::countr_one(used_));
    if (free >= widest_) return false;
    path_.width = std::max(path_.width, free + 1);
    step.bit = std::uint32_t{1} << free;
    used_ |= step.bit;
    bit_of_[p] = step.bit;
    is_decided_[p] = true;
    for_each_arc(p, [&](const Arc& arc, bool is_input) {
      const bool is_inside = kernels_.contains(arc.other);
      if (!is_inside) step.memory += arc.transfer;
      if (!is_inside || !is_decided_[arc.other]) {
        step.sram += arc.streamed;
        return;
      }
      step.links.push_back({arc, bit_of_[arc.other], is_input});
      --waiting_[p];
      if (--waiting_[arc.other] == 0) step.leaving |= bit_of_[arc.other];
    });
    if (waiting_[p] == 0) step.leaving |= step.bit;
    used_ &= ~step.leaving;
    path_.steps.push_back(std::move(step));
    return true;
  }

  const FusionTables& tables_;
  const KernelSet& kernels_;
  const std::size_t widest_;
  std::vector<std::int64_t> waiting_;  // per kernel: tensors from or to undecided kernels
  std::vector<std::uint32_t> bit_of_;
  std::vector<bool> is_decided_;
  std::vector<std::int64_t> growth_;                     // of the undecided kernels
  std::set<std::pair<std::int64_t, std::size_t>> left_;  // undecided, by growth
  std::uint32_t used_ = 0;
  PathDecomposition path_;
};

}  // namespace

std::optional<PathDecomposition> path_decomposition(const FusionTables& tables,
                                                    const KernelSet& kernels, std::size_t widest) {
  return PathBuilder(tables, kernels, widest).find();
}

std::optional<std::vector<GroupDecomposition>> path_decompositions(const FusionTables& tables) {
  const PartitionRules rules(tables);
  std::map<std::pair<bool, bool>, KernelSet> sharing;
  for (std::size_t p = 0; p < tables.size(); ++p) {
    const KernelCosts& kernel = tables.kernel(p);
    if (kernel.lonely) continue;
    const bool backward = kernel.backward && !tables.phases_mix();
    sharing.try_emplace({backward, kernel.repeats}, tables.size()).first->second.insert(p);
  }
  std::vector<GroupDecomposition> paths;
  for (const auto& [kind, kernels] : sharing) {
    auto path = path_decomposition(tables, kernels, kWidest);
    if (!path || (path->steps.size() << path->width) > kStates) return std::nullopt;
    paths.push_back({.path = std::move(*path), .group = rules.group(kind.first)});
  }
  return paths;
}

}  // namespace dfsearch
