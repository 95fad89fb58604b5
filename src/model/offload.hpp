#pragma once
// What has its place in a second memory.

namespace dfsearch {

/// It is fetched from there layer by layer, or block by block.
struct Offload {
  bool weights = false;
  bool activations = false;
  bool optimizer = false;

  [[nodiscard]] bool any() const { return weights || activations || optimizer; }
  friend auto operator<=>(const Offload&, const Offload&) = default;
};

}  // namespace dfsearch
