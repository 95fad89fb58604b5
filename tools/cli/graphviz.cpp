// The text goes to dot and the picture comes back through files without a name: nobody has to read
// from a pipe while somebody writes to another, and nothing is left behind.

#include "cli/graphviz.hpp"

#include <fcntl.h>
#include <spawn.h>
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

constexpr std::chrono::seconds kPatience{10};
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

/// The process id, or 0.
pid_t start_dot(std::FILE* input, std::FILE* output) {
  posix_spawn_file_actions_t actions{};
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, fileno(input), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, fileno(output), STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  std::array<char, 4> name{"dot"};
  std::array<char, 6> format{"-Tsvg"};
  const std::array<char*, 3> words = {name.data(), format.data(), nullptr};
  pid_t process = 0;
  const int failed = posix_spawnp(&process, "dot", &actions, nullptr, words.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  return failed == 0 ? process : 0;
}

/// The exit status, or -1 for one that took too long and was killed.
int wait_for(pid_t process) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  int status = 0;
  while (waitpid(process, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > end) {
      kill(process, SIGKILL);
      waitpid(process, &status, 0);
      return -1;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

}  // namespace

Picture draw_graph(const std::string& dot) {
  const File input = nameless_file();
  const File output = nameless_file();
  if (!input || !output || std::fwrite(dot.data(), 1, dot.size(), input.get()) != dot.size() ||
      std::fflush(input.get()) != 0) {
    return {"", "The graph is not drawn: a temporary file could not be written."};
  }
  std::rewind(input.get());
  const pid_t process = start_dot(input.get(), output.get());
  const int status = process == 0 ? 127 : wait_for(process);
  if (status == 127) return {"", "The graph is not drawn: Graphviz (dot) was not found."};
  if (status == -1) return {"", "The graph is not drawn: Graphviz took more than ten seconds."};
  const std::string text = text_of(output.get());
  if (text.size() > kMostBytes) return {"", "The graph is not drawn: its picture is too large."};
  const std::size_t begin = text.find("<svg");
  if (status != 0 || begin == text.npos) {
    return {"", "The graph is not drawn: Graphviz (dot) failed."};
  }
  return {text.substr(begin), ""};  // without the document type, which names a place in the web
}

}  // namespace dfsearch
