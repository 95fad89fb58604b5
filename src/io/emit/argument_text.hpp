#pragma once
// The flags of a launch script or of a TOML file, as text with its places.

#include <map>
#include <memory>
#include <string>

#include "io/text/input_messages.hpp"

namespace dfsearch {

struct FlagValue {
  std::string value;
  Place place;
};
/// Values by flag; torchtitan's by "section.key".
using Flags = std::map<std::string, FlagValue>;

/// The flags of one file; a flag that is set to two values is a mistake.
class FlagList {
 public:
  explicit FlagList(const std::string& source)
      : source_(std::make_shared<const std::string>(source)) {}

  void add(const std::string& flag, FlagValue value);
  [[nodiscard]] Place at(int line, int column) const { return {source_, line, column}; }

  Flags flags;
  InputMessages messages;

 private:
  std::shared_ptr<const std::string> source_;
};

/// Whether a text has options of a command, in a shell script or alone, or is TOML of torchtitan.
bool are_launch_arguments(const std::string& text);

/// Adds the flags of a shell script, its variables expanded, or the keys of a TOML file.
void read_flags(const std::string& text, FlagList& list);

}  // namespace dfsearch
