// The sharding of least bytes as a linear program; docs/milp.md, section 3.
//
//   S[k,l]        kernel k shards loop l
//   Z[e,l,m]      tensor e = u,v leaves u sharded on l and reaches v sharded on m
//   Y[e,w]        the value that tensor e is the first to carry is converted to layout w
//
// Z is the product of two choices, stated by its marginals, S of either end: the tightest
// formulation of a sum over pairs, exact in the relaxation where the graph is a tree.  A value of
// several tensors is converted once to each layout that one of its consumers requires, which is no
// sum over pairs.

#include "milp/fusion_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "milp/column_names.hpp"
#include "milp/fusion_matrices.hpp"
#include "model/layer/sharding.hpp"

namespace dfsearch {
namespace {

class ShardingModel {
 public:
  explicit ShardingModel(const Problem& problem)
      : problem_(problem), graph_(problem.workload.graph), names_(graph_) {
    if (problem.tensor_axes > 1) {
      throw InputError(
          "sharding.axes: expected 1: with two axes the least bytes depend on degrees");
    }
    for (std::size_t k = 0; k < graph_.kernel_count(); ++k) {
      const auto& pins = problem.sharding_pins;
      loops_.push_back(!pins.empty() && pins[k] ? std::vector{pins[k]->loops[0]}
                                                : shardable_loops(graph_.kernels()[k]));
    }
    // The largest tensor costs 1024 to 2048, far above the tolerances of solvers.
    Bytes largest{1.0};
    for (const Kernel& kernel : graph_.kernels()) {
      largest = std::max(largest,
                         output_bytes(shard_of(kernel, Loop::None, 1, 1), problem.workload.word));
    }
    for (const Tensor& tensor : graph_.tensors()) {
      largest =
          std::max(largest, tensor_bytes(graph_, tensor, Loop::None, {}, 1, problem.workload.word));
    }
    model_.unit = std::ldexp(1.0, std::ilogb(largest.in_base_units()) - 10);
    model_.objective = "communicated";
    model_.comments = {
        fmt::format("Sharding of {} kernels and {} tensors by least communicated bytes.",
                    graph_.kernel_count(), graph_.tensor_count()),
        fmt::format("objective: bytes that are communicated, in units of {} B", model_.unit)};
  }

  LinearModel build() && {
    for (std::size_t k = 0; k < graph_.kernel_count(); ++k) add_kernel(k);
    for (const std::vector<TensorId>& value : converted_together(problem_)) {
      if (value.size() == 1) {
        add_tensor(graph_.tensor(value.front()), names_.of(value.front()));
      } else {
        add_value(value);
      }
    }
    const std::vector<Tensor>& seams = charged_seams(problem_);
    for (std::size_t s = 0; s < seams.size(); ++s) {
      add_tensor(seams[s], fmt::format("{},{}~~next{}", names_.of(seams[s].from),
                                       names_.of(seams[s].to), s + 1));
    }
    return std::move(model_);
  }

 private:
  void set_cost(Affine entry, Bytes bytes) {
    model_.columns[static_cast<std::size_t>(entry.column)].cost =
        bytes.in_base_units() / model_.unit;
  }

  void add_kernel(std::size_t k) {
    const std::string& name = names_.of(KernelId(k));
    LinearSum one;
    s_.emplace_back();
    for (const Loop loop : loops_[k]) {
      const std::string column = fmt::format("S[{},{}]", name, name_of(loop));
      s_.back().push_back(loops_[k].size() == 1 ? model_.add_fixed(column, 1.0)
                                                : model_.add_binary(column));
      set_cost(s_.back().back(),
               own_bytes(problem_, graph_.kernels()[k], loop, problem_.workload.word));
      one.add(1.0, s_.back().back());
    }
    model_.add_row(fmt::format("shard[{}]", name), one, Sense::Equal, 1.0);
  }

  /// Adds the columns of a tensor, unless it is free for any loops.
  void add_tensor(const Tensor& tensor, const std::string& name) {
    const std::size_t u = tensor.from.index();
    const std::size_t v = tensor.to.index();
    const auto bytes = [&](Loop from, Loop to) {
      return conversion_bytes(problem_, tensor, from, to, problem_.workload.word);
    };
    const bool free = std::all_of(loops_[u].begin(), loops_[u].end(), [&](Loop from) {
      return std::all_of(loops_[v].begin(), loops_[v].end(),
                         [&](Loop to) { return bytes(from, to) == Bytes{}; });
    });
    if (free) return;
    std::vector<LinearSum> into(loops_[v].size());
    for (std::size_t i = 0; i < loops_[u].size(); ++i) {
      LinearSum from;
      for (std::size_t j = 0; j < loops_[v].size(); ++j) {
        const Affine pair = model_.add_continuous(
            fmt::format("Z[{},{},{}]", name, name_of(loops_[u][i]), name_of(loops_[v][j])));
        set_cost(pair, bytes(loops_[u][i], loops_[v][j]));
        from.add(1.0, pair);
        into[j].add(1.0, pair);
      }
      from.add(-1.0, s_[u][i]);
      model_.add_row(fmt::format("leaves[{},{}]", name, name_of(loops_[u][i])), from, Sense::Equal,
                     0.0);
    }
    for (std::size_t j = 0; j < loops_[v].size(); ++j) {
      into[j].add(-1.0, s_[v][j]);
      model_.add_row(fmt::format("reaches[{},{}]", name, name_of(loops_[v][j])), into[j],
                     Sense::Equal, 0.0);
    }
  }

  /// Y is at least 1 if the producer leaves another layout and some consumer requires this layout.
  void add_value(const std::vector<TensorId>& value) {
    for (const auto& [layout, word] :
         {std::pair{Layout::Replicated, "RR"}, std::pair{Layout::ColumnSplit, "RS"},
          std::pair{Layout::RowSplit, "SR"}, std::pair{Layout::SumSplit, "SS"}}) {
      const std::string index = names_.of(value.front()) + "," + word;
      std::optional<Affine> converted;
      for (const TensorId t : value) {
        const std::optional<LinearSum> both = wants(t, layout);
        if (!both) continue;
        if (!converted) {
          converted = model_.add_continuous(fmt::format("Y[{}]", index));
          set_cost(*converted, tensor_bytes(graph_, graph_.tensor(t), Loop::None, {}, 1,
                                            problem_.workload.word));
        }
        LinearSum row = *both;
        row.add(-1.0, *converted);
        model_.add_row(fmt::format("wants[{},{}]", names_.of(t), word), row, Sense::AtMost, 1.0);
      }
    }
  }

  /// A sum that is 2 if the tensor leaves its producer in another layout and its consumer requires
  /// this layout, and less otherwise; nothing if it cannot be 2.
  [[nodiscard]] std::optional<LinearSum> wants(TensorId t, Layout layout) const {
    const Tensor& tensor = graph_.tensor(t);
    const std::size_t u = tensor.from.index();
    const std::size_t v = tensor.to.index();
    LinearSum sum;
    bool leaves = false;
    bool reaches = false;
    for (std::size_t i = 0; i < loops_[u].size(); ++i) {
      if (conversion(produced_layout(loops_[u][i]), layout) == Conversion::Free) continue;
      sum.add(1.0, s_[u][i]);
      leaves = true;
    }
    for (std::size_t j = 0; j < loops_[v].size(); ++j) {
      if (wanted_layout(problem_, tensor, loops_[v][j]) != layout) continue;
      sum.add(1.0, s_[v][j]);
      reaches = true;
    }
    if (!leaves || !reaches) return std::nullopt;
    return sum;
  }

  const Problem& problem_;
  const DataflowGraph& graph_;
  MilpNames names_;
  std::vector<std::vector<Loop>> loops_;
  std::vector<std::vector<Affine>> s_;  // by kernel, then loop
  LinearModel model_;
};

}  // namespace

LinearModel sharding_model(const Problem& problem) { return ShardingModel(problem).build(); }

}  // namespace dfsearch
