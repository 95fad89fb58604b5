#pragma once
// Reading input files.

#include <filesystem>
#include <string>

namespace dfsearch {

/// All of a file of at most 16 MiB, or of a pipe; throws an InputError that
/// names the file and the reason.
std::string read_file(const std::filesystem::path& file);

}  // namespace dfsearch
