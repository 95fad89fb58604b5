#pragma once
// Parts that the arguments of all frameworks share.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/text/json_text.hpp"
#include "model/framework.hpp"

namespace dfsearch {

/// One word of a shell that stands for the text, in quotes if need be.
std::string shell_word(const std::string& text);
std::string toml_string(const std::string& text);

/// `flags` is text of the program itself, with values or without; `value` comes from an answer.
struct Argument {
  std::string flags;
  std::optional<std::string> value;

  [[nodiscard]] std::string text() const {
    return value ? flags + " " + shell_word(*value) : flags;
  }
  /// As a program receives it.
  [[nodiscard]] std::vector<std::string> words() const;
};

/// Arguments one by one, and their gaps: `lacks` is left to the user, `refusals` lists features
/// that the framework cannot run.
struct Emitted {
  std::vector<Argument> arguments;
  std::vector<std::string> lacks;
  std::vector<std::string> refusals;

  void add(const std::string& flags) { arguments.push_back({flags, {}}); }
  void add(const std::string& key, const std::string& value) { arguments.push_back({key, value}); }
  void add(const std::string& key, std::int64_t value) { add(key, std::to_string(value)); }
  void lack(std::string what) { lacks.push_back(std::move(what)); }
  /// All of several reasons are kept.
  template <class Reasons>
  void refuse(const Reasons& reasons) {
    refusals.insert(refusals.end(), reasons.begin(), reasons.end());
  }
  /// Comments of both kinds, a line each.
  [[nodiscard]] std::vector<std::string> comments() const {
    std::vector<std::string> lines;
    for (const std::string& reason : refusals) lines.push_back("cannot be run: " + reason);
    lines.insert(lines.end(), lacks.begin(), lacks.end());
    return lines;
  }
};

/// A file, and the reasons for which the framework cannot run its plan; none if it can.
struct EmittedFile {
  std::string text;
  std::vector<std::string> refusals;

  void add_refusals(const Emitted& emitted) {
    refusals.insert(refusals.end(), emitted.refusals.begin(), emitted.refusals.end());
  }
};

/// `# ...` for each, in the shell, TOML and YAML.
std::string comments(const std::vector<std::string>& lines);
/// A shell command over several lines, below the comments.
std::string command_text(const std::string& command, const Emitted& emitted);

/// The number type of a deployment, as in "bf16": the chosen one, or the only one; empty if a fleet
/// has several models.
std::string number_of(const Json& result, const Json& deployment, const std::string& value);

EmittedFile training_arguments(const Json& result, Framework framework);
EmittedFile serving_arguments(const Json& result, Framework framework);

struct Server {
  std::string role;  ///< prefill or decode; empty: both
  std::int64_t replicas = 1;
  std::int64_t chips = 1;
  std::int64_t node_chips = 0;  ///< chips that share the innermost network; 0: not known
  Emitted arguments;            ///< of the framework, without the model and the role
};
/// The number types and the load of the best deployment of a result, a line each.
std::vector<std::string> deployment_notes(const Json& result);
std::vector<Server> servers_of(const Json& result, Framework framework);
/// Manifests for Kubernetes: a DynamoGraphDeployment of NVIDIA Dynamo (docs.nvidia.com/dynamo), or
/// values of the chart llm-d-modelservice (github.com/llm-d-incubation).
EmittedFile dynamo_manifest(const Json& result);
EmittedFile llm_d_values(const Json& result);
/// One row, or one of each point of a front, with the keys of files of results of InferenceX
/// (SemiAnalysis; before InferenceMAX), in seconds and tokens a second.
std::string inferencex_rows(const Json& result);

/// Throws InputError, with its place in the text, for each string of a plan or a deployment that is
/// none of the words it may be, and for each count that is none.  `name` stands for the text in
/// messages, and `result` is its content.
void check_result(const Json& result, const std::string& text, const std::string& name);

}  // namespace dfsearch
