// The reader is part of the Python package (tools/python/dfsearch/_onnx.py), since the package onnx
// infers the shapes of a model.

#include "cli/commands.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "base/error.hpp"
#include "cli/child_process.hpp"
#include "cli/signals.hpp"
#include "io/config/foreign_file.hpp"

namespace dfsearch {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostOfModel = std::size_t{1} << 30;
// The second interpreter finds the packages of the distribution.
constexpr const char* kInterpreters[] = {"python3", "/usr/bin/python3"};
constexpr int kRead = 0, kWrongModel = 2, kNoPackage = 3;

/// PYTHONPATH=..., with the package of this build or installation before all others.
std::string python_path() {
  std::error_code error;
  const fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  std::string path = "PYTHONPATH=" + (folder / "python").string() + ":" +
                     (folder / ".." / DFSEARCH_PYTHON_FOLDER).lexically_normal().string();
  if (const char* own = std::getenv("PYTHONPATH")) path += std::string(":") + own;
  return path;
}

/// The lines that the reader prints.  If Python failed, only the last line is a message, else all.
std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    if (end > at) lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

/// Whether the interpreter or one of the packages dfsearch and onnx is missing.
bool is_missing(const Ended& done, const std::string& last) {
  return done.status == Ended::kNotFound || done.status == kNoPackage ||
         (done.signal == 0 &&
          (last.find("No module named") != std::string::npos || last.starts_with("ImportError")));
}

/// Throws if the reader neither read the model nor reported an error.
[[noreturn]] void refuse_crash(const CommandLine& line, const Ended& done,
                               const std::string& last) {
  const std::string how =
      done.signal != 0
          ? fmt::format("was ended by signal {} ({})", done.signal,
                        sigdescr_np(done.signal) != nullptr ? sigdescr_np(done.signal) : "unknown")
          : fmt::format("failed with status {}", done.status);
  throw InputError(fmt::format(
      "{}: the reader of models of ONNX, python3 -m dfsearch import, {}{}{}: the model may be "
      "damaged, or need more memory than there is; run the reader by itself to see more",
      line.config, how, last.empty() ? "" : ": ", last));
}

std::string read_onnx(const CommandLine& line, const Deadline& deadline) {
  std::vector<std::string> words = {"", "-m", "dfsearch", "import", line.config};
  for (const std::string& size : line.sizes) words.insert(words.end(), {"--size", size});
  if (!line.unknown_operators.empty())
    words.insert(words.end(), {"--unknown", line.unknown_operators});
  std::string why = "there is none";
  for (const char* interpreter : kInterpreters) {
    words.front() = interpreter;
    std::optional<Ended> done = run_program(
        {.words = words, .input = "", .settings = {python_path()}, .most_output = kMostOfModel},
        deadline);
    if (!done) throw InputError(line.config + ": a temporary file could not be written");
    if (done->status == Ended::kTooLong) throw StoppedInput{.by_signal = deadline.is_stopped()};
    if (done->output.size() > kMostOfModel)
      throw InputError(line.config + ": its graph is too large");
    std::vector<std::string> said = lines_of(done->errors);
    if (done->status == kRead) {
      for (const std::string& note : said) {
        if (note.starts_with(line.config + ": note: ")) fmt::print(stderr, "{}\n", note);
      }
      return std::move(done->output);
    }
    if (done->status == kWrongModel && !said.empty()) throw InputError(std::move(said));
    const std::string last = said.empty() ? "" : said.back();
    if (!is_missing(*done, last)) refuse_crash(line, *done, last);
    if (!last.empty()) why = last;
  }
  throw InputError(line.config +
                   ": a model of ONNX needs python3 with the packages dfsearch and onnx (of Debian "
                   "python3-dfsearch and python3-onnx): " +
                   why);
}

}  // namespace

void import_onnx(CommandLine& line) {
  if (is_onnx(line.config)) {
    const SignalsStop signals;
    line.imported =
        read_onnx(line, input_deadline(line.search.time_limit, line.begin, signals.flag()));
  } else if (!line.unknown_operators.empty()) {
    usage_error("--unknown: only models of ONNX have operators, expected MODEL.onnx");
  } else if (!line.sizes.empty()) {
    usage_error("--size: only models of ONNX have dimensions with names, expected MODEL.onnx");
  }
}

}  // namespace dfsearch
