// The assignment of kernels to partitions.
//
//   A[k,p]    kernel k is in partition p          H[k,p]  k is in one of 0..p
//   B[e,p]    both ends of tensor e are in p      D[e,p]  exactly one end is
//   P[p]      p belongs to the backward phase     R[p]    p holds kernels that repeat
//   U[p]      p holds a kernel
//
// Only A is integer: with A decided, every other column has one value left, or an interval that
// contains a whole number and affects no other row.  Unnecessary columns are left out: A outside
// the pin or half of a kernel, B where the ends cannot meet, P, R and U where no row uses them.
// docs/milp.md numbers the rows and proves them.

#include "milp/fusion_matrices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "model/layer/layer_costs.hpp"
#include "model/layer/lone_kernel.hpp"
#include "model/mapping_rules.hpp"

namespace dfsearch {
namespace {

bool kernel_by_kernel(const Problem& problem) {
  return problem.execution.style == Style::KernelByKernel;
}

std::optional<std::int64_t> pin(const Problem& problem, std::size_t kernel) {
  const auto& pins = problem.execution.pins;
  return pins.empty() ? std::nullopt : pins[kernel];
}

class MatrixBuilder {
 public:
  MatrixBuilder(const Problem& problem, const LayerCosts& costs, const MilpNames& names,
                LinearModel& model)
      : problem_(problem),
        graph_(problem.workload.graph),
        costs_(costs),
        names_(names),
        model_(model),
        kernel_by_kernel_(kernel_by_kernel(problem)),
        separate_(graph_.has_backward() && !kernel_by_kernel_ &&
                  problem.equations.phases == SplitPhases::Separate),
        partitions_(useful_partitions(problem)) {
    find_lonely();
    for (std::size_t k = 0; k < kernels(); ++k) ranges_.push_back(range(k));
  }

  FusionMatrices build() && {
    add_assignment();
    add_order();
    add_phases();
    add_repeats();
    add_tensors();
    add_lonely();
    add_compaction();
    return {.partitions = partitions_,
            .a = std::move(a_),
            .h = std::move(h_),
            .b = std::move(b_),
            .d = std::move(d_),
            .lonely = std::move(lonely_)};
  }

 private:
  using Range = std::pair<std::int64_t, std::int64_t>;

  [[nodiscard]] std::size_t kernels() const { return graph_.kernel_count(); }
  [[nodiscard]] std::size_t tensors() const { return graph_.tensor_count(); }
  [[nodiscard]] const std::string& name(std::size_t kernel) const {
    return names_.of(KernelId(kernel));
  }
  [[nodiscard]] bool backward(std::size_t kernel) const {
    return graph_.kernels()[kernel].phase == Phase::Backward;
  }

  [[nodiscard]] Range range(std::size_t kernel) const {
    std::int64_t first = 0;
    std::int64_t last = partitions_ - 1;
    if (kernel_by_kernel_) {
      const auto order = graph_.topological_order();
      first = last = std::find(order.begin(), order.end(), KernelId(kernel)) - order.begin();
    } else if (backward(kernel)) {
      first = phase_ranges(problem_, partitions_).first_backward;
    } else {
      last = phase_ranges(problem_, partitions_).last_forward;
    }
    if (const auto pinned = pin(problem_, kernel)) {
      first = std::max(first, *pinned);
      last = std::min(last, *pinned);
    }
    return {first, last};
  }

  /// Finds kernels that overflow SRAM but fit alone in a partition (docs/model.md (32)).
  void find_lonely() {
    lonely_.assign(kernels(), false);
    const Bytes sram = problem_.system.accelerator.sram;
    for (std::size_t k = 0; k < kernels(); ++k) {
      lonely_[k] = lone_kernel(problem_, costs_, KernelId(k)).fits_in_pieces(sram);
    }
  }

  /// (1) Every kernel is in one partition, and (2) H is 1 from this partition on.
  void add_assignment() {
    a_.resize(kernels());
    h_.resize(kernels());
    for (std::size_t k = 0; k < kernels(); ++k) {
      const auto [first, last] = ranges_[k];
      LinearSum all;
      for (std::int64_t p = 0; p < partitions_; ++p) {
        Affine entry;
        if (p >= first && p <= last) {
          const std::string column = fmt::format("A[{},{}]", name(k), p);
          entry = first == last ? model_.add_fixed(column, 1.0) : model_.add_binary(column);
        }
        a_[k].push_back(entry);
        all.add(1.0, entry);
      }
      model_.add_row(fmt::format("assign[{}]", name(k)), all, Sense::Equal, 1.0);
      for (std::int64_t p = 0; p < partitions_; ++p) {
        if (p < first || p >= last) {
          h_[k].push_back({.constant = p < first ? 0.0 : 1.0});
          continue;
        }
        const Affine entry = model_.add_continuous(fmt::format("H[{},{}]", name(k), p));
        LinearSum sum;
        sum.add(1.0, entry).add(-1.0, entry_of(a_, k, p));
        if (p > first) sum.add(-1.0, entry_of(h_, k, p - 1));
        model_.add_row(fmt::format("until[{},{}]", name(k), p), sum, Sense::Equal, 0.0);
        h_[k].push_back(entry);
      }
    }
  }

  /// (3) A consumer is in no earlier partition than its producer.
  void add_order() {
    std::set<std::pair<std::size_t, std::size_t>> pairs;
    for (const Tensor& tensor : graph_.tensors()) {
      pairs.emplace(tensor.from.index(), tensor.to.index());
    }
    for (const auto& [from, to] : pairs) {
      for (std::int64_t p = 0; p < partitions_; ++p) {
        model_.add_row(fmt::format("order[{},{},{}]", name(from), name(to), p),
                       {{1.0, entry_of(h_, to, p)}, {-1.0, entry_of(h_, from, p)}}, Sense::AtMost,
                       0.0);
      }
    }
  }

  /// (4) Separate phases: some partition is the first of the backward phase.
  void add_phases() {
    if (!separate_) return;
    const auto is_forward = [this](std::size_t k) { return !backward(k); };
    std::vector<std::size_t> order(kernels());
    std::iota(order.begin(), order.end(), std::size_t{0});
    if (std::none_of(order.begin(), order.end(), is_forward)) return;
    for (std::int64_t p = 0; p < partitions_; ++p) {
      const Affine begun = model_.add_continuous(fmt::format("P[{}]", p));
      for (const std::size_t k : order) {
        LinearSum sum;
        if (backward(k)) {
          sum.add(1.0, entry_of(h_, k, p)).add(-1.0, begun);
        } else {
          sum.add(1.0, begun).add(-1.0, entry_of(h_, k, p - 1));
        }
        model_.add_row(fmt::format("phase[{},{}]", name(k), p), sum, Sense::AtMost, 0.0);
      }
    }
  }

  [[nodiscard]] bool repeats(std::size_t k) const { return graph_.kernels()[k].repeat > 1; }

  /// (5) Kernels with a repeat and kernels without do not mix.
  void add_repeats() {
    if (kernel_by_kernel_) return;
    std::size_t count = 0;
    for (std::size_t k = 0; k < kernels(); ++k) count += repeats(k) ? 1U : 0U;
    if (count == 0 || count == kernels()) return;
    for (std::int64_t p = 0; p < partitions_; ++p) {
      const Affine repeat = model_.add_continuous(fmt::format("R[{}]", p));
      for (std::size_t k = 0; k < kernels(); ++k) {
        model_.add_row(fmt::format("repeat[{},{}]", name(k), p),
                       {{1.0, entry_of(a_, k, p)}, {repeats(k) ? -1.0 : 1.0, repeat}},
                       Sense::AtMost, repeats(k) ? 0.0 : 1.0);
      }
    }
  }

  [[nodiscard]] bool may_meet(std::size_t u, std::size_t v) const {
    return !lonely_[u] && !lonely_[v] && repeats(u) == repeats(v) &&
           !(separate_ && backward(u) != backward(v));
  }

  /// (6) B is the product of A at both ends, (7) D the sum of both less 2 B.
  void add_tensors() {
    b_.resize(tensors());
    d_.resize(tensors());
    for (std::size_t t = 0; t < tensors(); ++t) {
      const std::size_t u = graph_.tensors()[t].from.index();
      const std::size_t v = graph_.tensors()[t].to.index();
      const std::string& tensor = names_.of(TensorId(t));
      for (std::int64_t p = 0; p < partitions_; ++p) {
        const Affine from = entry_of(a_, u, p);
        const Affine to = entry_of(a_, v, p);
        const bool both = from.column != Affine::kNone && to.column != Affine::kNone;
        b_[t].push_back(both && may_meet(u, v) ? add_product(tensor, p, from, to) : Affine{});
        if (from.column == Affine::kNone && to.column == Affine::kNone) {
          d_[t].push_back({});
          continue;
        }
        const Affine crossing = model_.add_continuous(fmt::format("D[{},{}]", tensor, p));
        model_.add_row(fmt::format("crossing[{},{}]", tensor, p),
                       {{1.0, crossing}, {-1.0, from}, {-1.0, to}, {2.0, b_[t].back()}},
                       Sense::Equal, 0.0);
        d_[t].push_back(crossing);
      }
    }
  }

  Affine add_product(const std::string& tensor, std::int64_t p, Affine from, Affine to) {
    const Affine both = model_.add_continuous(fmt::format("B[{},{}]", tensor, p));
    for (const auto& [row, end] : {std::pair{"inside_from", from}, std::pair{"inside_to", to}}) {
      model_.add_row(fmt::format("{}[{},{}]", row, tensor, p), {{1.0, both}, {-1.0, end}},
                     Sense::AtMost, 0.0);
    }
    model_.add_row(fmt::format("inside[{},{}]", tensor, p), {{1.0, both}, {-1.0, from}, {-1.0, to}},
                   Sense::AtLeast, -1.0);
    return both;
  }

  /// (8) A kernel that overflows SRAM has a partition of its own.
  void add_lonely() {
    if (std::none_of(lonely_.begin(), lonely_.end(), [](bool lonely) { return lonely; })) return;
    for (std::int64_t p = 0; p < partitions_; ++p) {
      LinearSum alone;
      for (std::size_t k = 0; k < kernels(); ++k) {
        if (lonely_[k]) alone.add(1.0, entry_of(a_, k, p));
      }
      model_.add_row(fmt::format("alone[{}]", p), alone, Sense::AtMost, 1.0);
      for (std::size_t k = 0; k < kernels(); ++k) {
        if (lonely_[k] || entry_of(a_, k, p).column == Affine::kNone || alone.terms().empty())
          continue;
        LinearSum sum = alone;
        sum.add(1.0, entry_of(a_, k, p));
        model_.add_row(fmt::format("alone[{},{}]", name(k), p), sum, Sense::AtMost, 1.0);
      }
    }
  }

  /// (9) No partition is empty before one whose kernels could all move up, since that would be the
  /// same mapping with other indices.
  void add_compaction() {
    for (std::int64_t p = 0; p + 1 < partitions_; ++p) {
      std::vector<std::size_t> next;
      LinearSum used;
      bool movable = true;
      for (std::size_t k = 0; k < kernels(); ++k) {
        used.add(-1.0, entry_of(a_, k, p));
        const auto [first, last] = ranges_[k];
        if (p + 1 < first || p + 1 > last) continue;
        next.push_back(k);
        movable = movable && p >= first;
      }
      if (!movable || next.empty()) continue;
      const Affine in_use = model_.add_continuous(fmt::format("U[{}]", p));
      model_.add_row(fmt::format("in_use[{}]", p), used.add(1.0, in_use), Sense::AtMost, 0.0);
      for (const std::size_t k : next) {
        model_.add_row(fmt::format("compact[{},{}]", name(k), p + 1),
                       {{1.0, entry_of(a_, k, p + 1)}, {-1.0, in_use}}, Sense::AtMost, 0.0);
      }
    }
  }

  const Problem& problem_;
  const DataflowGraph& graph_;
  const LayerCosts& costs_;
  const MilpNames& names_;
  LinearModel& model_;
  bool kernel_by_kernel_;
  bool separate_;
  std::int64_t partitions_;
  std::vector<bool> lonely_;
  std::vector<Range> ranges_;  // per kernel: first and last partition
  MilpMatrix a_, h_, b_, d_;
};

}  // namespace

// Empty partitions can be closed up, unless pins or halves prevent it.
std::int64_t useful_partitions(const Problem& problem) {
  const std::int64_t limit = problem.partition_limit();
  if (kernel_by_kernel(problem) || has_halves(problem)) return limit;
  const auto kernels = static_cast<std::int64_t>(problem.workload.graph.kernel_count());
  std::int64_t last_pin = -1;
  for (std::size_t k = 0; k < problem.workload.graph.kernel_count(); ++k) {
    last_pin = std::max(last_pin, pin(problem, k).value_or(-1));
  }
  return std::min(limit, last_pin + 1 + kernels);
}

FusionMatrices add_fusion_matrices(const Problem& problem, const LayerCosts& costs,
                                   const MilpNames& names, LinearModel& model) {
  return MatrixBuilder(problem, costs, names, model).build();
}

}  // namespace dfsearch
