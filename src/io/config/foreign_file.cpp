// Calculon (Isaev et al., SC'23) has efficiencies by the work of a kernel as pairs, in GFLOP and
// MB, with a number format above or beside them, and operations as a factor, or a pair of a factor
// and an offset.

#include "io/config/foreign_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "base/error.hpp"
#include "io/chakra/import_trace.hpp"
#include "io/config/config_tree.hpp"
#include "io/dfmodel/import_dfmodel.hpp"
#include "io/huggingface/import_huggingface.hpp"
#include "io/schema/read_schema.hpp"
#include "io/text/files.hpp"
#include "io/text/json_text.hpp"
#include "io/text/yaml_tree.hpp"

namespace dfsearch {
namespace {

bool is_system(const YamlNode& root) { return root.find("mem1") && root.find("networks"); }
bool is_model(const YamlNode& root) { return root.find("num_blocks") && root.find("attn_heads"); }

/// Numbers in the fewest digits that give them back.
std::string text_of(const Json& number) { return fmt::format("{}", number.get<double>()); }

std::string steps_of(const Json& pairs, std::string_view unit) {
  std::string text;
  for (const Json& pair : pairs) {
    text += fmt::format("{}[{} {}, {}]", text.empty() ? "" : ", ", text_of(pair.at(0)), unit,
                        text_of(pair.at(1)));
  }
  return "[" + text + "]";
}

/// The engine of 16 bits, whose keys stand above or below the other ones.
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

/// The scale of a group; one less where a member sends nothing to itself.
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

/// Whether a text that is a map is one of them.
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

/// The sections `workload` or `system` of a config with `equations: calculon`, in YAML.  `name` is
/// the file.  Throws InputError.
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

bool is_trace(std::string_view name) { return name.ends_with(".et"); }

/// The groups in PREFIX.json beside PREFIX.N.et, if that file is there.
TraceGroups groups_beside(const std::string& name) {
  std::string file = name.substr(0, name.size() - std::string_view(".et").size());
  if (const auto digits = file.find_last_not_of("0123456789");
      digits != std::string::npos && digits + 1 < file.size() && file[digits] == '.') {
    file.resize(digits);
  }
  file += ".json";
  std::error_code error;
  if (!std::filesystem::exists(file, error)) return {};
  return {read_file(file), file};
}

/// The first line that says something.
std::string_view first_line(std::string_view text) {
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const std::size_t first = line.find_first_not_of(" \t\r");
    if (first != std::string_view::npos && line[first] != '#') return line.substr(first);
  }
  return {};
}

/// "system {", which is no YAML.
bool begins_as_setup(std::string_view text) {
  const std::string_view line = first_line(text);
  const std::size_t end = line.find_first_not_of("abcdefghijklmnopqrstuvwxyz_");
  const std::size_t brace = line.find_first_not_of(' ', std::min(end, line.size()));
  return end > 0 && brace != std::string_view::npos && line[brace] == '{';
}

/// The keys that configs of Hugging Face have and ours have not.
bool has_model_type(std::string_view text) {
  const auto mentions = [&](std::string_view key) { return text.find(key) != text.npos; };
  if (!mentions("\"model_type\"") && !mentions("\"architectures\"")) return false;
  try {
    const YamlNode root = parse_yaml(std::string(text), "", true);
    return root.find("model_type") || root.find("architectures");
  } catch (const InputError&) {
    return false;
  }
}

template <class T>
std::optional<T> load(const std::string& name, const std::filesystem::path& directory,
                      ShelfKind kind, const Place& place, InputMessages& messages) {
  const std::size_t before = messages.count();
  const YamlNode tree = named_tree(name, directory, kind, place, messages);
  T object;
  if (messages.count() != before) return std::nullopt;
  if (!read_object(MapReader(tree, name, tree.place, messages), object)) return std::nullopt;
  return object;
}

}  // namespace

bool is_onnx(std::string_view name) { return name.ends_with(".onnx"); }

std::string_view foreign_kind(std::string_view name, std::string_view text) {
  if (is_onnx(name)) return "a model of ONNX";
  if (is_trace(name)) return "a trace of Chakra";
  if (begins_as_setup(text)) return "a setup of DFModel";
  if (is_calculon_file(text)) return "a file of Calculon";
  return has_model_type(text) ? "a model of Hugging Face" : "";
}

std::string imported_text(const std::string& text, const std::string& name) {
  if (is_trace(name)) return import_trace(text, name, groups_beside(name));
  if (is_calculon_file(text)) return import_calculon(text, name);
  try {
    if (!is_huggingface_config(text, name)) return import_dfmodel(text, name);
    const std::filesystem::path beside = std::filesystem::path(name).parent_path() / kOptimizerFile;
    std::optional<std::string> optimizer;
    if (std::error_code error; std::filesystem::exists(beside, error))
      optimizer = read_file(beside.string());
    return import_huggingface(text, name, optimizer);
  } catch (const InputError&) {
    // What is wrong with a setup is reported only if it is one.
    const std::string kind = kind_of_text(text);
    if (kind.empty()) throw;
    throw InputError(name + ":1:1: is " + kind +
                     "; expected a setup of DFModel (protobuf text) or the config.json of a model "
                     "of Hugging Face");
  }
}

std::vector<std::string> notes_of_import(const std::string& text, const std::string& source) {
  std::vector<std::string> notes;
  if (!source.ends_with(kAsImported)) return notes;
  const std::string name = source.substr(0, source.size() - kAsImported.size());
  for (std::size_t at = 0; text.compare(at, 2, "# ") == 0;) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at + 2, end - at - 2);
    for (const std::string_view begin : {kLeftOut, kOfOneChip, kStoredIn}) {
      if (line.starts_with(begin)) notes.push_back(fmt::format("{}: {}", name, line));
    }
    at = std::min(end + 1, text.size());
  }
  return notes;
}

std::string imported_file(const std::filesystem::path& file) {
  const std::string name = file.string();
  if (is_onnx(name)) {
    throw InputError(name + ": a model of ONNX is no part of a config; 'dfsearch import " + name +
                     " -o FILE' makes one of it");
  }
  // Traces of many nodes are as large as their graphs may be.
  constexpr std::size_t kMostOfTrace = std::size_t{1} << 30;
  return imported_text(is_trace(name) ? read_file(file, kMostOfTrace) : read_file(file), name);
}

namespace {

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = text[0] == '\0' ? 0 : utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

}  // namespace

std::string kind_of_text(const std::string& text) {
  if (text.find_first_not_of(" \t\r\n") == std::string::npos) return "an empty file";
  if (!is_utf8(text)) return "not UTF-8 text";
  YamlNode root;
  try {
    root = parse_yaml(text, "", false);
  } catch (const InputError&) {
    return "";
  }
  const auto has = [&](std::string_view key) { return root.find(key) != nullptr; };
  if (has("dfsearch")) return "a result of dfsearch, which 'dfsearch report' shows";
  if (has("study") && has("base")) return "a study of dfsearch, which 'dfsearch study' runs";
  if (has("workload") || has("system") || has("training")) {
    return "a config of dfsearch, or a part of one";
  }
  if (has("weight_map")) return "the index of a model's weights, its config.json is beside it";
  return "";
}

std::optional<stack::Stack> load_stack(const std::string& name,
                                       const std::filesystem::path& directory, const Place& place,
                                       InputMessages& messages) {
  return load<stack::Stack>(name, directory, ShelfKind::Stacks, place, messages);
}

std::optional<stack::MeasuredChip> load_measured_chip(const std::string& name,
                                                      const std::filesystem::path& directory,
                                                      const Place& place, InputMessages& messages) {
  return load<stack::MeasuredChip>(name, directory, ShelfKind::Curves, place, messages);
}

std::string missing_precision(const stack::MeasuredChip& chip, stack::Precision precision) {
  const auto measured = [&](stack::Precision of) {
    return chip.peak[static_cast<std::size_t>(bits_of(of))] > FlopsPerSecond{};
  };
  if (measured(precision)) return {};
  std::vector<std::string_view> names;
  for (const auto& word : words(precision)) {
    if (measured(word.value)) names.emplace_back(word.name);
  }
  return fmt::format("expected {}, of which the chip has measured products, got '{}'",
                     joined_choices(names), name_of(precision));
}

}  // namespace dfsearch
