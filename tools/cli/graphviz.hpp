#pragma once
// Pictures of graphs by Graphviz, where it is installed.

#include <string>

namespace dfsearch {

/// An SVG, or why there is none, in a whole sentence.
struct Picture {
  std::string svg;
  std::string missing;
};

/// Runs the program `dot` on the text.  It gets ten seconds: layers of thousands of kernels
/// would take it hours.
Picture draw_graph(const std::string& dot);

}  // namespace dfsearch
