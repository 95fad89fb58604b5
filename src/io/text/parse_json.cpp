#include "io/text/parse_json.hpp"

#include "base/error.hpp"

namespace dfsearch {
namespace {

constexpr int kDeepestValue = 64;

}  // namespace

std::string what_is_wrong(const Json::exception& error) {
  const std::string text = error.what();
  const std::size_t end = text.find("] ");
  return end == std::string::npos ? text : text.substr(end + 2);
}

Json parse_json_object(const std::string& text, const std::string& name) {
  if (text.find_first_not_of(" \t\r\n") == std::string::npos) {
    throw InputError(name + ": is empty, expected a JSON object, as --json FILE writes one");
  }
  const auto shallow = [&](int depth, Json::parse_event_t, Json&) {
    if (depth > kDeepestValue) throw InputError(name + ": is nested too deep to be a result");
    return true;
  };
  try {
    Json json = Json::parse(text, shallow);
    if (json.is_object()) return json;
  } catch (const Json::exception& error) {
    throw InputError(name + ": is no JSON: " + what_is_wrong(error));
  }
  throw InputError(name + ": is no result, expected a JSON object");
}

}  // namespace dfsearch
