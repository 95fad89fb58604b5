// Texts are passed to and from a program through unnamed files: unlike with pipes, reading and
// writing cannot block each other, and nothing is left behind.

#include "cli/child_process.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <memory>
#include <thread>

namespace dfsearch {
namespace {

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

File nameless_file() { return {std::tmpfile(), &std::fclose}; }

std::string text_of(std::FILE* file, std::size_t most) {
  std::string text;
  std::array<char, 1 << 16> piece{};
  std::rewind(file);
  while (const std::size_t got = std::fread(piece.data(), 1, piece.size(), file)) {
    text.append(piece.data(), got);
    if (text.size() > most) break;
  }
  return text;
}

/// Words in the form of execvpe: pointers, ended by a null.
std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> all;
  for (const std::string& word : words) all.push_back(const_cast<char*>(word.c_str()));
  return all;
}

/// Arguments and environment of the new process, made before it begins.
struct Start {
  std::vector<char*> words, environment;
  std::array<int, 3> files;  // standard input, output and error
  pid_t parent;
};

/// Replaces the new process by the program, or exits with the status of a shell that does not find
/// it.  Calls only functions that are safe after a fork of several threads.
[[noreturn]] void become(const Start& start) {
  setpgid(0, 0);  // signals of the terminal are for the parent only
  // The child must end with the parent, which may have ended already.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != start.parent) _exit(1);
  for (const int ignored : {SIGPIPE, SIGXFSZ}) signal(ignored, SIG_DFL);
  for (int i = 0; i < 3; ++i) dup2(start.files[static_cast<std::size_t>(i)], i);
  execvpe(start.words.front(), start.words.data(), start.environment.data());
  _exit(Ended::kNotFound);
}

/// Processor time that the process has used.
Seconds used_by(pid_t process) {
  clockid_t clock{};
  timespec used{};
  if (clock_getcpuclockid(process, &clock) != 0 || clock_gettime(clock, &used) != 0) return {};
  return Seconds(static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec));
}

/// Waits for the process; kills it if it takes too long.
Ended wait_for(pid_t process, const Deadline& end, Seconds most_work) {
  int status = 0;
  while (waitpid(process, &status, WNOHANG) == 0) {
    if (end.has_passed() || used_by(process) > most_work) {
      kill(-process, SIGKILL);
      waitpid(process, &status, 0);
      return {.status = Ended::kTooLong, .output = "", .errors = ""};
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return {.status = WIFEXITED(status) ? WEXITSTATUS(status) : 1,
          .signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0,
          .output = "",
          .errors = ""};
}

}  // namespace

std::optional<Ended> run_program(const Program& program, const Deadline& deadline) {
  const File input = nameless_file(), output = nameless_file(), errors = nameless_file();
  if (!input || !output || !errors ||
      std::fwrite(program.input.data(), 1, program.input.size(), input.get()) !=
          program.input.size() ||
      std::fflush(input.get()) != 0) {
    return std::nullopt;
  }
  std::rewind(input.get());
  Start start{.words = pointers(program.words),
              .environment = pointers(program.settings),
              .files = {fileno(input.get()), fileno(output.get()), fileno(errors.get())},
              .parent = getpid()};
  for (char** own = environ; *own != nullptr; ++own) start.environment.push_back(*own);
  start.words.push_back(nullptr);
  start.environment.push_back(nullptr);
  const pid_t process = fork();
  if (process == 0) become(start);
  if (process < 0) return Ended{.status = Ended::kNotFound, .output = "", .errors = ""};
  setpgid(process, process);  // both processes call it, so that neither is too early
  Ended ended = wait_for(process, deadline, program.most_work);
  constexpr std::size_t kMostErrors = std::size_t{1} << 16;
  ended.output = text_of(output.get(), program.most_output);
  ended.errors = text_of(errors.get(), kMostErrors);
  return ended;
}

namespace {

constexpr Seconds kPatience{10.0};
// Limits of time and of processor time if the deadline has passed: on a busy machine, the same work
// takes more time.
constexpr Seconds kMoment{1.0}, kWorkOfMoment{0.1};
constexpr std::size_t kMostBytes = std::size_t{4} << 20;

}  // namespace

Picture draw_graph(const std::string& dot, const Deadline& deadline) {
  const bool is_late = deadline.has_passed();
  const Deadline end = is_late ? Deadline(kMoment) : deadline.within(kPatience);
  const std::optional<Ended> done =
      run_program({.words = {"dot", "-Tsvg"},
                   .input = dot,
                   .settings = {},
                   .most_output = kMostBytes,
                   .most_work = is_late ? kWorkOfMoment : Seconds::infinity()},
                  end);
  if (!done) return {"", "The graph is not drawn: a temporary file could not be written."};
  if (done->status == Ended::kNotFound) {
    return {"", "The graph is not drawn: Graphviz (dot) was not found."};
  }
  if (done->status == Ended::kTooLong) {
    return {"", "The graph is not drawn: Graphviz had not ended in time."};
  }
  const std::string& text = done->output;
  if (text.size() > kMostBytes) return {"", "The graph is not drawn: its picture is too large."};
  const std::size_t begin = text.find("<svg");
  if (done->status != 0 || begin == text.npos) {
    return {"", "The graph is not drawn: Graphviz (dot) failed."};
  }
  return {text.substr(begin), ""};  // without the document type, which has a web address
}

}  // namespace dfsearch
