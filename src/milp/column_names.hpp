#pragma once
// The names of columns in exported models, and back.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "graph/dataflow_graph.hpp"

namespace dfsearch {

/// Short unique words for kernels and tensors that every format takes: letters, digits, _ and `.`.
/// A kernel whose name is such a word of at most 40 characters keeps it; other names lose the
/// characters that are not allowed or too many, and the second kernel of a name gets the suffix
/// `~2`.  A tensor is `from,to`, a second one between the same kernels `from,to~~2`.  The same
/// graph always has the same words.
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

/// The text as a whole number; nothing if it is no whole number.
std::optional<std::int64_t> parse_index(std::string_view text);

}  // namespace dfsearch
