// The reader is part of the package of Python (tools/python/dfsearch/_graphs.py), as the shapes of a
// model are inferred by the package onnx.

#include "cli/commands.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "base/error.hpp"
#include "cli/child_process.hpp"
#include "cli/option_values.hpp"
#include "io/config/foreign_file.hpp"

namespace dfsearch {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostOfModel = std::size_t{1} << 30;
// The second sees the packages of the distribution.
constexpr const char* kInterpreters[] = {"python3", "/usr/bin/python3"};
constexpr int kRead = 0, kWrongModel = 2;

/// PYTHONPATH=..., with the package of this build or installation before all others.
std::string python_path() {
  std::error_code error;
  const fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  std::string path = "PYTHONPATH=" + (folder / "python").string() + ":" +
                     (folder / ".." / DFSEARCH_PYTHON_FOLDER).lexically_normal().string();
  if (const char* own = std::getenv("PYTHONPATH")) path += std::string(":") + own;
  return path;
}

/// Each line that the reader says is a message; of an interpreter that failed, the last one.
std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    if (end > at) lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

std::string read_onnx(const CommandLine& line) {
  std::vector<std::string> words = {"", "-m", "dfsearch", "import", line.config};
  for (const std::string& size : line.sizes) words.insert(words.end(), {"--size", size});
  if (!line.unknown_operators.empty())
    words.insert(words.end(), {"--unknown", line.unknown_operators});
  std::string why = "there is none";
  for (const char* interpreter : kInterpreters) {
    words.front() = interpreter;
    std::optional<Ended> done = run_program(
        {.words = words, .input = "", .settings = {python_path()}, .most_output = kMostOfModel},
        Deadline());
    if (!done) throw InputError(line.config + ": a temporary file could not be written");
    if (done->output.size() > kMostOfModel)
      throw InputError(line.config + ": its graph is too large");
    if (done->status == kRead) return std::move(done->output);
    std::vector<std::string> said = lines_of(done->errors);
    if (done->status == kWrongModel && !said.empty()) throw InputError(std::move(said));
    if (!said.empty()) why = said.back();
  }
  throw InputError(line.config +
                   ": a model of ONNX needs python3 with the packages dfsearch and onnx (of Debian "
                   "python3-dfsearch and python3-onnx): " +
                   why);
}

}  // namespace

void import_onnx(CommandLine& line) {
  if (is_onnx(line.config)) {
    line.imported = read_onnx(line);
  } else if (!line.unknown_operators.empty()) {
    usage_error("--unknown: only models of ONNX have operators, expected MODEL.onnx");
  } else if (!line.sizes.empty()) {
    usage_error("--size: only models of ONNX have dimensions with names, expected MODEL.onnx");
  }
}

}  // namespace dfsearch
