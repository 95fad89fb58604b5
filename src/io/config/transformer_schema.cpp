// Rows of the keys of transformers, of the counts that their models state, and of adapters.

#include "io/config/workload_text.hpp"
#include "schema/report.hpp"

namespace dfsearch {

constexpr auto words(Norm) { return named<Norm>({{"rms", Norm::Rms}, {"layer", Norm::Layer}}); }
constexpr auto words(Bias) {
  return named<Bias>({{"none", Bias::None}, {"qkv", Bias::Qkv}, {"all", Bias::All}});
}

namespace {

constexpr Interval kParameters{0.0, kMostParameters};
constexpr Interval kWork{0.0, 1e36};
// Limits the graph to about a hundred thousand kernels.
constexpr double kMostRepeated = 1'024;

constexpr Type kPass = flag_type([] { return std::vector<Choice>{{"prefill", 0}, {"decode", 1}}; });
constexpr Extra kRule{.flags = kByRule};
constexpr Extra kUnlessFamily{.unless = "family"};
constexpr Type kFieldsOfModel{};

template <auto member>
constexpr Field model(std::string_view key, std::string_view doc, const Extra& extra = {}) {
  return field<&LlmSection::model, member>(key, doc, extra);
}

}  // namespace

const Schema& schema_of(Rows<Experts>) {
  using E = Experts;
  static constexpr Field kFields[] = {
      field<&E::count>("count", "", kNeeded),
      field<&E::used>("used", "", kNeeded),
      field<&E::mlp>("mlp", "", kNeeded),
      field<&E::shared>("shared", "", {.limits = kFromZero}),
      field<&E::capacity_factor>("capacity_factor", "", {.limits = {1, 1e6}}),
      field<&E::dense_layers>("dense_layers", "", {.limits = kFromZero}),
      field<&E::router_bias>("router_bias", ""),
      field<&E::vectors>("vectors", "", {.limits = kFromZero}),
      field<&E::imbalance>("imbalance", "", {.limits = {1, 1e6}})};
  return schema<E, kFields>("experts", &check_experts);
}

const Schema& schema_of(Rows<LatentAttention>) {
  using L = LatentAttention;
  static constexpr Field kFields[] = {
      field<&L::query_rank>("query_rank", "", {.limits = kFromZero}),
      field<&L::key_value_rank>("key_value_rank", "", kNeeded),
      field<&L::rope_dim>("rope_dim", "", kNeeded)};
  return schema<L, kFields>("latent attention");
}

const Schema& schema_of(Rows<LlmSection>) {
  using L = LlmSection;
  using T = Transformer;
  static constexpr Field kFields[] = {
      field<&L::family>(
          "family",
          "the type of a model of Hugging Face; its fields give the keys below that are left out "
          "([Families](#families))",
          {.preset = "none"}),
      by_hand("fields", "with `family`: the config.json of the model, as a map", kFieldsOfModel,
              {.preset = "the defaults of the family"}),
      model<&T::encoder_sequence>("encoder_sequence",
                                  "tokens of a sample in the encoder of a `family` that has one",
                                  {.preset = "`sequence`", .flags = kByRule}),
      model<&T::hidden>("hidden", "width of the model; `heads` · `head_dim` unless by rule",
                        kUnlessFamily),
      model<&T::heads>("heads", "number of heads of queries", kUnlessFamily),
      model<&T::head_dim>("head_dim", "size of a head", kUnlessFamily),
      field<&L::mlp>("mlp", "width of the feed-forward layers", {.preset = "4 · `hidden`"}),
      model<&T::layers>("layers", "number of layers", kUnlessFamily),
      field<&L::repeat_layers>(
          "repeat_layers",
          "number of layers in the graph, a divisor of `layers`. Their kernels, named `L1.Q`, "
          "`L2.Q` and so on, may share partitions; the model is `layers` / `repeat_layers` such "
          "graphs. Not with `training`",
          {.limits = {1, kMostRepeated}}),
      model<&T::vocabulary>(
          "vocabulary",
          "size of the vocabulary. A config with this key or one below has the layer of "
          "[transformers.md](transformers.md), by rule",
          {.preset = "no embedding and no head", .flags = kByRule}),
      field<&L::kv_heads>("kv_heads", "number of heads of keys and values, a divisor of `heads`",
                          {.preset = "`heads`", .flags = kByRule}),
      field<&L::value_dim>("value_dim", "size of a head of values",
                           {.preset = "`head_dim`", .flags = kByRule}),
      model<&T::gated>("gated", "true: the MLP has three matrices; false: two", kRule),
      model<&T::norm>("norm", "kind of norm", kRule),
      model<&T::bias>("bias",
                      "matrices with a bias: none; those of queries, keys and values; or all but "
                      "those of experts",
                      kRule),
      model<&T::qk_norm>("qk_norm", "whether heads of queries and keys are normed", kRule),
      model<&T::post_norm>("post_norm", "whether outputs of attention and the MLP are normed",
                           kRule),
      model<&T::positions>("positions", "number of learned positions",
                           {.preset = "rotary positions", .flags = kByRule}),
      model<&T::tied>("tied", "whether the head has the weight of the embedding", kRule),
      model<&T::window>("window", "number of tokens that a query sees",
                        {.preset = "all tokens", .flags = kByRule}),
      model<&T::full_attention_every>(
          "full_attention_every", "n: every n-th layer sees all tokens, the others `window`",
          {.limits = {2, kMostRepeated}, .preset = "no layer", .flags = kByRule}),
      model<&T::dropout>("dropout", "whether training uses dropout", kRule),
      model<&T::layer_vectors>("layer_vectors",
                               "parameters of a layer that no other key counts: sinks of the "
                               "softmax, further biases and norms",
                               {.limits = kFromZero, .flags = kByRule}),
      model<&T::end_vectors>("end_vectors", "such parameters outside the layers",
                             {.limits = kFromZero, .flags = kByRule}),
      model<&T::experts>(
          "experts",
          "in place of the MLP: `count`, number of experts; `used`, of a token; `mlp`, width; "
          "`shared`, number of experts that every token uses (0); `capacity_factor`, rows of an "
          "expert over an even load (1); `dense_layers`, first layers with an MLP (0); "
          "`router_bias`, a bias for each expert (false); `vectors`, further parameters of an "
          "expert (0); `imbalance`, tokens of the busiest rank over the mean when serving (1)",
          kRule),
      model<&T::latent>(
          "latent_attention",
          "keys and values are computed from a latent of `key_value_rank` elements, queries from "
          "one of `query_rank` (0: from the input); `rope_dim` of `head_dim` elements have the "
          "position",
          kRule)};
  return schema<L, kFields>("transformer by rule");
}

const Schema& schema_of(Rows<Serving>) {
  using S = Serving;
  static constexpr Field kFields[] = {
      field<&S::decode>("pass", "", {.type = &kPass, .flags = kRequired}),
      field<&S::tokens>("tokens", ""),
      field<&S::boundary>("boundary", "bytes that a stage sends to the next",
                          {.limits = kTraffic})};
  return schema<S, kFields>("serving");
}

const Schema& schema_of(Rows<ModelCounts>) {
  using C = ModelCounts;
  static constexpr Extra kCount{.limits = kParameters, .flags = kRequired};
  static constexpr Extra kFlop{.type = &kPlainNumber<Flops>, .limits = kWork, .flags = kRequired};
  static constexpr Field kFields[] = {
      field<&C::parameters>("parameters", "", kCount),
      field<&C::active_parameters>("active_parameters", "", kCount),
      field<&C::matmul_parameters>("matmul_parameters", "", kCount),
      field<&C::training_flop_per_token>("training_flop_per_token", "", kFlop),
      field<&C::causal_training_flop_per_token>("causal_training_flop_per_token", "", kFlop),
      field<&C::cache_bytes_per_token>("cache_bytes_per_token", "",
                                       {.limits = kTraffic, .flags = kRequired})};
  return schema<C, kFields>("counts");
}

const Schema& schema_of(Rows<memory::Lora>) {
  using L = memory::Lora;
  static constexpr Field kFields[] = {
      field<&L::rank>("rank", "rank of each adapter", {.limits = {1, 65536}}),
      field<&L::targets>("targets", "the linear layers with an adapter", {.preset = "all"}),
      field<&L::frozen>("frozen",
                        "format of the frozen linear layers: 16 bits, NF4 with quantized scales or "
                        "without, or 4 bits in groups of 128"),
      field<&L::adapter_bytes>("adapter_bytes",
                               "bytes of an element of an adapter and of its gradient; its two "
                               "moments take twice as many",
                               {.limits = {1, 8}})};
  return schema<L, kFields>("adapters", [](void* object, Report& report) {
    auto& lora = *static_cast<L*>(object);
    if (lora.targets.empty()) report.at({&lora.targets}, "expected at least one");
  });
}

}  // namespace dfsearch
