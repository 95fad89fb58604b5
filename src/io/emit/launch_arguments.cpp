#include "io/emit/launch_arguments.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "io/emit/emitted.hpp"
#include "io/text/parse_json.hpp"

namespace dfsearch {

std::string comments(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += "# " + line + "\n";
  return text;
}

std::string command_text(const std::string& command, const Emitted& emitted) {
  std::string text = comments(emitted.lacks) + command;
  for (const std::string& argument : emitted.arguments) text += " \\\n  " + argument;
  return text + "\n";
}

std::string launch_arguments(const std::string& result, const std::string& name,
                             Framework framework) {
  const Json json = parse_json_object(result, name);
  const bool has_plan = json.contains("plan") && json["plan"].is_object();
  const bool has_deployment = json.contains("serving") && json["serving"].is_object() &&
                              json["serving"].contains("best") &&
                              json["serving"]["best"].is_object();
  if (trains(framework) && !has_plan) {
    throw InputError(
        fmt::format("{}: expected the result of a config with 'training' that has a "
                    "plan, for {}",
                    name, name_of(framework)));
  }
  if (!trains(framework) && !has_deployment) {
    throw InputError(
        fmt::format("{}: expected the result of a config of kind llm_serving that has "
                    "one best deployment, for {}",
                    name, name_of(framework)));
  }
  try {
    return trains(framework) ? training_arguments(json, framework)
                             : serving_arguments(json, framework);
  } catch (const Json::exception& error) {
    throw InputError(name + ": is no whole result: " + what_is_wrong(error));
  }
}

}  // namespace dfsearch
