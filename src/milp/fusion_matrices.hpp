#pragma once
// The assignment of kernels to partitions, as columns and rows: the part of the fusion's linear
// program without capacities and times (docs/milp.md, rows 1 to 9).
// The names of columns in exported models are made and read here.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "graph/dataflow_graph.hpp"
#include "milp/linear_model.hpp"
#include "model/layer/layer_costs.hpp"
#include "model/problem.hpp"

namespace dfsearch {

/// Short unique words for kernels and tensors that every format takes: letters, digits, _ and `.`.
/// A kernel whose name is such a word of at most 40 characters keeps it; other names lose the
/// characters that do not fit, and a second kernel of a name gets `~2` after it.  A tensor is
/// `from,to`, a second one between the same kernels `from,to~~2`.  The same graph always has the
/// same words.
class MilpNames {
 public:
  explicit MilpNames(const DataflowGraph& graph);

  [[nodiscard]] const std::string& of(KernelId kernel) const { return kernels_[kernel.index()]; }
  [[nodiscard]] const std::string& of(TensorId tensor) const { return tensors_[tensor.index()]; }
  [[nodiscard]] std::optional<KernelId> kernel(std::string_view word) const;

 private:
  std::vector<std::string> kernels_;
  std::vector<std::string> tensors_;
  std::unordered_map<std::string, KernelId> kernel_of_;
};

/// The symbol and the indices of a name such as `A[Q,2]` or, as in LP files, `A(Q,2)`.
struct MilpName {
  std::string_view symbol;
  std::vector<std::string_view> indices;
};
std::optional<MilpName> parse_milp_name(std::string_view text);

/// Reads a whole number that is all of the text.
std::optional<std::int64_t> parse_index(std::string_view text);

/// A matrix of columns: a row for each kernel or tensor, an entry for each partition.
using MilpMatrix = std::vector<std::vector<Affine>>;

/// The entry of a partition, which is 0 before the first one.
inline Affine entry_of(const MilpMatrix& matrix, std::size_t row, std::int64_t partition) {
  return partition < 0 ? Affine{} : matrix[row][static_cast<std::size_t>(partition)];
}

struct FusionMatrices {
  std::int64_t partitions = 0;
  MilpMatrix a;  ///< kernel k is in p
  MilpMatrix h;  ///< kernel k is in one of 0..p
  MilpMatrix b;  ///< both ends of tensor e are in p
  MilpMatrix d;  ///< exactly one end of it is
  /// Tells of each kernel whether it overflows SRAM by itself, but alone in its partition
  /// may cut its weight into pieces.  Rows keep everyone else out, so SRAM need not count
  /// it.
  std::vector<bool> lonely;
};

/// Adds the columns and their rows to the model.
FusionMatrices add_fusion_matrices(const Problem& problem, const LayerCosts& costs,
                                   const MilpNames& names, LinearModel& model);

/// How many partitions a mapping can use; later indices are never needed.
std::int64_t useful_partitions(const Problem& problem);

}  // namespace dfsearch
