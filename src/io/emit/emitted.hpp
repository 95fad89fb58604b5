#pragma once
// What is common to the arguments of all frameworks.

#include <string>
#include <vector>

#include "io/emit/launch_arguments.hpp"
#include "io/text/json_text.hpp"

namespace dfsearch {

/// Arguments one by one, and what the framework cannot do.
struct Emitted {
  std::vector<std::string> arguments;
  std::vector<std::string> lacks;

  template <class Value>
  void add(const std::string& key, const Value& value);
  void add(const std::string& flag) { arguments.push_back(flag); }
  void lack(std::string what) { lacks.push_back(std::move(what)); }
};

template <class Value>
void Emitted::add(const std::string& key, const Value& value) {
  if constexpr (std::is_arithmetic_v<Value>) {
    arguments.push_back(key + " " + std::to_string(value));
  } else {
    arguments.push_back(key + " " + value);
  }
}

/// `# ...` for each.
std::string comments(const std::vector<std::string>& lines);
/// A shell command over several lines, below the comments.
std::string command_text(const std::string& command, const Emitted& emitted);

std::string training_arguments(const Json& result, Framework framework);
std::string serving_arguments(const Json& result, Framework framework);

}  // namespace dfsearch
