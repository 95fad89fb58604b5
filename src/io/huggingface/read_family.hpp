#pragma once
// The config.json of a model -> its shape, by its family.

#include <nlohmann/json.hpp>

#include <string>

#include "graph/workloads/blocks/model_shape.hpp"
#include "io/huggingface/family_file.hpp"
#include "io/text/input_messages.hpp"

namespace dfsearch {

/// The shape by the fields of an object, whose key `model_type` names the family.  Reports a type that
/// is not known, with the family that knows most of its fields, all fields that a family does not
/// know, missing ones, and values that make no model.  The shape holds only without messages.
ModelShape read_family(const Families& families, const nlohmann::json& config, const Place& place,
                       InputMessages& messages);

}  // namespace dfsearch
