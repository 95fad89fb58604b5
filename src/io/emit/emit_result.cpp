#include "io/emit/emit_result.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "io/chakra/step_traces.hpp"
#include "io/emit/check_result.hpp"
#include "io/emit/emitted.hpp"
#include "io/text/parse_json.hpp"

namespace dfsearch {

bool emits_plans(EmitFormat format) {
  if (format == EmitFormat::Chakra) return true;
  return format != EmitFormat::InferenceX && trains(static_cast<Framework>(format));
}

void emit_result(const std::string& result, const std::string& name, EmitFormat format,
                 const TakeFile& take) {
  const Json json = parse_json_object(result, name);
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
  check_result(json, result, name);
  try {
    if (format == EmitFormat::Chakra) return write_step_traces(json, name, take);
    take("", rows      ? inferencex_rows(json)
             : of_plan ? training_arguments(json, framework)
                       : serving_arguments(json, framework));
  } catch (const Json::exception& error) {
    throw InputError(name + ": is no whole result: " + what_is_wrong(error));
  }
}

}  // namespace dfsearch
