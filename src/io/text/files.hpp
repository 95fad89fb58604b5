#pragma once
// Reading input files, and writing files so that a reader sees the old or the new content, never a
// part of it.

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/deadline.hpp"

namespace dfsearch {

/// Throws an InputError if write_file is bound to fail: the directory is
/// missing or not writable, the target is a directory or may not be written.
/// Leaves nothing behind.  Call it before a long search, during which the disk may
/// still fill up.
void check_writable(const std::filesystem::path& file);

/// Writes beside the target, flushes to disk and renames; a symbolic link keeps pointing to the new
/// content.  Devices and pipes are written directly; a pipe waits for a reader until the deadline,
/// or a moment if that has passed.  Every failure is an InputError that names the file and the
/// reason, and leaves the old file as it was.
void write_file(const std::filesystem::path& file, std::string_view text,
                const Deadline& deadline = {});

/// Writes the whole text to an open descriptor; `name` is for the InputError.
void write_all(int descriptor, std::string_view text, const std::string& name);

/// The content of a file or a pipe, at most `most` bytes, a multiple of 2^20; throws
/// an InputError that names the file and the reason.
std::string read_file(const std::filesystem::path& file, std::size_t most = std::size_t{16} << 20);

}  // namespace dfsearch
