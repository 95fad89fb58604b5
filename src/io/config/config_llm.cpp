// Transformers: what their keys say, and which of the two generators makes the layer.

#include "io/config/config_llm.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/number.hpp"
#include "graph/workloads/llm.hpp"
#include "graph/workloads/llm/transformer_graph.hpp"
#include "graph/workloads/llm/unrolled_layers.hpp"

namespace dfsearch {
namespace {

/// The keys that both generators have.
struct Shape {
  std::optional<std::int64_t> hidden, heads, head_dim, mlp, length;
};

/// The keys that ask for a layer by rule, as they stand.
struct RuleKeys {
  std::vector<const YamlEntry*> given;  ///< in the order of reading

  const YamlEntry* note(const YamlEntry* entry) {
    if (entry) given.push_back(entry);
    return entry;
  }
};

Choices<Norm> norms() { return {{"rms", Norm::Rms}, {"layer", Norm::Layer}}; }
Choices<Bias> biases() { return {{"none", Bias::None}, {"qkv", Bias::Qkv}, {"all", Bias::All}}; }

std::optional<Experts> read_experts(const YamlEntry& section, std::int64_t layers,
                                    InputMessages& messages) {
  MapReader reader(section, messages);
  Experts experts;
  experts.count = reader.required_count("count").value_or(1);
  experts.used = reader.required_count("used", {.least = 1, .most = experts.count}).value_or(1);
  const std::optional<std::int64_t> width = reader.required_count("mlp");
  experts.mlp = width.value_or(1);
  experts.shared = reader.optional_count("shared", {.least = 0}).value_or(0);
  experts.capacity_factor =
      reader.optional_number("capacity_factor", {.least = 1.0, .most = 1e6}).value_or(1.0);
  experts.dense_layers =
      reader.optional_count("dense_layers", {.least = 0, .most = layers - 1}).value_or(0);
  if (const YamlEntry* bias = reader.optional("router_bias")) {
    experts.router_bias = read_flag(*bias, messages).value_or(false);
  }
  reader.finish();
  return experts;
}

std::optional<LatentAttention> read_latent(const YamlEntry& section, std::int64_t head_dim,
                                           InputMessages& messages) {
  MapReader reader(section, messages);
  LatentAttention latent;
  latent.query_rank = reader.optional_count("query_rank", {.least = 0}).value_or(0);
  latent.key_value_rank = reader.required_count("key_value_rank").value_or(1);
  const YamlEntry* rope = reader.required("rope_dim");
  if (rope) latent.rope_dim = read_count(*rope, {}, messages).value_or(1);
  if (rope && latent.rope_dim >= head_dim) {
    messages.add(rope->value.place, "rope_dim",
                 fmt::format("expected less than head_dim, {}, got {}", head_dim, latent.rope_dim));
  }
  reader.finish();
  return latent;
}

/// What fits no other key of its model.
void check_agreement(MapReader& reader, const Transformer& model, const TransformerPass& pass) {
  InputMessages& messages = reader.messages();
  const auto refuse = [&](const char* key, const std::string& what) {
    const YamlEntry* entry = reader.optional(key);
    messages.add(entry ? entry->value.place : reader.place(), key, what);
  };
  if (model.heads % model.kv_heads != 0) {
    refuse("kv_heads",
           fmt::format("expected a divisor of the heads, {}, got {}", model.heads, model.kv_heads));
  }
  if (pass.causal && !pass.fused) {
    refuse("mask", "unfused attention computes all pairs, expected full");
  }
  if (!model.latent) return;
  const char* const absent = "latent attention has none, expected no such key";
  for (const char* key : {"kv_heads", "bias", "qk_norm", "positions"}) {
    if (reader.optional(key)) refuse(key, absent);
  }
  if (!pass.fused) refuse("attention", "latent attention is fused, expected fused");
}

/// Whether the extents of all kernels are whole numbers that can be computed with.
bool is_of_a_size(MapReader& reader, const Transformer& model, const TransformerPass& pass) {
  const double parameters = parameter_count(model);
  const double tokens = number(pass.tokens) + number(pass.context);
  const double routed =
      model.experts ? tokens * number(model.experts->used) * model.experts->capacity_factor : 0.0;
  const double scores = pass.fused ? 0.0 : 64.0 * number(model.heads) * tokens;
  if (parameters < kMostParameters && routed < kMostParameters && scores < kMostParameters) {
    return true;
  }
  reader.messages().add(
      reader.place(), "workload",
      parameters < kMostParameters
          ? std::string("a layer of this sequence is too large, expected fewer than 2^53 rows of "
                        "experts and scores of heads")
          : fmt::format("too many parameters: {:.3g}, expected fewer than 2^53", parameters));
  return false;
}

std::optional<bool> read_choice_of(const YamlEntry* entry, const char* no, const char* yes,
                                   InputMessages& messages) {
  if (!entry) return std::nullopt;
  return read_choice<bool>(*entry, Choices<bool>{{no, false}, {yes, true}}, messages);
}

/// Reads the keys of a layer by rule.  What is not given is as in most models of today.
struct RuleReader {
  MapReader& reader;
  RuleKeys& keys;

  std::int64_t count(const char* key, std::int64_t otherwise) {
    const YamlEntry* entry = keys.note(reader.optional(key));
    return entry ? read_count(*entry, {}, reader.messages()).value_or(otherwise) : otherwise;
  }
  bool flag(const char* key, bool otherwise) {
    const YamlEntry* entry = keys.note(reader.optional(key));
    return entry ? read_flag(*entry, reader.messages()).value_or(otherwise) : otherwise;
  }
  template <class E>
  E choice(const char* key, const Choices<E>& choices, E otherwise) {
    const YamlEntry* entry = keys.note(reader.optional(key));
    return entry ? read_choice(*entry, choices, reader.messages()).value_or(otherwise) : otherwise;
  }
};

Transformer read_model(MapReader& reader, const Shape& shape, std::int64_t layers, RuleKeys& keys) {
  RuleReader rule{.reader = reader, .keys = keys};
  Transformer model{.hidden = shape.hidden.value_or(1),
                    .layers = layers,
                    .heads = shape.heads.value_or(1),
                    .head_dim = shape.head_dim.value_or(1)};
  model.mlp = shape.mlp.value_or(4 * model.hidden);
  model.vocabulary = rule.count("vocabulary", 0);
  model.kv_heads = rule.count("kv_heads", model.heads);
  model.value_dim = rule.count("value_dim", model.head_dim);
  model.gated = rule.flag("gated", true);
  model.norm = rule.choice("norm", norms(), Norm::Rms);
  model.bias = rule.choice("bias", biases(), Bias::None);
  model.qk_norm = rule.flag("qk_norm", false);
  model.positions = rule.count("positions", 0);
  model.tied = rule.flag("tied", false);
  model.window = rule.count("window", 0);
  model.dropout = rule.flag("dropout", false);
  if (const YamlEntry* experts = keys.note(reader.optional("experts"))) {
    model.experts = read_experts(*experts, layers, reader.messages());
  }
  if (const YamlEntry* latent = keys.note(reader.optional("latent_attention"))) {
    model.latent = read_latent(*latent, model.head_dim, reader.messages());
  }
  return model;
}

TransformerPass read_pass(MapReader& reader, const Workload& workload, RuleKeys& keys) {
  TransformerPass pass{.word = workload.word};
  if (workload.kind == WorkloadKind::LlmDecode) {
    pass.tokens = RuleReader{.reader = reader, .keys = keys}.count("batch", 1);
    return pass;
  }
  const YamlEntry* attention = keys.note(reader.optional("attention"));
  const YamlEntry* mask = keys.note(reader.optional("mask"));
  pass.fused = read_choice_of(attention, "unfused", "fused", reader.messages()).value_or(true);
  pass.causal = read_choice_of(mask, "full", "causal", reader.messages()).value_or(false);
  return pass;
}

/// The layer of the published runs; heads * head_dim is hidden.
void generate_published(MapReader& reader, const Shape& shape, Workload& workload) {
  const std::int64_t hidden = *shape.hidden, heads = *shape.heads, head_dim = *shape.head_dim;
  // Divided, since the product may leave 64 bits.
  if (hidden % heads != 0 || hidden / heads != head_dim) {
    reader.messages().add(
        place_of_conflict(
            {reader.optional("hidden"), reader.optional("heads"), reader.optional("head_dim")}),
        "hidden",
        fmt::format("expected heads * head_dim = {} * {} = {}, got {}", heads, head_dim,
                    to_exact_text(number(heads) * number(head_dim)), hidden));
    return;
  }
  const LlmShape layer{.hidden = hidden,
                       .heads = heads,
                       .head_dim = head_dim,
                       .sequence = *shape.length,
                       .mlp = shape.mlp.value_or(0)};
  if (workload.kind == WorkloadKind::LlmTraining) {
    workload.graph = llm_training_graph(layer);
  } else if (workload.kind == WorkloadKind::LlmPrefill) {
    workload.graph = llm_forward_graph(layer);
  } else {
    workload.graph = llm_decode_graph(layer, workload.word);
  }
}

/// Keys and values of all requests of a step, which are in memory together.
Bytes cached_bytes(const Workload& workload, const Transformer& model,
                   const TransformerPass& pass) {
  const std::int64_t seen = model.window > 0 ? std::min(model.window, pass.context) : pass.context;
  return number(seen) * number(pass.tokens) * number(workload.global_batch) *
         workload.counts->cache_bytes_per_token;
}

void generate_by_rule(Workload& workload, const Transformer& model, const TransformerPass& pass,
                      std::int64_t sequence) {
  workload.transformer = model;
  workload.counts = count(model, sequence, workload.word);
  if (workload.kind == WorkloadKind::LlmTraining) {
    workload.graph = transformer_training_graph(model, pass);
  } else if (workload.kind == WorkloadKind::LlmPrefill) {
    workload.graph = transformer_forward_graph(model, pass);
  } else {
    workload.graph = transformer_decode_graph(model, pass);
    workload.stored = cached_bytes(workload, model, pass);
  }
}

/// What stages and users see of a sample of so many tokens.
void set_boundary(Workload& workload, std::int64_t hidden, std::int64_t tokens) {
  const Bytes sample = number(tokens) * (number(hidden) * workload.word);
  const bool decode = workload.kind == WorkloadKind::LlmDecode;
  if (workload.kind == WorkloadKind::LlmTraining) {
    workload.boundary = sample;
  } else {
    workload.serving = {.decode = decode, .tokens = tokens, .boundary = sample};
  }
  if (!decode) workload.sequence = tokens;
}

// A graph of a hundred thousand kernels is no layer any more.
constexpr std::int64_t kMostRepeated = 1'024;

/// Several layers as one graph, of which the model has fewer.
void unroll(MapReader& reader, std::int64_t layers, Workload& workload) {
  if (workload.layers % layers != 0) {
    reader.messages().add(
        place_of_conflict({reader.optional("repeat_layers"), reader.optional("layers")}),
        "repeat_layers",
        fmt::format("expected a divisor of the layers, {}, got {}", workload.layers, layers));
    return;
  }
  workload.layers /= layers;
  workload.graph = unrolled_layers(workload.graph, layers);
}

}  // namespace

void read_llm(MapReader& reader, Workload& workload) {
  const bool decode = workload.kind == WorkloadKind::LlmDecode;
  const std::size_t before = reader.messages().count();
  Shape shape{
      .hidden = reader.required_count("hidden"),
      .heads = reader.required_count("heads"),
      .head_dim = reader.required_count("head_dim"),
      .mlp = reader.optional_count("mlp"),
      .length = decode ? reader.optional_count("context") : reader.required_count("sequence")};
  workload.layers = reader.required_count("layers").value_or(1);
  const std::int64_t repeated =
      reader.optional_count("repeat_layers", {.least = 1, .most = kMostRepeated}).value_or(1);
  workload.global_batch = reader.required_count("global_batch").value_or(1);
  workload.micro_batch = reader.optional_count("micro_batch");
  if (!decode) workload.tile = reader.optional_count("tile");
  RuleKeys keys;
  const Transformer model = read_model(reader, shape, workload.layers, keys);
  TransformerPass pass = read_pass(reader, workload, keys);
  const bool by_rule = !keys.given.empty();
  std::optional<std::int64_t> sequence = shape.length;
  if (decode && by_rule) {
    // A model has its sequence, which is as long a context as any.
    sequence = reader.optional_count("sequence");
    if (!shape.length) shape.length = sequence;
  }
  if (decode && !shape.length) reader.required("context");
  if (!shape.hidden || !shape.heads || !shape.head_dim || !shape.length) return;
  if (!by_rule) {
    generate_published(reader, shape, workload);
    if (reader.messages().count() == before) unroll(reader, repeated, workload);
    return set_boundary(workload, *shape.hidden, decode ? 1 : *shape.length);
  }
  (decode ? pass.context : pass.tokens) = *shape.length;
  if (reader.messages().count() == before) check_agreement(reader, model, pass);
  if (reader.messages().count() != before || !is_of_a_size(reader, model, pass)) return;
  generate_by_rule(workload, model, pass, sequence.value_or(*shape.length));
  unroll(reader, repeated, workload);
  set_boundary(workload, model.hidden, pass.tokens);
}

}  // namespace dfsearch
