#pragma once
// What a workload needs at least, from the numbers of its config alone.

#include "physics/random_configs.hpp"

namespace dfsearch::test {

/// One layer, for one sample; matrices only.  Whatever is small beside them is left out.
struct LayerNumbers {
  double flops = 0.0;    ///< of products that no implementation can leave out
  double weights = 0.0;  ///< elements that are stored
  double experts = 0.0;  ///< elements of the experts among them
  double read = 0.0;     ///< elements that a decoded token needs, with the experts of one token
  double cache = 0.0;    ///< elements of the cache that a token needs
  double heads = 1.0;    ///< that these are of, each read whole
};

/// The layer of a mapping; `dense` the MLP in place of experts, where plans tell them apart.
LayerNumbers layer_numbers(const Json& workload, bool dense = false);

/// The head behind the last layer: rows of the vocabulary.
LayerNumbers head_numbers(const Json& workload);

/// The number of a quantity in base units, of dies and links in mm: "12 GB/s" is 12e9.  A number
/// without a unit is itself.
double amount(const Json& text);

/// Bytes of an element.
double word_of(const Json& workload);
/// Samples of a step, layers of a model, and so on; 1 if left out.
double count_of(const Json& map, const char* key, double otherwise = 1.0);

/// Bytes that every chip of a DLRM sends for its embeddings, and moves to or from memory.
double dlrm_bytes(const Json& workload, const char* key);

/// The greatest share of a curve, 1 without one.
double best_share(const Json& engine);

/// FLOP per second of one chip.
double peak_of(const Json& config);

}  // namespace dfsearch::test
