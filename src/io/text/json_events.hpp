#pragma once
// JSON text as the events of yaml-cpp, ten times as fast.

#include <string>

namespace YAML {
class EventHandler;
}

namespace dfsearch {

/// Passes the values of a JSON text to the handler as yaml-cpp's parser would, with the same
/// places, since parsing large graphs as YAML takes long.  Returns false if the text is not JSON,
/// or has characters beyond ASCII, whose columns only yaml-cpp counts; the handler may then have
/// received a part of it.  Exceptions of the handler pass through.
bool handle_json(const std::string& text, YAML::EventHandler& handler);

}  // namespace dfsearch
