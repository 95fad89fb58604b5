#pragma once
// Standard output and standard error; everything the program prints goes here.

#include <string_view>

namespace dfsearch {

/// Makes descriptors 0 to 2 exist, so that no result file is opened as one of
/// them and gets the report.  To be called first.
void occupy_standard_descriptors();

/// Throws InputError if standard output is closed or full.
void print(std::string_view text);

/// Where that fails there is nobody to tell.
void print_error(std::string_view text);

}  // namespace dfsearch
