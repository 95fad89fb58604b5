#pragma once
// A result for other programs: launch arguments of frameworks that train and serve, traces for
// simulators, rows of benchmarks.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "model/framework.hpp"

namespace dfsearch {

struct AnswerJson;

/// The formats: first the frameworks, then other programs.
enum class EmitFormat : std::uint8_t {
  Chakra = words(Framework{}).size(),
  InferenceX,
  Dynamo,
  LlmD
};
struct EmitFormatRow {
  EmitFormat value;
  const char* name;
  const char* content;
};
inline constexpr std::array kEmitFormatRows = {
    EmitFormatRow{EmitFormat::Chakra, "chakra", "traces of the step of a plan"},
    EmitFormatRow{EmitFormat::InferenceX, "inferencex", "rows of a deployment or a front"},
    EmitFormatRow{EmitFormat::Dynamo, "dynamo", "a DynamoGraphDeployment of Kubernetes"},
    EmitFormatRow{EmitFormat::LlmD, "llm-d", "values of the chart llm-d-modelservice"}};
constexpr auto words(EmitFormat) {
  constexpr auto kFrameworks = words(Framework{});
  constexpr auto kOthers = words_of(kEmitFormatRows);
  std::array<Word<EmitFormat>, kFrameworks.size() + kOthers.size()> all{};
  for (std::size_t i = 0; i < kFrameworks.size(); ++i) {
    all[i] = {kFrameworks[i].name, static_cast<EmitFormat>(kFrameworks[i].value)};
  }
  std::copy(kOthers.begin(), kOthers.end(), all.begin() + kFrameworks.size());
  return all;
}

/// Whether the format describes a plan of training; else a deployment.
bool emits_plans(EmitFormat format);

/// Called for each file with the ending of its name, empty for a single file, and its bytes.
using TakeFile = std::function<void(const std::string& ending, const std::string& bytes)>;

/// Whether a plan that a framework cannot run is written, below comments, or not at all.
enum class Unrunnable : std::uint8_t { Write, Refuse };

/// Writes a result (docs/results.md) in a format: the arguments of its plan or deployment, below
/// comments on their gaps; for Chakra the traces of the plan, several files; for InferenceX
/// rows of the deployment or of the front; for Dynamo a manifest, for llm-d the values of a chart.
/// `name` is the result in messages; `text` is its text if it is from a user, and is then checked.
/// Returns the reasons why the framework cannot run a plan that is not written; empty if it can.
/// Throws InputError for a result that lacks data for the format.
std::vector<std::string> emit_result(const AnswerJson& result, const std::string& name,
                                     EmitFormat format, Unrunnable unrunnable, const TakeFile& take,
                                     const std::string& text = "");

/// A line for each refusal, "r.json: megatron cannot run this: ...", and advice.
std::vector<std::string> refusal_notes(const std::string& name, EmitFormat format,
                                       const std::vector<std::string>& refusals);

}  // namespace dfsearch
