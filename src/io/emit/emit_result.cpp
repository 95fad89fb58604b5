#include "io/emit/emit_result.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "io/chakra/import_trace.hpp"
#include "io/emit/emitted.hpp"
#include "io/result/result_json.hpp"
#include "io/text/json_text.hpp"

namespace dfsearch {

bool emits_plans(EmitFormat format) {
  if (format == EmitFormat::Chakra) return true;
  return format < EmitFormat::Chakra && trains(static_cast<Framework>(format));
}

std::vector<std::string> emit_result(const AnswerJson& result, const std::string& name,
                                     EmitFormat format, Unrunnable unrunnable, const TakeFile& take,
                                     const std::string& text) {
  const Json& json = result.tree;
  const auto has = [](const Json& map, const char* key) {
    return map.contains(key) && map[key].is_object();
  };
  const auto framework = static_cast<Framework>(format);
  const bool rows = format == EmitFormat::InferenceX;
  const bool of_plan = emits_plans(format);
  if (of_plan && !has(json, "plan")) {
    throw InputError(
        fmt::format("{}: expected the result of a config with 'training' that has a "
                    "plan, for {}",
                    name, name_of(format)));
  }
  const bool has_front = rows && has(json, "serving") && json["serving"].contains("front") &&
                         !json["serving"]["front"].empty();
  if (!of_plan && !(has(json, "serving") && has(json["serving"], "best")) && !has_front) {
    throw InputError(
        fmt::format("{}: expected the result of a config of kind llm_serving that has "
                    "one best deployment, for {}",
                    name, name_of(format)));
  }
  if (!text.empty()) check_result(json, text, name);
  try {
    if (format == EmitFormat::Chakra) {
      write_step_traces(json, name, take);
      return {};
    }
    EmittedFile emitted = rows ? EmittedFile{.text = inferencex_rows(json)}
                          : format == EmitFormat::Dynamo ? dynamo_manifest(json)
                          : format == EmitFormat::LlmD   ? llm_d_values(json)
                          : of_plan                      ? training_arguments(json, framework)
                                                         : serving_arguments(json, framework);
    if (unrunnable == Unrunnable::Refuse && !emitted.refusals.empty()) return emitted.refusals;
    take("", emitted.text);
    return {};
  } catch (const Json::exception& error) {
    throw InputError(name + ": is not a complete result: " + what_is_wrong(error));
  }
}

std::vector<std::string> refusal_notes(const std::string& name, EmitFormat format,
                                       const std::vector<std::string>& refusals) {
  std::vector<std::string> notes;
  for (const std::string& refusal : refusals) {
    notes.push_back(fmt::format("{}: {} cannot run this: {}", name, name_of(format), refusal));
  }
  notes.push_back(
      fmt::format("{}: nothing is written: search again with '{}: {}', or use emit --anyway", name,
                  emits_plans(format) ? "training.framework" : "serving.framework",
                  format < EmitFormat::Chakra ? name_of(format) : name_of(Framework::Vllm)));
  return notes;
}

}  // namespace dfsearch
