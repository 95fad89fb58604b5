#pragma once
// Other programs, which do a part of the work if they are installed.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/deadline.hpp"

namespace dfsearch {

/// How another program ended.
struct Ended {
  static constexpr int kNotFound = 127;
  static constexpr int kTooLong = -1;  ///< it was killed

  int status = 0;
  int signal = 0;  ///< signal that ended it; 0: none
  std::string output;
  std::string errors;  ///< text on its standard error
};

/// A program, its words and its input; a name without a folder is looked up in PATH.
struct Program {
  std::vector<std::string> words;
  std::string input;
  std::vector<std::string> settings;  ///< NAME=VALUE, before the variables of our own environment
  std::size_t most_output;            ///< bytes; longer output is cut somewhere beyond this length
  Seconds most_work = Seconds::infinity();  ///< limit on processor time, beside the deadline
};

/// Runs a program until the deadline; it ends with this process.  Returns nothing if temporary
/// files cannot be written.
std::optional<Ended> run_program(const Program& program, const Deadline& deadline);

/// An SVG, or a sentence with the reason why there is none.
struct Picture {
  std::string svg;
  std::string missing;
};

/// Runs the program `dot` on the text.  It may take ten seconds, as layers of thousands of kernels
/// would take hours, and must end by the deadline; if that has passed, it has a tenth of a second
/// of processor time.  It ends with this process.
Picture draw_graph(const std::string& dot, const Deadline& deadline);

}  // namespace dfsearch
