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

/// The text as one word of a shell, in quotes if necessary.
std::string shell_word(const std::string& text);
std::string toml_string(const std::string& text);

/// `flags` is fixed text, with values or without; `value` comes from an answer.
struct Argument {
  std::string flags;
  std::optional<std::string> value;

  [[nodiscard]] std::string text() const {
    return value ? flags + " " + shell_word(*value) : flags;
  }
  /// The words that a program receives.
  [[nodiscard]] std::vector<std::string> words() const;
};

/// Arguments and their gaps: `lacks` lists decisions left to the user, `refusals` features that
/// the framework cannot run.
struct Emitted {
  std::vector<Argument> arguments;
  std::vector<std::string> lacks;
  std::vector<std::string> refusals;

  void add(const std::string& flags) { arguments.push_back({flags, {}}); }
  void add(const std::string& key, const std::string& value) { arguments.push_back({key, value}); }
  void add(const std::string& key, std::int64_t value) { add(key, std::to_string(value)); }
  void lack(std::string what) { lacks.push_back(std::move(what)); }
  /// Adds several reasons.
  template <class Reasons>
  void refuse(const Reasons& reasons) {
    refusals.insert(refusals.end(), reasons.begin(), reasons.end());
  }
  /// Comments of both kinds, one per line.
  [[nodiscard]] std::vector<std::string> comments() const {
    std::vector<std::string> lines;
    for (const std::string& reason : refusals) lines.push_back("cannot be run: " + reason);
    lines.insert(lines.end(), lacks.begin(), lacks.end());
    return lines;
  }
};

/// A file, and the reasons why the framework cannot run its plan; none if it can.
struct EmittedFile {
  std::string text;
  std::vector<std::string> refusals;

  void add_refusals(const Emitted& emitted) {
    refusals.insert(refusals.end(), emitted.refusals.begin(), emitted.refusals.end());
  }
};

/// A comment `# ...` for each line, for the shell, TOML and YAML.
std::string comments(const std::vector<std::string>& lines);
/// A shell command over several lines, below the comments.
std::string command_text(const std::string& command, const Emitted& emitted);

/// The number type of a deployment, such as "bf16": the chosen one, or the only one; empty if a
/// fleet has several models.
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
/// The number types and the load of the best deployment of a result, one per line.
std::vector<std::string> deployment_notes(const Json& result);
std::vector<Server> servers_of(const Json& result, Framework framework);
/// Manifests for Kubernetes: a DynamoGraphDeployment of NVIDIA Dynamo (docs.nvidia.com/dynamo), or
/// values of the chart llm-d-modelservice (github.com/llm-d-incubation).
EmittedFile dynamo_manifest(const Json& result);
EmittedFile llm_d_values(const Json& result);
/// A row for a deployment or for each point of a front, with the keys of result files of InferenceX
/// (SemiAnalysis; formerly InferenceMAX), in seconds and tokens per second.
std::string inferencex_rows(const Json& result);

/// Throws InputError, with the place in the text, for each string of a plan or a deployment that is
/// not an allowed word, and for each invalid count.  `name` is the text in messages, and `result`
/// is its content.
void check_result(const Json& result, const std::string& text, const std::string& name);

}  // namespace dfsearch
