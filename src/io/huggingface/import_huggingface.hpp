#pragma once
// The config file of a Hugging Face checkpoint -> the section `workload` of a config.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "graph/workloads/blocks/form_counts.hpp"
#include "io/text/yaml_tree.hpp"

namespace dfsearch {

/// The file that NVIDIA's Model Optimizer writes beside a config.
inline constexpr const char* kOptimizerFile = "hf_quant_config.json";

/// Whether a file is JSON, and not the protobuf text of a DFModel setup.
bool is_huggingface_config(std::string_view text, std::string_view name);

/// The section `workload` as YAML: the keys of a transformer if it has equal layers, else `family`
/// and `fields`.  Throws InputError for a type without a family, for fields that its family does
/// not know, and for values that make no model; `name` stands for the file in messages. `optimizer`
/// is the text of a file hf_quant_config.json beside it, if there is one.
std::string import_huggingface(const std::string& text, const std::string& name,
                               const std::optional<std::string>& optimizer = std::nullopt);

/// Parameters, FLOP, caches and states of a model in elements, for sequences of a length, as JSON.
/// Throws InputError as import_huggingface().
std::string huggingface_counts(const std::string& text, const std::string& name,
                               std::int64_t sequence);

/// Replaces the keys `family` and `fields` of a map by keys of a transformer, below the other keys
/// of the map; a map without `family` stays.  A model of several kinds of layers keeps `family`,
/// whose value becomes all fields as JSON. Reports a model that has a block without equations.
void resolve_family(YamlNode& section, InputMessages& messages);
/// The layers of a model whose `family` is such JSON; null for other values.
std::shared_ptr<const MixedLayers> mixed_layers_of(const std::string& family);

}  // namespace dfsearch
