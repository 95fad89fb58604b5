#include "engine/tables/rest.hpp"

namespace dfsearch {

Rest& Rest::operator+=(const Rest& other) {
  for (std::size_t r = 0; r < bound.size(); ++r) bound[r] += other.bound[r];
  for (std::size_t p = 0; p < 2; ++p) {
    sram[p] += other.sram[p];
    lonely[p] += other.lonely[p];
    kernels[p] += other.kernels[p];
  }
  return *this;
}

Rest& Rest::operator-=(const Rest& other) {
  for (std::size_t r = 0; r < bound.size(); ++r) bound[r] -= other.bound[r];
  for (std::size_t p = 0; p < 2; ++p) {
    sram[p] -= other.sram[p];
    lonely[p] -= other.lonely[p];
    kernels[p] -= other.kernels[p];
  }
  return *this;
}

}  // namespace dfsearch
