#pragma once
// A few kernels of a graph of any size.

#include <algorithm>
#include <boost/container/small_vector.hpp>
#include <cstddef>
#include <cstdint>
#include <span>

#include "graph/kernel_set.hpp"

namespace dfsearch {

/// Some kernels, ascending: of a large graph they take less room than a set.  Up to eight live inside
/// the object; more take one allocation.
class KernelList {
 public:
  KernelList() = default;
  /// In any order, each once.
  explicit KernelList(std::span<const std::uint32_t> kernels)
      : kernels_(kernels.begin(), kernels.end()) {
    std::sort(kernels_.begin(), kernels_.end());
  }
  explicit KernelList(const KernelSet& set) {
    set.for_each([this](std::size_t p) { kernels_.push_back(static_cast<std::uint32_t>(p)); });
  }

  [[nodiscard]] KernelSet as_set(std::size_t capacity) const {
    KernelSet set(capacity);
    for (const std::uint32_t p : kernels_) set.insert(p);
    return set;
  }

  [[nodiscard]] auto begin() const { return kernels_.begin(); }
  [[nodiscard]] auto end() const { return kernels_.end(); }
  [[nodiscard]] std::size_t size() const { return kernels_.size(); }
  [[nodiscard]] bool contains(std::size_t kernel) const {
    return std::binary_search(begin(), end(), kernel);
  }

  /// Memory beyond the size of the object.
  [[nodiscard]] std::size_t heap_bytes() const {
    return size() > kInside ? kernels_.capacity() * sizeof(std::uint32_t) : 0;
  }

 private:
  static constexpr std::size_t kInside = 8;
  boost::container::small_vector<std::uint32_t, kInside> kernels_;
};

}  // namespace dfsearch
