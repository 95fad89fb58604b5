#include "io/text/read_file.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>
#include <string_view>
#include <system_error>

#include "base/error.hpp"
#include "io/text/input_messages.hpp"

namespace dfsearch {
namespace {

[[noreturn]] void cannot_read(const std::filesystem::path& file, std::string_view why) {
  InputMessages messages;
  messages.add({.source = std::make_shared<const std::string>(file.string())}, "", why);
  messages.throw_if_any();
  throw InternalError("an input message was lost");
}

}  // namespace

std::string read_file(const std::filesystem::path& file, std::size_t most) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(file, error);
  if (!std::filesystem::exists(status)) {
    cannot_read(
        file,
        "cannot read: " +
            (error ? error : std::make_error_code(std::errc::no_such_file_or_directory)).message());
  }
  if (std::filesystem::is_directory(status)) cannot_read(file, "is a directory, expected a file");
  errno = 0;
  std::ifstream stream(file, std::ios::binary);
  if (!stream) cannot_read(file, std::string("cannot read: ") + std::strerror(errno));
  // In pieces, since pipes and devices have no size.
  std::string text;
  std::string piece(std::size_t{1} << 16, '\0');
  while (stream) {
    stream.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    text.append(piece, 0, static_cast<std::size_t>(stream.gcount()));
    if (text.size() > most) cannot_read(file, fmt::format("is larger than {} MiB", most >> 20));
  }
  if (stream.bad()) cannot_read(file, std::string("cannot read: ") + std::strerror(errno));
  return text;
}

}  // namespace dfsearch
