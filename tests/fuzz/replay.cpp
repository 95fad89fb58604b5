// Runs a fuzz target on files: the files of the given folders, without generating more.  It
// replaces libFuzzer for compilers without it.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

#include "fuzz/fuzz_target.hpp"
#include "io/text/files.hpp"

namespace fs = std::filesystem;

namespace {

constexpr std::chrono::seconds kLongest{5};

std::vector<fs::path> files_of(int count, char** arguments) {
  std::vector<fs::path> files;
  for (int i = 1; i < count; ++i) {
    // A folder that nothing was found for is not there.
    if (!fs::is_directory(arguments[i])) continue;
    for (const auto& entry : fs::directory_iterator(arguments[i])) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// What is wrong with it; empty if nothing is.
std::string complaint(const std::string& input) {
  const auto begin = std::chrono::steady_clock::now();
  try {
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
  } catch (const std::exception& error) {
    return error.what();
  }
  return std::chrono::steady_clock::now() - begin > kLongest ? "took more than five seconds" : "";
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<fs::path> files = files_of(argc, argv);
  int findings = 0;
  for (const fs::path& file : files) {
    // Told before, so that a crash has a name.
    std::printf("%s\n", file.c_str());
    std::fflush(stdout);
    const std::string wrong = complaint(dfsearch::read_file(file));
    if (wrong.empty()) continue;
    ++findings;
    std::printf("  %s\n", wrong.c_str());
  }
  std::printf("%zu inputs, %d findings\n", files.size(), findings);
  return files.empty() || findings > 0 ? 1 : 0;
}
