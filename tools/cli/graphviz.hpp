#pragma once
// Pictures of graphs by Graphviz, where it is installed.

#include <string>

#include "base/deadline.hpp"

namespace dfsearch {

/// An SVG, or why there is none, in a whole sentence.
struct Picture {
  std::string svg;
  std::string missing;
};

/// Runs the program `dot` on the text.  It gets ten seconds, as layers of thousands of kernels would
/// take it hours, and no more than there is until the deadline; a second if that has passed.  It
/// ends with this process.
Picture draw_graph(const std::string& dot, const Deadline& deadline);

}  // namespace dfsearch
