#pragma once
// Standard output and standard error; everything the program prints goes here.  Control characters
// of names and files would steer the terminal that shows them, so they are printed as escapes.

#include <string>
#include <string_view>
#include <vector>

namespace dfsearch {

/// Makes descriptors 0 to 2 exist, so that no result file is opened as one of
/// them and gets the report.  To be called first.
void occupy_standard_descriptors();

/// Throws InputError if standard output is closed or full.
void print(std::string_view text);

/// Ignores failures, since there is nowhere left to report them.
void print_error(std::string_view text);

/// A line each.
void print_notes(const std::vector<std::string>& notes);

/// Whether standard error is a terminal where a line can be rewritten, which `TERM=dumb` denies.
bool rewrites_lines();

/// In place of the line that is open on standard error, cut to its width: a longer one would scroll.
void rewrite_line(std::string_view text);

}  // namespace dfsearch
