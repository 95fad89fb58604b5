#pragma once
// Other programs that do a part of the work where they are installed.

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
  int signal = 0;  ///< that ended it by itself; 0: none
  std::string output;
  std::string errors;  ///< text on its standard error
};

/// A program, its words and its input; a name without a folder is looked up in PATH.
struct Program {
  std::vector<std::string> words;
  std::string input;
  std::vector<std::string> settings;  ///< NAME=VALUE, before the variables of our own environment
  std::size_t most_output;            ///< bytes; of more a part is given that is longer than this
  Seconds most_work = Seconds::infinity();  ///< limit on processor time, beside the deadline
};

/// Runs it until the deadline; it ends with this process.  Nothing if there is no room for
/// temporary files.
std::optional<Ended> run_program(const Program& program, const Deadline& deadline);

/// An SVG, or why there is none, in a whole sentence.
struct Picture {
  std::string svg;
  std::string missing;
};

/// Runs the program `dot` on the text.  It gets ten seconds, as layers of thousands of kernels
/// would take it hours, and no more than there is until the deadline; a tenth of a second of the
/// processor if that has passed.  It ends with this process.
Picture draw_graph(const std::string& dot, const Deadline& deadline);

}  // namespace dfsearch
