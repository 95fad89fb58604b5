#pragma once
// The families of models that a config.json of Hugging Face may be of.

#include <cstdint>
#include <string>

#include "graph/workloads/llm/transformer.hpp"
#include "io/huggingface/model_fields.hpp"

namespace dfsearch {

/// What a config says of a model, beside its shape.
struct Imported {
  Transformer model;
  std::int64_t sequence = 1;
  std::string stored = {};    ///< the data type of its weights, if it is none of 16 bits
  std::string family = {};    ///< its `model_type`
  std::string left_out = {};  ///< of the model, for people
};

/// Reads the fields as the family of `model_type` means them; what is wrong with them is in their
/// messages.  Throws InputError for a family that is not known.
Imported read_model(ModelFields& fields);

}  // namespace dfsearch
