// A model of equal layers becomes the keys of a transformer, which are read back to check the rules
// that involve several keys.  Any other model keeps its fields.

#include "io/huggingface/import_huggingface.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>
#include <vector>

#include "graph/workloads/blocks/mixed_layers.hpp"
#include "graph/workloads/blocks/model_shape.hpp"
#include "graph/workloads/blocks/transformer_of.hpp"
#include "io/config/foreign_file.hpp"
#include "io/config/graph_text.hpp"
#include "io/config/workload_text.hpp"
#include "io/huggingface/family_file.hpp"
#include "io/huggingface/model_fields.hpp"
#include "io/schema/write_schema.hpp"

namespace dfsearch {
namespace {

// A usual training step; models with shorter sequences get their longest one.
constexpr std::int64_t kSequence = 8192;
constexpr std::int64_t kBatch = 64;

/// The data type of the stored weights; empty if it has 16 bits.
std::string stored_type(ModelFields& fields) {
  constexpr std::array<std::string_view, 3> kOthers = {"float32", "float8_e4m3fn", "float8_e5m2"};
  const char* const field = fields.has("dtype") ? "dtype" : "torch_dtype";
  const std::string given = fields.word(field).value_or("float16");
  if (given == "bfloat16" || given == "float16") return {};
  if (std::find(kOthers.begin(), kOthers.end(), given) == kOthers.end()) {
    fields.refuse(field,
                  "expected bfloat16, float16, float32 or a float8, got " + in_quotes(given));
  }
  return given;
}

/// The keys of a transformer, without keys whose values are the defaults.
LlmSection llm_of(const Transformer& model) {
  LlmSection llm{.model = model, .pass = {}};
  if (model.kv_heads != model.heads) llm.kv_heads = model.kv_heads;
  if (model.value_dim != model.head_dim) llm.value_dim = model.value_dim;
  if (!model.experts || model.experts->dense_layers > 0) llm.mlp = model.mlp;
  return llm;
}

/// Reads the section as part of a config; throws InputError for its mistakes.
Workload read_back(const std::string& yaml, const std::string& name) {
  const YamlNode tree = parse_yaml(yaml, name, false);
  InputMessages messages;
  std::vector<PartitionPin> pins;
  std::optional<Workload> workload = read_workload(*tree.find("workload"), pins, messages);
  messages.throw_if_any();
  return std::move(*workload);
}

/// The section of a workload with the fields of the model.
std::string section_of_fields(const std::string& type, const nlohmann::json& config,
                              std::int64_t sequence) {
  std::string text = fmt::format(
      "workload:\n  kind: llm_training\n  family: {}\n  sequence: {}\n  global_batch: {}\n  "
      "fields:\n",
      type, sequence, kBatch);
  const Family* family = known_families().find(type);
  for (const auto& item : config.items()) {
    const bool counts = family->find("fields", item.key()) || family->find("rename", item.key()) ||
                        item.key() == "architectures" || family->find("text");
    if (!counts || item.key() == "quantization_config") continue;
    text += fmt::format("    {}: {}\n", json_string(item.key()), item.value().dump());
  }
  return text;
}

/// The config of the model, or of its part for text if the type of the model is unknown.
nlohmann::json known_part(const ModelFields& fields, std::string& notes) {
  const nlohmann::json& config = fields.object();
  const auto text = config.find("text_config");
  if (known_families().find(text_in(config, "model_type")) || text == config.end() ||
      !known_families().find(text_in(*text, "model_type"))) {
    return config;
  }
  notes += "# It is the part for text alone.\n";
  return *text;
}

/// The fields that describe how weights are stored; only the part for text may have them.
ModelFields storing_fields(ModelFields& fields, const char* field) {
  if (!fields.has(field) && fields.object().value("text_config", nlohmann::json()).is_object()) {
    if (std::optional<ModelFields> text = fields.map("text_config")) return *text;
  }
  return fields;
}

/// The parts of the model that the section lacks, and the note of the family.
std::string left_out_of(const std::string& type, const UniformTransformer& uniform) {
  const YamlNode* note = known_families().find(type)->find("note");
  std::string text = uniform.left_out;
  if (note) text += (text.empty() ? "" : "; ") + note->scalar;
  return text;
}

struct ReadModel {
  ModelShape shape;
  std::string type;
  nlohmann::json config;
};

ReadModel read_model(ModelFields& fields, std::string& notes) {
  ReadModel model{.shape = {}, .type = {}, .config = known_part(fields, notes)};
  model.shape = read_family(known_families(), model.config, fields.place(), fields.messages());
  if (fields.messages().count() == 0) {
    model.type = model.config["model_type"].get<std::string>();
    const bool has_layers = !model.shape.stacks.empty() && !model.shape.stacks[0].layers.empty();
    if (!has_layers || counts_of(model.shape, 1).parameters >= kMostParameters) {
      fields.messages().add(
          fields.place(), "",
          has_layers ? "too many parameters, expected fewer than 2^53" : "a model without layers");
    }
  }
  return model;
}

/// Whether a key `family` has the fields of a model in place of its type.
bool is_resolved(const std::string& family) {
  return family.starts_with('{') && nlohmann::json::accept(family);
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
  const ReadModel read = read_model(fields, notes);
  ModelFields typed = storing_fields(fields, fields.has("dtype") ? "dtype" : "torch_dtype");
  std::string stored = stored_type(typed);
  ModelFields quantized = storing_fields(fields, "quantization_config");
  std::string precision = precision_of(quantized);
  fields.messages().throw_if_any();
  if (optimizer) {
    const std::filesystem::path beside = std::filesystem::path(name).parent_path() / kOptimizerFile;
    ModelFields file(*optimizer, beside.string());
    precision = precision_of_optimizer(file);
    file.messages().throw_if_any();
  }
  const std::int64_t sequence = std::min(read.shape.sequence, kSequence);
  const UniformTransformer uniform = transformer_of(read.shape);
  std::string section;
  double parameters = counts_of(read.shape, 1).parameters;
  if (uniform.model && !uniform.model->mixed) {
    WorkloadSection workload;
    workload.workload = {.kind = WorkloadKind::LlmTraining, .global_batch = kBatch};
    workload.sequence = sequence;
    workload.llm = llm_of(*uniform.model);
    section = section_yaml("workload", written(kWorkloadType, &workload));
    const auto own = static_cast<double>(read_back(section, name).counts->parameters);
    if (own != parameters) {
      notes += fmt::format("# It is the part for text alone, of {:.0f} parameters.\n", own);
    }
  } else {
    section = section_of_fields(read.type, read.config, sequence);
    notes += uniform.model
                 ? fmt::format("# Its layers are {}: a plan needs 'execution.stack'.\n",
                               layer_summary(read.shape.stacks.front()))
                 : fmt::format("# Plans and deployments of it are not understood yet: {}.\n",
                               uniform.why);
  }
  if (const std::string parts = left_out_of(read.type, uniform); !parts.empty()) {
    notes += "# " + std::string(kLeftOut) + parts + ".\n";
  }
  if (!precision.empty()) stored = precision;
  if (!stored.empty()) {
    notes += fmt::format("# {}{}, computed in bf16 unless the config says otherwise.\n", kStoredIn,
                         stored);
  }
  if (!precision.empty()) {
    notes +=
        "# It is quantized; beside 'model' a workload of kind llm_serving has\n#   precision: " +
        precision + "\n";
  }
  return fmt::format(
      "# A model of the type {} with {:.0f} parameters, made by dfsearch import.  The "
      "kind, the\n# sequence (of at most {}) and the batch are yours to choose.\n{}{}"
      "# The plan of a step; without this section a mapping of fused kernels is searched.\n"
      "training: {{}}\n",
      read.type, parameters, read.shape.sequence, notes, section);
}

std::string huggingface_counts(const std::string& text, const std::string& name,
                               std::int64_t sequence) {
  ModelFields fields(text, name);
  std::string notes;
  const ReadModel read = read_model(fields, notes);
  fields.messages().throw_if_any();
  const ShapeCounts counts = counts_of(read.shape, sequence);
  Json layers = Json::object();
  for (const Stack& stack : read.shape.stacks) layers[stack.name] = stack.text();
  const auto whole = [](double value) { return static_cast<std::int64_t>(value); };
  return json_text({{"type", read.type},
                    {"parameters", whole(counts.parameters)},
                    {"mtp", whole(counts.prediction)},
                    {"active", whole(counts.active)},
                    {"matmul", whole(counts.matmul)},
                    {"cache_elements_per_token", counts.cache},
                    {"window_elements", counts.window_cache},
                    {"conv_elements", counts.conv_state},
                    {"state_elements", counts.state},
                    {"sequence", sequence},
                    {"attention_flop_causal", counts.attention_flop},
                    {"scan_flop", counts.scan_flop},
                    {"scan_flop_useful", counts.scan_flop_useful},
                    {"scan_elementwise", counts.scan_elementwise},
                    {"index_flop", counts.index_flop},
                    {"kept_elements_per_token", counts.kept},
                    {"layers", std::move(layers)}});
}

void resolve_family(YamlNode& section, InputMessages& messages) {
  const YamlEntry* family = section.find("family");
  const YamlEntry* given = section.find("fields");
  if (!family) {
    if (given)
      messages.add(given->place, "fields", "only valid with 'family', the type of the model");
    return;
  }
  nlohmann::json config = given ? json_of(given->value) : nlohmann::json::object();
  const Place place = family->value.place;
  // A config may be read again after a change; its `family` is then resolved.
  if (!given && is_resolved(family->value.scalar)) return;
  if (!config.is_object()) {
    messages.add(given->value.place, "fields", "expected a map, the config.json of a model");
    config = nlohmann::json::object();
  }
  const std::string type = family->value.scalar;
  config["model_type"] = type;
  const std::size_t before = messages.count();
  const ModelShape shape = read_family(known_families(), config, place, messages);
  const UniformTransformer uniform =
      messages.count() == before ? transformer_of(shape) : UniformTransformer{};
  std::erase_if(section.entries, [](const YamlEntry& entry) {
    return entry.key == "family" || entry.key == "fields";
  });
  if (!uniform.model) {
    if (messages.count() == before) {
      messages.add(place, "family",
                   fmt::format("plans, deployments and mappings of {} are not understood yet: {}; "
                               "'dfsearch import --counts' has its counts",
                               in_quotes(type), uniform.why));
    }
    return;
  }
  if (const std::string parts = left_out_of(type, uniform); !parts.empty()) {
    messages.note(*place.source + ": " + std::string(kLeftOut) + parts + ".");
  }
  const LlmSection llm = llm_of(*uniform.model);
  YamlNode model =
      parse_yaml(section_yaml("m", written(llm)), *place.source, false).entries[0].value;
  const auto set_places = [&](const auto& self, YamlNode& node) -> void {
    node.place = place;
    for (YamlEntry& entry : node.entries) {
      entry.place = place;
      self(self, entry.value);
    }
  };
  set_places(set_places, model);
  if (uniform.model->mixed) {
    YamlNode fields;
    fields.type = YamlNode::Type::Scalar;
    fields.place = place;
    fields.scalar = config.dump();
    model.entries.push_back({.key = "family", .place = place, .value = std::move(fields)});
  }
  merge_into(model, std::move(section));
  section = std::move(model);
}

std::shared_ptr<const MixedLayers> mixed_layers_of(const std::string& family) {
  if (!is_resolved(family)) return nullptr;
  InputMessages messages;
  const ModelShape shape =
      read_family(known_families(), nlohmann::json::parse(family), {}, messages);
  messages.throw_if_any();
  return transformer_of(shape).model->mixed;
}

}  // namespace dfsearch
