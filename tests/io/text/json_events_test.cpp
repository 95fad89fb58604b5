// JSON read as such against the same text read as YAML.

#include "io/text/json_events.hpp"

#include <doctest/doctest.h>
#include <yaml-cpp/eventhandler.h>

#include <cstdint>
#include <random>
#include <string>

#include "base/error.hpp"
#include "io/text/yaml_tree.hpp"

namespace dfsearch {
namespace {

using Random = std::mt19937_64;

std::string blanks(Random& random) {
  static const char* const kBlanks[] = {"", "", " ", "\n", "\n  ", "   "};
  return kBlanks[random() % 6];
}

std::string random_text(Random& random) {
  static const char* const kParts[] = {"a",   "GB/s", " ",    ":",       ", ", "#", "{", "]",
                                       "\\n", "\\\"", "\\\\", "\\u0041", "'",  "-", "~", "null"};
  std::string text = "\"";
  for (std::size_t i = random() % 5; i > 0; --i) text += kParts[random() % 16];
  return text + "\"";
}

/// JSON with places that differ and values that YAML might take for something else.
std::string random_json(Random& random, int depth) {
  const std::uint64_t kind = random() % (depth > 0 ? 7 : 5);
  if (kind == 0) return "null";
  if (kind == 1) return random() % 2 == 0 ? "true" : "false";
  if (kind == 2) return std::to_string(static_cast<std::int64_t>(random() % 2000) - 1000);
  if (kind == 3) return std::to_string(random() % 100) + ".50e-" + std::to_string(random() % 9);
  if (kind == 4) return random_text(random);
  std::string text = kind == 5 ? "[" : "{";
  const std::size_t count = random() % 4;
  for (std::size_t i = 0; i < count; ++i) {
    text += (i > 0 ? "," : "") + blanks(random);
    if (kind == 6) {
      // yaml-cpp wants the colon in the same line.
      text += "\"k" + std::to_string(random() % 6) + (random() % 2 == 0 ? "\": " : "\" : ");
    }
    text += random_json(random, depth - 1) + blanks(random);
  }
  return text + (kind == 5 ? "]" : "}");
}

/// The tree with its places, or the error.
std::string drawn(const YamlNode& node) {
  std::string text = std::to_string(static_cast<int>(node.type)) + "@" +
                     std::to_string(node.place.line) + ":" + std::to_string(node.place.column) +
                     "'" + node.scalar + "'(";
  for (const YamlNode& item : node.items) text += drawn(item) + ",";
  for (const YamlEntry& entry : node.entries) {
    text += entry.key + "@" + std::to_string(entry.place.line) + ":" +
            std::to_string(entry.place.column) + "=" + drawn(entry.value) + ",";
  }
  return text + ")";
}

std::string tree_or_error(const std::string& text) {
  try {
    return drawn(parse_yaml(text, "text", true));
  } catch (const InputError& error) {
    return error.what();
  }
}

bool is_read_as_json(const std::string& text) {
  class Ignored final : public YAML::EventHandler {
    void OnDocumentStart(const YAML::Mark& /*mark*/) override {}
    void OnDocumentEnd() override {}
    void OnNull(const YAML::Mark& /*mark*/, YAML::anchor_t /*anchor*/) override {}
    void OnAlias(const YAML::Mark& /*mark*/, YAML::anchor_t /*anchor*/) override {}
    void OnScalar(const YAML::Mark& /*mark*/, const std::string& /*tag*/, YAML::anchor_t /*anchor*/,
                  const std::string& /*value*/) override {}
    void OnSequenceStart(const YAML::Mark& /*mark*/, const std::string& /*tag*/,
                         YAML::anchor_t /*anchor*/, YAML::EmitterStyle::value /*style*/) override {}
    void OnSequenceEnd() override {}
    void OnMapStart(const YAML::Mark& /*mark*/, const std::string& /*tag*/,
                    YAML::anchor_t /*anchor*/, YAML::EmitterStyle::value /*style*/) override {}
    void OnMapEnd() override {}
  } ignored;
  return handle_json(text, ignored);
}

}  // namespace

TEST_CASE("JSON has the values, places and errors of the same text as YAML") {
  int duplicates = 0;
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const std::string text = blanks(random) + "{\"key\": " + random_json(random, 4) + "}\n";
    CAPTURE(text);
    // A comment is no JSON.
    const std::string yaml = text + "# YAML\n";
    REQUIRE(is_read_as_json(text));
    REQUIRE_FALSE(is_read_as_json(yaml));
    const std::string expected = tree_or_error(yaml);
    CHECK(tree_or_error(text) == expected);
    duplicates += expected.find("duplicate") != std::string::npos;
  }
  CHECK(duplicates > 20);
}

TEST_CASE("what is no JSON of plain characters is left to YAML") {
  for (const char* text : {"", "a: 1", "{a: 1}", "{\"a\": 1", "[1, 2,]", "{\"a\": 1} {}", "7",
                           "{\"a\": \"\xC3\xA9\"}", "{\"a\": 1}\r\n", "[1e999]"}) {
    CAPTURE(text);
    CHECK_FALSE(is_read_as_json(text));
  }
}

TEST_CASE("JSON nested too deeply is refused on the way down") {
  const std::string text = std::string(101, '[') + std::string(101, ']');
  CHECK_THROWS_WITH(parse_yaml(text, "text", true),
                    "text:1:101: nested too deeply, expected at most 100 levels");
}

}  // namespace dfsearch
