#pragma once
// JSON text as the events of yaml-cpp, ten times as fast.

#include <string>

namespace YAML {
class EventHandler;
}

namespace dfsearch {

/// Hands the values of a text that is JSON to the handler as yaml-cpp's parser would, with the same
/// places; JSON is YAML, but large graphs take long as such.  False if the text is not JSON, or has
/// characters beyond ASCII, whose columns only yaml-cpp counts: then the handler has received a
/// part of it at most.  Exceptions of the handler pass through.
bool handle_json(const std::string& text, YAML::EventHandler& handler);

}  // namespace dfsearch
