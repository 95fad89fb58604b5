#pragma once
// The config file of a Hugging Face checkpoint -> the section `workload` of a config.

#include <optional>
#include <string>
#include <string_view>

namespace dfsearch {

/// The file that NVIDIA's Model Optimizer writes beside a config.
inline constexpr const char* kOptimizerFile = "hf_quant_config.json";

/// Whether a file is such a config: JSON, and not the protobuf text of a setup.
bool is_huggingface_config(std::string_view text, std::string_view name);

/// The section `workload` as YAML, for models of the types that docs/transformers.md, section 8,
/// names.  Throws InputError for any other type,
/// for a field that is not understood and for values that make no model; `name` stands for the
/// file in messages.  `optimizer` is the text of a file hf_quant_config.json beside it, if there is
/// one: how the checkpoint is quantized.
std::string import_huggingface(const std::string& text, const std::string& name,
                               const std::optional<std::string>& optimizer = std::nullopt);

}  // namespace dfsearch
