// The text goes to dot and the picture comes back through files without a name: nobody has to read
// from a pipe while somebody writes to another, and nothing is left behind.

#include "cli/graphviz.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <memory>
#include <thread>

namespace dfsearch {
namespace {

constexpr Seconds kPatience{10.0};
constexpr Seconds kMoment{1.0};  // for what was stopped before
constexpr std::size_t kMostBytes = std::size_t{4} << 20;

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

File nameless_file() { return {std::tmpfile(), &std::fclose}; }

std::string text_of(std::FILE* file) {
  std::string text;
  std::array<char, 1 << 16> piece{};
  std::rewind(file);
  while (const std::size_t got = std::fread(piece.data(), 1, piece.size(), file)) {
    text.append(piece.data(), got);
    if (text.size() > kMostBytes) break;
  }
  return text;
}

/// The new process: becomes dot, or ends with the status of a shell that does not find it.  Calls
/// only what is safe beside other threads.
[[noreturn]] void become_dot(int input, int output, pid_t parent) {
  setpgid(0, 0);  // what a terminal sends to this group is for the parent
  // Whatever ends the parent ends this, too; it may have ended already.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  for (const int ignored : {SIGPIPE, SIGXFSZ}) signal(ignored, SIG_DFL);
  const int nowhere = open("/dev/null", O_WRONLY);
  dup2(input, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  dup2(nowhere, STDERR_FILENO);
  execlp("dot", "dot", "-Tsvg", nullptr);
  _exit(127);
}

/// The process id, or 0.
pid_t start_dot(std::FILE* input, std::FILE* output) {
  const pid_t parent = getpid();
  const pid_t process = fork();
  if (process == 0) become_dot(fileno(input), fileno(output), parent);
  if (process < 0) return 0;
  setpgid(process, process);  // by both, so that it is true for both
  return process;
}

/// The exit status, or -1 for one that took too long and was killed.
int wait_for(pid_t process, const Deadline& deadline) {
  const Deadline end = deadline.has_passed() ? Deadline(kMoment) : deadline.within(kPatience);
  int status = 0;
  while (waitpid(process, &status, WNOHANG) == 0) {
    if (end.has_passed()) {
      kill(-process, SIGKILL);
      waitpid(process, &status, 0);
      return -1;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

}  // namespace

Picture draw_graph(const std::string& dot, const Deadline& deadline) {
  const File input = nameless_file();
  const File output = nameless_file();
  if (!input || !output || std::fwrite(dot.data(), 1, dot.size(), input.get()) != dot.size() ||
      std::fflush(input.get()) != 0) {
    return {"", "The graph is not drawn: a temporary file could not be written."};
  }
  std::rewind(input.get());
  const pid_t process = start_dot(input.get(), output.get());
  const int status = process == 0 ? 127 : wait_for(process, deadline);
  if (status == 127) return {"", "The graph is not drawn: Graphviz (dot) was not found."};
  if (status == -1) return {"", "The graph is not drawn: Graphviz had not ended in time."};
  const std::string text = text_of(output.get());
  if (text.size() > kMostBytes) return {"", "The graph is not drawn: its picture is too large."};
  const std::size_t begin = text.find("<svg");
  if (status != 0 || begin == text.npos) {
    return {"", "The graph is not drawn: Graphviz (dot) failed."};
  }
  return {text.substr(begin), ""};  // without the document type, which names a place in the web
}

}  // namespace dfsearch
