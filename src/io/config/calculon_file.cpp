// Calculon (Isaev et al., SC'23) writes an efficiency as pairs of the work of a kernel, in GFLOP or
// MB, and a share, with or without a map by number format; and the scale of an operation as a
// factor, or as a pair of a factor and an offset.

#include "io/config/calculon_file.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "io/text/json_text.hpp"
#include "io/text/yaml_tree.hpp"

namespace dfsearch {
namespace {

bool is_system(const YamlNode& root) { return root.find("mem1") && root.find("networks"); }
bool is_model(const YamlNode& root) { return root.find("num_blocks") && root.find("attn_heads"); }

/// The shortest text that reads back to the same number.
std::string text_of(const Json& number) { return fmt::format("{}", number.get<double>()); }

std::string steps_of(const Json& pairs, std::string_view unit) {
  std::string text;
  for (const Json& pair : pairs) {
    text += fmt::format("{}[{} {}, {}]", text.empty() ? "" : ", ", text_of(pair.at(0)), unit,
                        text_of(pair.at(1)));
  }
  return "[" + text + "]";
}

/// The 16-bit engine, whose keys are below `float16` or, without that key, in `engine` itself.
std::string engine_of(const Json& engine) {
  const Json& own = engine.contains("float16") ? engine.at("float16") : engine;
  const Json& steps = own.at("gflops_efficiency");
  return fmt::format("{{peak: {} TFLOP/s, efficiency: {}}}", text_of(own.at("tflops")),
                     steps_of(steps.is_object() ? steps.at("float16") : steps, "GFLOP"));
}

std::string tier_of(const Json& tier) {
  return fmt::format("capacity: {} GiB, bandwidth: {} GB/s, efficiency: {}",
                     text_of(tier.at("GiB")), text_of(tier.at("GBps")),
                     steps_of(tier.at("MB_efficiency"), "MB"));
}

/// The factor and the offset of an operation.  A factor alone has the offset -1 if a member sends
/// nothing to itself, else 0.
std::string scale_of(const Json& scale, bool is_one_less) {
  if (!scale.is_array()) return fmt::format("[{}, {}]", text_of(scale), is_one_less ? -1 : 0);
  const Json& offset = scale.at(1);
  return fmt::format("[{}, {}]", text_of(scale.at(0)), offset.is_null() ? "0" : text_of(offset));
}

std::string network_of(const Json& network) {
  const bool is_one_less = network.value("collective_minus1_scalar", false);
  std::string text = fmt::format(
      "  - {{size: {}, filled: {}, bandwidth: {} GB/s, efficiency: {}, latency: {} s, "
      "processor_usage: {}",
      network.at("size").get<std::int64_t>(), network.value("must_be_filled", false) ? "yes" : "no",
      text_of(network.at("bandwidth")), text_of(network.at("efficiency")),
      text_of(network.at("latency")), text_of(network.value("processor_usage", Json(0))));
  for (const auto& [operation, scale] : network.at("ops").items()) {
    text += fmt::format(", {}: {}", operation, scale_of(scale, is_one_less && operation != "p2p"));
  }
  return text + "}\n";
}

std::string system_of(const Json& root) {
  const std::string mode = root.value("processing_mode", "no_overlap");
  if (mode != "no_overlap") {
    throw InputError(fmt::format("processing_mode: expected no_overlap, got '{}'", mode));
  }
  std::string text =
      fmt::format("matrix: {}\nvector: {}\nmemory:\n  {{{}", engine_of(root.at("matrix")),
                  engine_of(root.at("vector")), tier_of(root.at("mem1")));
  const bool has_second = root.contains("mem2") && root.at("mem2").value("GiB", 0.0) > 0.0;
  if (has_second) text += fmt::format(",\n  second: {{{}}}", tier_of(root.at("mem2")));
  text += "}\nnetworks:\n";
  for (const Json& network : root.at("networks")) text += network_of(network);
  return text;
}

std::string model_of(const Json& root) {
  const auto count = [&root](const char* key) { return root.at(key).get<std::int64_t>(); };
  return fmt::format(
      "{{kind: llm_training, hidden: {}, mlp: {}, sequence: {}, heads: {}, head_dim: {}, layers: "
      "{}}}\n",
      count("hidden"), count("feedforward"), count("seq_size"), count("attn_heads"),
      count("attn_size"), count("num_blocks"));
}

}  // namespace

bool is_calculon_file(std::string_view text) {
  const auto mentions = [&](std::string_view key) { return text.find(key) != text.npos; };
  if (!mentions("\"mem1\"") && !mentions("\"num_blocks\"")) return false;
  try {
    const YamlNode root = parse_yaml(std::string(text), "", true);
    return is_system(root) || is_model(root);
  } catch (const InputError&) {
    return false;
  }
}

std::string import_calculon(const std::string& text, const std::string& name) {
  const Json root = parse_json_object(text, name);
  try {
    return root.contains("mem1") ? system_of(root) : model_of(root);
  } catch (const Json::exception& error) {
    throw InputError(
        fmt::format("{}: this file of Calculon is not valid: {}", name, what_is_wrong(error)));
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}: {}", name, error.what()));
  }
}

}  // namespace dfsearch
