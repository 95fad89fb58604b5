// A model becomes a section of a config, which is read back before it is given out: that checks what
// involves several fields.

#include "io/huggingface/import_huggingface.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <utility>
#include <vector>

#include "io/config/foreign_file.hpp"
#include "io/config/graph_text.hpp"
#include "io/config/workload_text.hpp"
#include "io/huggingface/model_fields.hpp"
#include "io/schema/write_schema.hpp"
#include "io/text/yaml_tree.hpp"

namespace dfsearch {
namespace {

// A step of training that is usual, where the model takes so long a sequence.
constexpr std::int64_t kSequence = 8192;
constexpr std::int64_t kBatch = 64;

/// What a config leaves out is left out here.
std::string section_of(const Imported& imported) {
  const Transformer& model = imported.model;
  WorkloadText text;
  text.workload = {.kind = WorkloadKind::LlmTraining, .global_batch = kBatch};
  text.sequence = std::min(imported.sequence, kSequence);
  text.llm.model = model;
  if (model.kv_heads != model.heads) text.llm.kv_heads = model.kv_heads;
  if (model.value_dim != model.head_dim) text.llm.value_dim = model.value_dim;
  if (!model.experts || model.experts->dense_layers > 0) text.llm.mlp = model.mlp;
  return section_yaml("workload", written(kWorkloadType, &text));
}

/// Reads the section as a config would; throws what is wrong with it.
Workload read_back(const std::string& yaml, const std::string& name) {
  const YamlNode tree = parse_yaml(yaml, name, false);
  InputMessages messages;
  std::vector<PartitionPin> pins;
  std::optional<Workload> workload = read_workload(*tree.find("workload"), pins, messages);
  messages.throw_if_any();
  return std::move(*workload);
}

}  // namespace

bool is_huggingface_config(std::string_view text, std::string_view name) {
  const std::size_t first = text.find_first_not_of(" \t\r\n\xef\xbb\xbf");
  if (first != std::string_view::npos && text[first] == '{') return true;
  return name.ends_with(".json");
}

std::string import_huggingface(const std::string& text, const std::string& name,
                               const std::optional<std::string>& optimizer) {
  ModelFields fields(text, name);
  std::string notes;
  if (fields.has("text_config")) {
    fields.enter("text_config", {"torch_dtype", "dtype", "quantization_config"});
    notes += "# It is the part for text alone.\n";
  }
  const Imported imported = read_model(fields);
  std::string precision = precision_of(fields);
  fields.finish(imported.family);
  fields.messages().throw_if_any();
  if (optimizer) {
    const std::filesystem::path beside = std::filesystem::path(name).parent_path() / kOptimizerFile;
    ModelFields file(*optimizer, beside.string());
    precision = precision_of_optimizer(file);
    file.messages().throw_if_any();
  }
  if (!imported.left_out.empty()) notes += "# " + std::string(kLeftOut) + imported.left_out + ".\n";
  const std::string& stored = precision.empty() ? imported.stored : precision;
  if (!stored.empty()) {
    notes += fmt::format("# {}{}, computed in bf16 unless the config says otherwise.\n", kStoredIn,
                         stored);
  }
  if (!precision.empty()) {
    notes +=
        "# It is quantized; beside 'model' a workload of kind llm_serving has\n#   precision: " +
        precision + "\n";
  }
  const std::string section = section_of(imported);
  const Workload workload = read_back(section, name);
  return fmt::format(
      "# A model of the type {} with {} parameters, made by dfsearch import.  The "
      "kind, the\n# sequence (of at most {}) and the batch are yours to choose.\n{}{}"
      "# The plan of a step; without this section a mapping of fused kernels is searched.\n"
      "training: {{}}\n",
      imported.family, workload.counts->parameters, imported.sequence, notes, section);
}

}  // namespace dfsearch
