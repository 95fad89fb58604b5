#pragma once
// What a model is called large by, as JSON (docs/results.md).

#include <optional>

#include "graph/workloads/llm/transformer.hpp"
#include "io/text/json_text.hpp"

namespace dfsearch {

/// Null for workloads that are no model with known counts.
inline Json model_json(const std::optional<ModelCounts>& counts) {
  if (!counts) return {};
  return {{"parameters", counts->parameters},
          {"active_parameters", counts->active_parameters},
          {"matmul_parameters", counts->matmul_parameters},
          {"training_flop_per_token", json_number(counts->training_flop_per_token.in_base_units())},
          {"causal_training_flop_per_token",
           json_number(counts->causal_training_flop_per_token.in_base_units())},
          {"cache_bytes_per_token", json_number(counts->cache_bytes_per_token.in_base_units())}};
}

}  // namespace dfsearch
