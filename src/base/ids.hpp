#pragma once
// Dense indices that do not mix: a KernelId is no TensorId.

#include <compare>
#include <cstddef>
#include <cstdint>

namespace dfsearch {

template <class Tag>
class Id {
 public:
  constexpr Id() = default;
  constexpr explicit Id(std::size_t index) : index_(static_cast<std::uint32_t>(index)) {}
  [[nodiscard]] constexpr std::size_t index() const { return index_; }
  friend constexpr auto operator<=>(Id, Id) = default;

 private:
  std::uint32_t index_ = 0;
};

using KernelId = Id<struct KernelTag>;  ///< position in the list of kernels of the graph
using TensorId = Id<struct TensorTag>;  ///< position in the list of tensors of the graph

}  // namespace dfsearch
