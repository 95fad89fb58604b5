#include "graph/kernel_set.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace dfsearch {

TEST_CASE("a list has the kernels of the set that it was made of, ascending") {
  std::mt19937_64 random(1);
  for (const std::size_t capacity : {1U, 64U, 65U, 300U}) {
    for (int round = 0; round < 200; ++round) {
      CAPTURE(capacity);
      CAPTURE(round);
      KernelSet set(capacity);
      std::vector<std::uint32_t> kernels;
      for (std::size_t tries = random() % 20; tries > 0; --tries) {
        const std::size_t kernel = random() % capacity;
        if (set.contains(kernel)) continue;
        set.insert(kernel);
        kernels.push_back(static_cast<std::uint32_t>(kernel));
      }
      const KernelList of_set(set);
      const KernelList of_kernels(kernels);
      REQUIRE(of_set.size() == kernels.size());
      REQUIRE(std::equal(of_set.begin(), of_set.end(), of_kernels.begin(), of_kernels.end()));
      REQUIRE(std::is_sorted(of_set.begin(), of_set.end()));
      REQUIRE(of_kernels.as_set(capacity) == set);
      for (std::size_t p = 0; p < capacity; ++p) REQUIRE(of_set.contains(p) == set.contains(p));
      REQUIRE((of_set.heap_bytes() > 0) == (kernels.size() > 8));
    }
  }
}

}  // namespace dfsearch
