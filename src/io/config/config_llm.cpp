// Transformers: rules between their keys, and the choice of the generator of the layer.

#include <fmt/format.h>

#include "base/counts.hpp"
#include "base/units_text.hpp"
#include "graph/workloads/blocks/mixed_layers.hpp"
#include "graph/workloads/generators.hpp"
#include "graph/workloads/llm/layer_list_graph.hpp"
#include "graph/workloads/llm/transformer_graph.hpp"
#include "io/config/workload_text.hpp"
#include "io/huggingface/import_huggingface.hpp"
#include "schema/report.hpp"

namespace dfsearch {
namespace {

/// Checks the keys of the model against each other; returns whether they agree.
bool agrees(const LlmSection& text, Report& report) {
  const Transformer& model = text.model;
  bool right = true;
  const auto refuse = [&](const void* member, const std::string& what) {
    report.at({member}, what);
    right = false;
  };
  if (model.heads % model.kv_heads != 0) {
    refuse(&text.kv_heads,
           fmt::format("expected a divisor of the heads, {}, got {}", model.heads, model.kv_heads));
  }
  if (model.encoder_sequence > 0 && !(model.mixed && model.mixed->has_encoder())) {
    refuse(&model.encoder_sequence, "only valid with a 'family' that has an encoder and a decoder");
  }
  if (text.pass.causal && !text.pass.fused) {
    refuse(&text.pass.causal, "expected full, as unfused attention computes all pairs of tokens");
  }
  if (model.experts && model.experts->dense_layers >= model.layers) {
    report.inside(&model.experts, 0, &model.experts->dense_layers,
                  fmt::format("expected less than the layers, {}, got {}", model.layers,
                              model.experts->dense_layers));
    right = false;
  }
  if (model.experts && model.experts->dense_layers == 0 && report.given(&text.mlp)) {
    refuse(&text.mlp, std::string(kAllExperts));
  }
  if (model.experts && model.experts->imbalance != 1.0) {
    report.inside(&model.experts, 0, &model.experts->imbalance,
                  "only valid with kind llm_serving; remove this key");
    right = false;
  }
  right = check_kinds(model, report) && right;
  if (!model.latent) return right;
  if (model.latent->rope_dim >= model.head_dim) {
    report.inside(&model.latent, 0, &model.latent->rope_dim,
                  fmt::format("expected less than head_dim, {}, got {}", model.head_dim,
                              model.latent->rope_dim));
    right = false;
  }
  for (const void* member : std::initializer_list<const void*>{&text.kv_heads, &model.bias,
                                                               &model.qk_norm, &model.positions}) {
    if (report.given(member)) refuse(member, "not allowed with latent attention; remove this key");
  }
  if (!text.pass.fused)
    refuse(&text.pass.fused, "expected fused, as latent attention is always fused");
  return right;
}

/// Whether doubles represent the extents of all kernels exactly.
bool is_exact_in_doubles(const LlmSection& text, Report& report) {
  const Transformer& model = text.model;
  const double parameters = parameter_count(model);
  const double tokens = number(text.pass.tokens) + number(text.pass.context);
  const double routed =
      model.experts ? tokens * number(model.experts->used) * model.experts->capacity_factor : 0.0;
  const double scores = text.pass.fused ? 0.0 : 64.0 * number(model.heads) * tokens;
  if (parameters < kMostParameters && routed < kMostParameters && scores < kMostParameters) {
    return true;
  }
  report.at_map(
      parameters < kMostParameters
          ? std::string("a layer of this sequence is too large, expected fewer than 2^53 rows of "
                        "experts and scores of heads")
          : fmt::format("too many parameters: {:.3g}, expected fewer than 2^53", parameters));
  return false;
}

/// A layer of the published runs, over a sequence or a context; heads * head_dim must be `hidden`.
bool generate_published(const LlmSection& text, std::int64_t length, Workload& workload,
                        Report& report) {
  const std::int64_t& hidden = text.model.hidden;
  const std::int64_t& heads = text.model.heads;
  const std::int64_t& head_dim = text.model.head_dim;
  // Checked by division, since the product may leave 64 bits.
  if (hidden % heads != 0 || hidden / heads != head_dim) {
    report.at({&hidden, &heads, &head_dim},
              fmt::format("expected heads * head_dim = {} * {} = {}, got {}", heads, head_dim,
                          to_exact_text(number(heads) * number(head_dim)), hidden));
    return false;
  }
  const LlmShape layer{.hidden = hidden,
                       .heads = heads,
                       .head_dim = head_dim,
                       .sequence = length,
                       .mlp = text.mlp.value_or(0)};
  if (workload.kind == WorkloadKind::LlmTraining) {
    workload.graph = llm_training_graph(layer);
  } else if (workload.kind == WorkloadKind::LlmPrefill) {
    workload.graph = llm_forward_graph(layer);
  } else {
    workload.graph = llm_decode_graph(layer, workload.word);
  }
  return true;
}

/// Bytes of the keys and values of all requests of a step, which memory holds at once.
Bytes cached_bytes(const Workload& workload, const Transformer& model,
                   const TransformerPass& pass) {
  const double samples = number(pass.tokens) * number(workload.global_batch);
  if (model.mixed) return samples * kept_of_sequence(*model.mixed, pass.context, workload.word);
  const double seen = model.seen_in_layers(pass.context) / number(model.layers);
  return seen * samples * workload.counts->cache_bytes_per_token;
}

DataflowGraph layer_by_rule(WorkloadKind kind, const Transformer& model,
                            const TransformerPass& pass) {
  if (kind == WorkloadKind::LlmTraining) return transformer_training_graph(model, pass);
  if (kind == WorkloadKind::LlmPrefill) return transformer_forward_graph(model, pass);
  return transformer_decode_graph(model, pass);
}

void generate_by_rule(Workload& workload, const Transformer& model, const TransformerPass& pass,
                      std::int64_t sequence) {
  workload.transformer = model;
  workload.counts = count(model, sequence, workload.word);
  if (!model.mixed) workload.graph = layer_by_rule(workload.kind, model, pass);
  if (workload.kind == WorkloadKind::LlmDecode)
    workload.stored = cached_bytes(workload, model, pass);
}

/// Sets the bytes that stages pass on for a sample of `tokens` tokens, and the pass of serving.
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

/// Turns several layers into one graph, which the model then repeats less often.  If layers
/// alternate, the graph has one period, up to a layer that sees all tokens; if the period does not
/// divide the layers, it is one layer with a window.
void unroll(const LlmSection& text, Workload& workload, Report& report) {
  const std::int64_t every = text.model.alternates() ? text.model.full_attention_every : 1;
  const bool is_given = report.given(&text.repeat_layers);
  const std::int64_t layers = is_given || workload.layers % every != 0 ? text.repeat_layers : every;
  if (workload.layers % layers != 0) {
    report.at({&text.repeat_layers, &text.model.layers},
              fmt::format("expected a divisor of the layers, {}, got {}", workload.layers, layers));
    return;
  }
  if (is_given && layers % every != 0) {
    report.at(
        {&text.repeat_layers},
        fmt::format("expected a multiple of full_attention_every, {}, got {}", every, layers));
    return;
  }
  workload.layers /= layers;
  const DataflowGraph full =
      every > 1 ? layer_by_rule(workload.kind, text.model.seeing(0), text.pass) : DataflowGraph();
  std::vector<const DataflowGraph*> graphs(static_cast<std::size_t>(layers), &workload.graph);
  for (std::size_t i = 0; every > 1 && i < graphs.size(); ++i) {
    if ((i + 1) % static_cast<std::size_t>(every) == 0) graphs[i] = &full;
  }
  workload.graph = unrolled_layers(graphs);
}

/// Sets the graph of one period of a list of layers, or of `repeat_layers` layers.  A model may
/// have no graph, as plans and deployments need none.
void set_layer_list(const LlmSection& text, Workload& workload, Report& report) {
  const bool is_given = report.given(&text.repeat_layers);
  const std::int64_t period = period_of(*text.model.mixed);
  if (is_given && (text.repeat_layers % period != 0 || workload.layers % text.repeat_layers != 0)) {
    report.at({&text.repeat_layers},
              fmt::format("expected a multiple of the period of the layers, {}, and a divisor of "
                          "their number, {}, got {}",
                          period, workload.layers, text.repeat_layers));
    return;
  }
  const PassKind kind = workload.kind == WorkloadKind::LlmTraining  ? PassKind::Training
                        : workload.kind == WorkloadKind::LlmPrefill ? PassKind::Prefill
                                                                    : PassKind::Decode;
  LayerListGraph found =
      layer_list_graph(text.model, text.pass, kind, is_given ? text.repeat_layers : 0);
  if (!found.why.empty()) return;
  workload.graph = std::move(found.graph);
  workload.layers /= found.layers;
}

/// Tokens of a sample, or before the decoded token; nothing, and a message, if the key is missing.
std::optional<std::int64_t> length_of(const WorkloadSection& text, bool by_rule, Report& report) {
  if (text.workload.kind != WorkloadKind::LlmDecode) return text.sequence;
  if (!by_rule && text.sequence) {
    report.at_key(&text.sequence,
                  "only valid for a layer by rule (docs/transformers.md); remove this key");
  }
  const auto& length = text.llm.context || !by_rule ? text.llm.context : text.sequence;
  if (!length) report.at_map("missing key 'context'");
  return length;
}

}  // namespace

bool check_kinds(const Transformer& model, Report& report) {
  if (model.post_norm && model.experts) {
    report.at({&model.post_norm},
              "not allowed with 'experts', as only an MLP has it; remove this key");
    return false;
  }
  const std::int64_t every = model.full_attention_every;
  if (every == 0 || (model.window > 0 && every <= model.layers)) return true;
  report.at({&model.full_attention_every},
            model.window == 0
                ? "only valid with 'window', the number of tokens that the other layers see"
                : fmt::format("expected at most the layers, {}, got {}", model.layers, every));
  return false;
}

void check_experts(void* object, Report& report) {
  const auto& experts = *static_cast<const Experts*>(object);
  if (experts.used > experts.count) {
    report.at({&experts.used}, fmt::format("expected at most the number of experts, {}, got {}",
                                           experts.count, experts.used));
  }
}

void resolve_defaults_of_llm(void* object, Report& report) {
  auto& text = *static_cast<WorkloadSection*>(object);
  Workload& workload = text.workload;
  LlmSection& llm = text.llm;
  Transformer& model = llm.model;
  const bool decode = workload.kind == WorkloadKind::LlmDecode;
  const bool by_rule = report.given_any(kByRule);
  const std::optional<std::int64_t> length = length_of(text, by_rule, report);
  if (!length) return;
  workload.layers = model.layers;
  if (by_rule) {
    llm.pass.word = workload.word;
    (decode ? llm.pass.context : llm.pass.tokens) = *length;
    model.mlp = llm.mlp.value_or(4 * model.hidden);
    model.kv_heads = llm.kv_heads.value_or(model.heads);
    model.value_dim = llm.value_dim.value_or(model.head_dim);
    model.mixed = mixed_layers_of(llm.family);
    if (!agrees(llm, report) || !is_exact_in_doubles(llm, report)) return;
    generate_by_rule(workload, model, llm.pass, text.sequence.value_or(*length));
  } else if (!generate_published(llm, *length, workload, report)) {
    return;
  }
  model.mixed ? set_layer_list(llm, workload, report) : unroll(llm, workload, report);
  set_boundary(workload, model.hidden, decode ? llm.pass.tokens : *length);
  check_workload(text, report);
}

}  // namespace dfsearch
