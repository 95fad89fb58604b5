#pragma once
// Products and exchanges that a layer with a state has and a transformer has not.

#include <cstdint>
#include <vector>

#include "graph/workloads/blocks/mixed_layers.hpp"

namespace dfsearch {

/// A product of each token on one of some tensor ranks.
struct FurtherProduct {
  double in = 0.0, out = 0.0;
  LinearRole role = LinearRole::Other;  ///< of the first matrix
};
/// The products of the matrices that `view` lacks.  Matrices of a block that read the same input in
/// the same division are one product; rows are divided by their input.
std::vector<FurtherProduct> further_products(const LayerForm& form, double tensor);

/// Elements of a token that go from tokens to heads before the scans and back behind them, where
/// `ranks` tensor and context ranks divide the heads (Megatron-LM's context parallelism of Mamba).
double shifted_elements(const LayerForm& form, double ranks);

/// Elements of a token that all tensor ranks add up within the scans: step sizes of Mamba.
double summed_elements(const LayerForm& form);

}  // namespace dfsearch
