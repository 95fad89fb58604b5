#include "io/config/foreign_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <system_error>

#include "base/error.hpp"
#include "io/chakra/import_trace.hpp"
#include "io/config/calculon_file.hpp"
#include "io/dfmodel/import_dfmodel.hpp"
#include "io/huggingface/import_huggingface.hpp"
#include "io/text/files.hpp"
#include "io/text/input_messages.hpp"
#include "io/text/yaml_tree.hpp"

namespace dfsearch {
namespace {

bool is_trace(std::string_view name) { return name.ends_with(".et"); }

/// The groups in PREFIX.json next to PREFIX.N.et, if that file exists.
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

/// The first line that is neither empty nor a comment.
std::string_view first_line(std::string_view text) {
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const std::size_t first = line.find_first_not_of(" \t\r");
    if (first != std::string_view::npos && line[first] != '#') return line.substr(first);
  }
  return {};
}

/// Whether the text begins as "system {" does, which is no YAML.
bool begins_as_setup(std::string_view text) {
  const std::string_view line = first_line(text);
  const std::size_t end = line.find_first_not_of("abcdefghijklmnopqrstuvwxyz_");
  const std::size_t brace = line.find_first_not_of(' ', std::min(end, line.size()));
  return end > 0 && brace != std::string_view::npos && line[brace] == '{';
}

/// Whether the text has a key that only configs of Hugging Face have.
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
    // Mistakes of a setup are reported only if the text is one.
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
  // A graph of the greatest size may have a trace of this size.
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

}  // namespace dfsearch
