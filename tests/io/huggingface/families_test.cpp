// Families of models: what their files mean, and counts of models against those that the published
// classes build.
//
// tests/data/families/cases.ndjson: 60 config files with all counts, worked out by a second program
// (parameters agree with the constructors of transformers 5.16.0.dev0, or with what was released);
// random.ndjson: random fields with the number of parameters that the class of the type builds.

#include <doctest/doctest.h>

#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "graph/workloads/blocks/transformer_of.hpp"
#include "graph/workloads/llm/layer_list_graph.hpp"
#include "io/config/load_config.hpp"
#include "io/huggingface/expression.hpp"
#include "io/huggingface/family_file.hpp"
#include "io/huggingface/import_huggingface.hpp"

namespace dfsearch {
namespace {

using nlohmann::json;

std::vector<json> lines_of(const char* name) {
  std::ifstream file(std::string("tests/data/families/") + name);
  std::vector<json> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(json::parse(line));
  return lines;
}

ModelShape shape_of(const json& config, const Families& families = known_families()) {
  InputMessages messages;
  const Place place{.source = std::make_shared<const std::string>("config.json")};
  ModelShape shape = read_family(families, config, place, messages);
  messages.throw_if_any();
  return shape;
}

/// All messages, or "accepted".
template <class Action>
std::string refusal_of(Action action) {
  try {
    action();
  } catch (const InputError& error) {
    std::string all;
    for (const std::string& message : error.messages()) all += (all.empty() ? "" : "\n") + message;
    return all;
  } catch (const ExpressionError& error) {
    return error.what();
  }
  return "accepted";
}

std::string message_of_config(const json& config, const Families& families = known_families()) {
  return refusal_of([&] { shape_of(config, families); });
}

/// The value of an expression with the names i = 3, a = [1, 2, 3], m = {x: 5}, t = 'abc', n = null.
json value_of(const std::string& text) {
  const json names = {{"i", 3}, {"a", {1, 2, 3}}, {"m", {{"x", 5}}}, {"t", "abc"}, {"n", nullptr}};
  return evaluate(parse_expression(text),
                  {[&](std::string_view name) { return names.at(std::string(name)); }});
}

Families families_of(const std::string& text) { return Families({{"f.yaml", text}}); }

const std::string kSmall =
    "types: [small]\n"
    "fields: {hidden_size: 8, layers: 2, vocab: '!', kinds: null, part: {x: 1, _ignore: [y]}}\n"
    "ignore: [model_type, no_effect, '*_eps']\n"
    "rename: {d_model: hidden_size}\n"
    "let: {f: 4 * hidden_size}\n"
    "model: {hidden: hidden_size, vocab: vocab, tied: true}\n"
    "layers:\n"
    "  count: layers\n"
    "  mixer:\n"
    "  - {if: \"kinds ? kinds[i] == 'm' : false\", mamba1: {inner: 16, state: 2, conv: 4, dt_rank: "
    "1}}\n"
    "  - {attention: {heads: 2, dim: hidden_size // 2}}\n"
    "  mlp: {dense: {width: f * part.x}}\n";

double parameters_of(const json& config, const Families& families) {
  return counts_of(shape_of(config, families), 16).parameters;
}

}  // namespace

TEST_CASE("all families of the shelf are right, whatever config they will read") {
  CHECK(refusal_of([] { known_families().check(); }) == "accepted");
  std::size_t types = 0;
  for (const Family& family : known_families().all()) types += family.types.size();
  CHECK(known_families().all().size() == 146);
  CHECK(types > 160);
}

TEST_CASE("counts of worked cases agree to the digit") {
  const std::vector<json> cases = lines_of("cases.ndjson");
  REQUIRE(cases.size() == 60);
  for (const json& worked : cases) {
    CAPTURE(worked["name"].get<std::string>());
    const ModelShape shape = shape_of(worked["config"]);
    const ShapeCounts counts = counts_of(shape, 4096);
    const std::pair<const char*, double> found[] = {
        {"parameters", counts.parameters},
        {"mtp", counts.prediction},
        {"active", counts.active},
        {"matmul", counts.matmul},
        {"cache_elements_per_token", counts.cache},
        {"window_elements", counts.window_cache},
        {"conv_elements", counts.conv_state},
        {"state_elements", counts.state},
        {"attention_flop_causal_4096", counts.attention_flop},
        {"scan_flop", counts.scan_flop},
        {"scan_flop_useful", counts.scan_flop_useful},
        {"scan_elementwise", counts.scan_elementwise},
        {"index_flop_4096", counts.index_flop}};
    CHECK(std::size(found) == worked["expect"].size());
    for (const auto& [name, value] : found) {
      CAPTURE(name);
      CHECK(value == worked["expect"][name].get<double>());
    }
    REQUIRE(shape.stacks.size() == worked["layers"].size());
    for (std::size_t i = 0; i < shape.stacks.size(); ++i) {
      CHECK(json{{shape.stacks[i].name, shape.stacks[i].text()}} == worked["layers"][i]);
    }
  }
}

TEST_CASE("released config files are read, and have the parameters of their checkpoints") {
  const json exaone = {
      {"model_type", "exaone4"}, {"hidden_size", 5120},       {"intermediate_size", 27392},
      {"num_hidden_layers", 64}, {"num_attention_heads", 40}, {"num_key_value_heads", 8},
      {"head_dim", 128},         {"sliding_window", 4096}};
  json by_text = exaone;
  by_text["sliding_window_pattern"] = "LLLG";
  CHECK(shape_of(by_text).stacks[0].text() == shape_of(exaone).stacks[0].text());
  by_text["num_hidden_layers"] = 6;  // The last layer is full, wherever the pattern ends.
  CHECK(shape_of(by_text).stacks[0].text() ==
        "3x(attention+dense w) 1x(attention+dense) 1x(attention+dense w) 1x(attention+dense)");
  const json ling = {{"model_type", "bailing_moe"},
                     {"hidden_size", 2048},
                     {"intermediate_size", 5120},
                     {"num_hidden_layers", 20},
                     {"num_attention_heads", 16},
                     {"num_key_value_heads", 4},
                     {"head_dim", 128},
                     {"num_experts", 256},
                     {"num_experts_per_tok", 8},
                     {"num_shared_experts", 1},
                     {"moe_intermediate_size", 512},
                     {"first_k_dense_replace", 1},
                     {"vocab_size", 157184},
                     {"use_qk_norm", true},
                     {"moe_router_enable_expert_bias", true}};
  CHECK(parameters_of(ling, known_families()) == 16'255'643'392);
  const json intern = {{"model_type", "internlm3"}, {"intermediate_size", 10240},
                       {"num_hidden_layers", 48},   {"num_key_value_heads", 2},
                       {"head_dim", 128},           {"bias", false},
                       {"qkv_bias", false},         {"vocab_size", 128512}};
  CHECK(parameters_of(intern, known_families()) == 8'804'241'408);
  CHECK(message_of_config({{"model_type", "minimax_m2"}, {"mlp_intermediate_size", 8192}}) ==
        "accepted");
  CHECK(message_of_config({{"model_type", "cohere2"}, {"layer_switch", 4}}) == "accepted");
  CHECK(message_of_config({{"model_type", "hunyuan_v1_dense"}, {"class_num", 0}}) == "accepted");
}

TEST_CASE("random configs have the parameters that the class of their type builds") {
  const std::vector<json> configs = lines_of("random.ndjson");
  REQUIRE(configs.size() == 989);
  for (const json& line : configs) {
    CAPTURE(line.dump());
    const double found = counts_of(shape_of(line["config"]), 1).parameters;
    const double least = line["parameters"].get<double>();
    CHECK((found == least || found == line.value("with_buffers", least)));
  }
}

TEST_CASE("a transformer of equal layers has the counts of the blocks") {
  std::size_t uniform = 0;
  const auto compare = [&](const json& config) {
    ModelShape shape = shape_of(config);
    shape.stacks.resize(std::min<std::size_t>(shape.stacks.size(), 1));
    const UniformTransformer found = transformer_of(shape);
    CHECK(found.model.has_value() == found.why.empty());
    if (!found.model) return;
    ++uniform;
    CAPTURE(config.dump());
    const std::int64_t sequence = 64;
    const ShapeCounts blocks = counts_of(shape, sequence);
    const ModelCounts counts = count(*found.model, sequence, Bytes(2.0));
    CHECK(static_cast<double>(counts.parameters) == blocks.parameters);
    CHECK(static_cast<double>(counts.active_parameters) == blocks.active);
    CHECK(static_cast<double>(counts.matmul_parameters) == blocks.matmul);
    const bool has_chunks = !found.left_out.empty();
    if (has_chunks) return;
    CHECK(counts.causal_training_flop_per_token.in_base_units() ==
          doctest::Approx(3.0 * (2.0 * blocks.matmul + blocks.attention_flop +
                                 blocks.scan_flop_useful + blocks.index_flop)));
    if (found.model->window == 0) {
      CHECK(counts.cache_bytes_per_token.in_base_units() == 2.0 * blocks.cache);
    }
  };
  for (const json& line : lines_of("random.ndjson")) compare(line["config"]);
  for (const json& line : lines_of("cases.ndjson")) compare(line["config"]);
  CHECK(uniform > 300);
}

TEST_CASE("graphs of worked cases have their parameters and FLOP") {
  constexpr std::int64_t kSequence = 4096;
  std::size_t graphs = 0;
  for (const json& worked : lines_of("cases.ndjson")) {
    CAPTURE(worked["name"].get<std::string>());
    const ModelShape shape = shape_of(worked["config"]);
    const UniformTransformer found = transformer_of(shape);
    if (!found.model || !found.model->mixed || shape.stacks.size() > 1) continue;
    const Transformer& model = *found.model;
    const TransformerPass pass{.tokens = kSequence, .causal = true};
    const LayerListGraph list = layer_list_graph(model, pass, PassKind::Prefill, model.layers);
    if (!list.why.empty()) continue;
    ++graphs;
    double stored = 0.0;
    for (const Kernel& k : list.graph.kernels()) {
      stored += static_cast<double>(k.parameters);
      if (!k.has_weight()) continue;
      stored += static_cast<double>((k.matrices > 0 ? k.matrices : k.outer) * k.m) *
                static_cast<double>(k.k);
    }
    const json& expect = worked["expect"];
    const Stack& stack = shape.stacks.front();
    const auto table = static_cast<double>(stack.vocabulary * stack.hidden);
    const double ends = (stack.tied ? 1.0 : 2.0) * table + stack.vectors +
                        static_cast<double>(stack.positions * stack.position_width);
    CHECK(stored == expect["parameters"].get<double>() - ends);
    CHECK(list.graph.flops().in_base_units() / static_cast<double>(kSequence) ==
          doctest::Approx(2.0 * (expect["matmul"].get<double>() - table) +
                          expect["attention_flop_causal_4096"].get<double>() +
                          expect["scan_flop"].get<double>())
              .epsilon(1e-13));
  }
  CHECK(graphs > 12);
}

TEST_CASE("expressions") {
  const std::pair<const char*, json> values[] = {
      {"1 + 2 * 3 - 4", 3},
      {"-7 // 2", -4},
      {"-7 % 2", 1},
      {"ceil(7, 2) + round_up(7, 4)", 12},
      {"i > 2 and not (i == 4) ? 'yes' : 'no'", "yes"},
      {"true ? 1 : false ? 2 : 3", 1},
      {"n ?? 4", 4},
      {"(n ?? 2) == 2", true},
      {"n ?? i == 3", true},
      {"a[1] + m.x + len(a)", 10},
      {"m.absent", nullptr},
      {"n.absent ?? 1", 1},
      {"t[2] + ''", nullptr},
      {"t[2]", "c"},
      {"2 in a and not (5 in a)", true},
      {"int(2.5 * 3)", 7},
      {"[1, 2] + [i]", {1, 2, 3}},
      {"sum(range(4)) + min(3, 2) + max(a) + count(a, 2)", 12},
      {"ends('xForCausalLM', 'ForCausalLM') and is_list(a)", true},
      {"get(m, 'y', 9) + get(m, 'x', 9)", 14},
      {"false and a[9]", false},
      {"1 == true", false},
      {"null == n", true},
  };
  for (const auto& [text, value] : values) {
    CAPTURE(text);
    if (value.is_null() && std::string_view(text).find("''") != std::string_view::npos) {
      CHECK_THROWS_AS(value_of(text), ExpressionError);
    } else {
      CHECK(value_of(text) == value);
    }
  }
  const std::pair<const char*, const char*> wrong[] = {
      {"1 +", "expected a value"},
      {"1 2", "expected an operator"},
      {"(1", "expected ')'"},
      {"'a", "a quote is never closed"},
      {"f(1)", "unknown function 'f'"},
      {"ceil(1)", "ceil takes 2 arguments, got 1"},
      {"n + 1", "a field is missing"},
      {"t + 1", "expected a whole number, got 'abc'"},
      {"1 // 0", "a division by 0"},
      {"a[3]", "a list of 3 elements has none at 3"},
      {"9000000000000000000 * 2", "expected a number"},
      {"900000000000000000 * 20", "beyond 64 bits"},
      {"1.5 + 1", "expected a whole number, got '1.5'"},
  };
  for (const auto& [text, what] : wrong) {
    CAPTURE(text);
    CHECK(refusal_of([&] { value_of(text); }).find(what) != std::string::npos);
  }
  const std::string deep = std::string(5000, '(') + "1" + std::string(5000, ')');
  CHECK(refusal_of([&] { value_of(deep); }) == "nested too deeply");
}

TEST_CASE("how a family reads fields") {
  const Families families = families_of(kSmall);
  CHECK(refusal_of([&] { families.check(); }) == "accepted");
  const json good = {{"model_type", "small"}, {"vocab", 10}};
  const double all = parameters_of(good, families);
  // Embedding 80, last norm 8, two layers of 2 norms, 4 · 64 of attention and 3 · 8 · 32.
  CHECK(all == 80 + 8 + 2 * (16 + 256 + 768));
  const auto with = [&](const char* key, const json& value) {
    json config = good;
    config[key] = value;
    return config;
  };
  CHECK(parameters_of(with("d_model", 8), families) == all);
  CHECK(parameters_of(with("d_model", 16), families) > all);
  CHECK(parameters_of(with("norm_eps", 1e-5), families) == all);
  CHECK(parameters_of(with("part", {{"x", 2}, {"y", 1}}), families) == all + 2 * 768);
  CHECK(message_of_config({{"model_type", "small"}}, families) ==
        "config.json: missing field 'vocab'");
  json unknown = with("b", 1);
  unknown["c"] = 2;
  unknown["part"] = {{"z", 1}};
  const std::string message = message_of_config(unknown, families);
  for (const char* name : {"'b'", "'c'", "'part.z'"}) {
    CHECK(message.find(name) != std::string::npos);
  }
  CHECK(message_of_config(with("layers", nullptr), families).find("width") == std::string::npos);
  CHECK(message_of_config(with("hidden_size", "8"), families) ==
        "config.json: hidden_size: expected a whole number, got '\"8\"'");
  CHECK(message_of_config(with("hidden_size", nullptr), families)
            .find("width of the model is missing") != std::string::npos);
  CHECK(message_of_config(with("kinds", {"m"}), families)
            .find("a list of 1 elements, expected one for each of 2 layers") != std::string::npos);
  CHECK(message_of_config(with("kinds", {"m", "m", "m"}), families).find("of 3 elements") !=
        std::string::npos);
  CHECK(shape_of(with("kinds", {"m", "a"}), families).stacks[0].text() ==
        "1x(mamba1+dense) 1x(attention+dense)");
  // Defaults of the class, and a null in their place.
  CHECK(shape_of({{"model_type", "mistral"}}).stacks[0].kinds[0].blocks[0].kv == 8);
  CHECK(shape_of({{"model_type", "mistral"}, {"num_key_value_heads", nullptr}})
            .stacks[0]
            .kinds[0]
            .blocks[0]
            .kv == 32);
}

TEST_CASE("families that take keys from others") {
  const Families families = families_of(
      kSmall +
      "---\ntypes: [other, another]\nlike: small\nfields: {d_model: 4, vocab: 10, no_effect: 1}\n"
      "layers: {mixer: {attention: {heads: 1, dim: no_effect}}, mlp: {extra: {}}}\n");
  CHECK(refusal_of([&] { families.check(); }) == "accepted");
  const ModelShape shape = shape_of({{"model_type", "another"}, {"no_effect", 3}}, families);
  CHECK(shape.stacks[0].text() == "2x(attention)");
  CHECK(shape.stacks[0].hidden == 8);  // d_model is no other name any more
  CHECK(shape.stacks[0].kinds[0].blocks[0].dim == 3);
}

TEST_CASE("a wrong family file fails where it is wrong, before any config") {
  const auto wrong = [](const std::string& from, const std::string& to) {
    std::string text = kSmall;
    text.replace(text.find(from), from.size(), to);
    return refusal_of([&] { families_of(text).check(); });
  };
  CHECK(wrong("4 * hidden_size", "4 * hiden_size") ==
        "f.yaml:5:10: unknown field or expression 'hiden_size'");
  CHECK(wrong("4 * hidden_size", "g, g: f + 1").find("the expression depends on itself") !=
        std::string::npos);
  CHECK(wrong("4 * hidden_size", "4 *").find("f.yaml:5:10: expected a value") == 0);
  CHECK(wrong("dense:", "dens:").find("unknown block 'dens'") != std::string::npos);
  CHECK(wrong("width: f", "wide: f").find("the block dense has no parameter 'wide'") !=
        std::string::npos);
  CHECK(wrong("width: f", "bias: f").find("the block dense needs the parameter 'width'") !=
        std::string::npos);
  CHECK(wrong("part.x", "part.z").find("unknown field 'z' in this map") != std::string::npos);
  CHECK(wrong("layers:\n", "layer:\n").find("unknown key 'layer', did you mean 'layers'?") !=
        std::string::npos);
  CHECK(refusal_of([] { families_of("types: [a]\nlike: b\n"); }) ==
        "f.yaml:2:1: like: unknown family 'b'");
  CHECK(refusal_of([] { families_of("types: [a]\nlike: a\n"); }) ==
        "f.yaml:2:1: like: 'like' leads from a family back to itself");
  CHECK(refusal_of([] { families_of("fields: {}\n"); }).find("a list 'types'") !=
        std::string::npos);
}

TEST_CASE("a type without a family is refused, with the nearest one by structure") {
  const std::string message = message_of_config({{"model_type", "lama"},
                                                 {"n_routed_experts", 8},
                                                 {"kv_lora_rank", 64},
                                                 {"index_topk", 2048},
                                                 {"index_n_heads", 4},
                                                 {"mystery", 1}});
  CHECK(message.find("config.json: model_type: models of type 'lama' are not known; by its fields "
                     "it is nearest to deepseek_v32, which does not have 'mystery'") == 0);
  CHECK(message_of_config(json::object()).find("without a type") != std::string::npos);
}

TEST_CASE("the key `family` of a workload is its transformer") {
  const std::string machine =
      "\nsystem:\n  chips: 1\n  accelerator: {cores: 4, lanes: 2, stages: 2, frequency: 1 GHz, "
      "sram: 1 MB}\n  memory: {bandwidth: 1 GB/s}\n";
  const auto loaded = [&](const std::string& keys, const std::vector<std::string>& changes = {}) {
    return parse_config("workload: {kind: llm_training, sequence: 64, global_batch: 1, " + keys +
                            "}" + machine,
                        "c.yaml", changes)
        .problem.workload;
  };
  const Transformer llama = *loaded("family: llama, fields: {num_hidden_layers: 3}").transformer;
  CHECK(llama.layers == 3);
  CHECK(llama.mlp == 11008);
  CHECK(loaded("family: llama, layers: 5").transformer->layers == 5);
  CHECK(loaded("family: llama", {"workload.fields.num_hidden_layers=4"}).transformer->layers == 4);
  const Workload oss = loaded("family: gpt_oss");
  CHECK(oss.counts->parameters == 116'829'156'672);
  CHECK(oss.transformer->experts->vectors == 3 * 2880);
  const Workload hybrid = loaded("family: qwen3_next");
  CHECK(hybrid.graph.kernels().front().name == "L1.INPUT");
  CHECK(hybrid.layers == 12);
  CHECK(loaded("family: qwen3_next, repeat_layers: 8").layers == 6);
}

}  // namespace dfsearch
