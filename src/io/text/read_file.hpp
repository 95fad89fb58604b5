#pragma once
// Reading input files.

#include <cstddef>
#include <filesystem>
#include <string>

namespace dfsearch {

/// All of a file of at most `most` bytes, a multiple of 2^20, or of a pipe; throws
/// an InputError that names the file and the reason.
std::string read_file(const std::filesystem::path& file, std::size_t most = std::size_t{16} << 20);

}  // namespace dfsearch
