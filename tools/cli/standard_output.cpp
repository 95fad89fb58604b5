#include "cli/standard_output.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>

#include "base/error.hpp"
#include "io/text/input_messages.hpp"
#include "io/text/write_file.hpp"

namespace dfsearch {

void occupy_standard_descriptors() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(descriptor, F_GETFD) >= 0) continue;
    // The lowest free descriptor is this one.  Read-only for standard output:
    // writing to it must stay an error.
    static_cast<void>(open("/dev/null", descriptor == STDERR_FILENO ? O_WRONLY : O_RDONLY));
  }
}

namespace {

/// Writes the text as it is; where that fails there is nobody to tell.
void write_error(std::string_view text) {
  try {
    write_all(STDERR_FILENO, text, "standard error");
  } catch (const InputError&) {
  }
}

}  // namespace

void print(std::string_view text) { write_all(STDOUT_FILENO, printable(text), "standard output"); }

void print_error(std::string_view text) { write_error(printable(text)); }

void print_notes(const std::vector<std::string>& notes) {
  for (const std::string& note : notes) print_error(escaped(note) + "\n");
}

bool rewrites_lines() {
  const char* terminal = std::getenv("TERM");
  return isatty(STDERR_FILENO) != 0 && terminal != nullptr && std::string_view(terminal) != "dumb";
}

void rewrite_line(std::string_view text) {
  const std::string whole = escaped(text);
  std::string_view line = whole;
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1) {
    line = line.substr(0, size.ws_col - 1U);
  }
  write_error("\r" + std::string(line) + "\033[K");
}

}  // namespace dfsearch
