// Writes the inputs that the fuzzers begin with, one folder for each target: what the
// repository holds of configs and setups, and what dfsearch itself writes.
//
// usage: fuzz_seeds FOLDER, from the root of the repository

#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "engine/solve.hpp"
#include "fuzz/checkpoint_input.hpp"
#include "fuzz/fuzz_target.hpp"
#include "fuzz/problems.hpp"
#include "io/checkpoint/checkpoint_file.hpp"
#include "io/config/load_config.hpp"
#include "io/dfmodel/import_dfmodel.hpp"
#include "io/result/result_json.hpp"
#include "io/text/files.hpp"
#include "milp/column_names.hpp"
#include "milp/fusion_matrices.hpp"
#include "model/evaluate.hpp"

namespace fs = std::filesystem;
using namespace dfsearch;

namespace {

// Larger ones cost a fuzzer more time than they show it.
constexpr std::size_t kLargest = 5000;

class Seeds {
 public:
  Seeds(fs::path folder, const std::string& target) : folder_(std::move(folder) / target) {
    fs::create_directories(folder_);
  }
  void put(const std::string& name, const std::string& content) const {
    if (content.size() <= kLargest) write_file(folder_ / name, content);
  }

 private:
  fs::path folder_;
};

std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  return files;
}

/// `from:` is relative to configs/ in an input.
std::string without_parent_folders(std::string text) {
  for (std::size_t at = text.find("../"); at != std::string::npos; at = text.find("../")) {
    text.erase(at, 3);
  }
  return text;
}

void put_configs(const Seeds& configs, const Seeds& setups) {
  for (const char* const folder : {"configs", "configs/figures", "configs/published",
                                   "configs/training", "tests/fuzz/problems"}) {
    for (const fs::path& file : files_in(folder)) {
      configs.put(file.filename(), without_parent_folders(read_file(file)));
    }
  }
  for (const fs::path& file : files_in("tests/data/dfmodel")) {
    const std::string text = read_file(file);
    setups.put(file.filename(), text);
    configs.put("imported_" + file.stem().string() + ".yaml", import_dfmodel(text, "setup"));
  }
}

void put_mapping(const Seeds& mappings, char letter) {
  const Problem& problem = fuzz::problem_for(letter);
  const auto verdict = evaluate(problem, fuzz::mapping_for(letter));
  const Outcome outcome = Outcome::of(problem, fuzz::mapping_for(letter), verdict);
  mappings.put(std::string(1, letter) + "_result.json", letter + result_json(outcome));
}

void put_solution(const Seeds& solutions, char letter) {
  const DataflowGraph& graph = fuzz::problem_for(letter).workload.graph;
  const Mapping& mapping = fuzz::mapping_for(letter);
  const MilpNames names(graph);
  std::string fusion(1, letter);
  std::string sharding(1, letter);
  for (std::size_t k = 0; k < graph.kernel_count(); ++k) {
    const std::string name = names.of(KernelId(k));
    const std::string index = std::to_string(mapping.partition[k]);
    fusion += "A[" + name + "," + index + "] 1\n";
    if (!mapping.cores.empty()) {
      const CoreGrid& grid = mapping.cores[k];
      fusion += "Y(" + name + "," + std::to_string(grid.lanes) + "x" + std::to_string(grid.stages) +
                "," + index + ") 1\n";
    }
    sharding += "S[" + name + "," + std::string(name_of(mapping.sharding[k])) + "] 1\n";
  }
  solutions.put(std::string(1, letter) + "_fusion.sol", fusion);
  solutions.put(std::string(1, letter) + "_sharding.sol", sharding);
}

/// What a search for one answer or for several leaves when it is stopped early,
/// later, and not at all.
void put_checkpoints(const Seeds& checkpoints, char letter) {
  const Problem& problem = fuzz::problem_for(letter);
  for (const std::int64_t nodes : {1, 4, 20, 60, 1'000'000}) {
    std::string last;
    SearchOptions options{.limits = {.nodes = nodes}};
    options.top = fuzz::answers_for(letter);
    // Short pieces of work, so that there are nodes inside a fusion, too.
    options.node_effort.steps = 4;
    options.on_checkpoint = [&](const SearchState& state) {
      last = fuzz::content_of(checkpoint_bytes(problem, state));
    };
    solve(problem, options);
    checkpoints.put(std::string(1, letter) + "_" + std::to_string(nodes) + ".cbor", letter + last);
  }
}

void make_seeds(const fs::path& folder) {
  put_configs(Seeds(folder, "config"), Seeds(folder, "dfmodel"));
  const Seeds mappings(folder, "mapping");
  const Seeds solutions(folder, "solution");
  const Seeds checkpoints(folder, "checkpoint");
  for (std::size_t i = 0; i < fuzz::kProblems; ++i) {
    const auto letter = static_cast<char>('a' + i);
    put_mapping(mappings, letter);
    put_solution(solutions, letter);
    put_checkpoints(checkpoints, letter);
    put_checkpoints(checkpoints, static_cast<char>('a' + fuzz::kProblems + i));
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc != 2) throw std::runtime_error("usage: fuzz_seeds FOLDER");
    make_seeds(argv[1]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "fuzz_seeds: %s\n", error.what());
    return 1;
  }
  return 0;
}
