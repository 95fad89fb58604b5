// DLRM, HPL, FFT and decoding as setups of DFModel and back.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <random>
#include <string>
#include <variant>
#include <vector>

#include "engine/solve.hpp"
#include "graph/workloads/fft.hpp"
#include "io/checkpoint/problem_fingerprint.hpp"
#include "io/dfmodel/dfmodel_setups.hpp"
#include "support/random_problem.hpp"

namespace dfsearch {
namespace {

using test::check_refused;
using test::imported;
using test::imported_text;
using test::pick;
using test::replaced;
using test::round_trip;
using test::setup;

/// A graph that DFModel has a generator for, or the 20 kernels of decoding.
bool is_concerned(WorkloadKind kind) {
  return is_dlrm(kind) || kind == WorkloadKind::Hpl || kind == WorkloadKind::Fft ||
         kind == WorkloadKind::LlmDecode;
}

/// Prices and powers that are left out are written as zero.
Problem with_prices(Problem problem) {
  problem.system.price.link.resize(problem.system.network.size());
  problem.system.power.link.resize(problem.system.network.size());
  return problem;
}

/// A setup has one count of passes and pairs; where a graph has no such collective, or
/// the network makes two counts one, a config may say another.
Problem with_equations(Problem problem, const Equations& equations) {
  problem.equations = equations;
  return problem;
}

/// Returns whether there is one.
bool check_same_optimum(const Problem& before, const Problem& after) {
  const SearchResult a = solve(before, {});
  const SearchResult b = solve(after, {});
  CHECK(a.status == b.status);
  REQUIRE(a.mapping.has_value() == b.mapping.has_value());
  if (!a.mapping) return false;
  CHECK(a.cost->step_time == b.cost->step_time);
  CHECK(*a.mapping == *b.mapping);
  return true;
}

/// The graph of decoding comes back as one of kind `graph`, so what can be compared is
/// what it costs; the others come back as the same problem to the last bit.  Returns
/// whether the problem has an optimum.
bool check_round_trip(const Config& config) {
  const std::string text = export_dfmodel(config, "config");
  const Config again = imported_text(text);
  CHECK(export_dfmodel(again, "config") == text);
  const Problem& before = config.problem;
  if (before.workload.kind != WorkloadKind::LlmDecode) {
    CHECK(again.problem.workload.kind == before.workload.kind);
    const Problem same = with_equations(with_prices(before), again.problem.equations);
    CHECK(fingerprint_of(again.problem) == fingerprint_of(same));
  }
  return check_same_optimum(before, again.problem);
}

// ---- random configs -----------------------------------------------------------

struct RandomNetwork {
  std::string yaml;
  std::int64_t chips = 1;  ///< of a copy
};

/// One of the topologies of DFModel; degrees are given or left to the search.
RandomNetwork random_network(std::mt19937_64& random, bool all_given) {
  static const std::vector<std::vector<const char*>> kTopologies = {
      {"ring"},
      {"fully_connected"},
      {"switch"},
      {"ring", "ring"},
      {"fully_connected", "fully_connected"},
      {"ring", "fully_connected"},
      {"ring", "switch"},
      {"switch", "switch"},
      {"ring", "ring", "ring"},
      {"ring", "switch", "switch"},
      {"switch", "switch", "switch"}};
  const auto& topologies = kTopologies[static_cast<std::size_t>(
      pick(random, 0, static_cast<std::int64_t>(kTopologies.size()) - 1))];
  const std::int64_t latency = pick(random, 0, 1) * pick(random, 1, 300);
  RandomNetwork network;
  for (std::size_t d = 0; d < topologies.size(); ++d) {
    const std::int64_t degree = pick(random, 1, 4);
    network.chips *= degree;
    network.yaml += fmt::format("    - {{topology: {}, bandwidth: {}.{} GB/s", topologies[d],
                                pick(random, 1, 900), pick(random, 0, 99));
    if (all_given || pick(random, 0, 2) > 0) network.yaml += fmt::format(", degree: {}", degree);
    if (latency > 0) network.yaml += fmt::format(", latency: {} ns", latency);
    if (all_given) network.yaml += d == 0 ? ", strategy: tensor" : ", strategy: pipeline";
    network.yaml += "}\n";
  }
  return network;
}

/// Everything around a workload; copies are side by side.
std::string random_config(std::mt19937_64& random, const std::string& workload, std::int64_t copies,
                          const RandomNetwork& network, const std::string& equations) {
  const bool single = pick(random, 0, 1) == 0;
  const std::array overlaps = {"perfect", "none", "compute_memory"};
  std::string text = "workload: {" + workload + "}\nsystem:\n";
  text += fmt::format(
      "  chips: {}\n  accelerator: {{cores: {}, lanes: {}, stages: {}, frequency: {}.{} GHz, "
      "sram: {} kB}}\n  memory: {{bandwidth: {}.{} GB/s}}\n  network:\n{}",
      network.chips * copies, pick(random, 30, 99), pick(random, 1, 9), pick(random, 1, 9),
      pick(random, 1, 3), pick(random, 0, 999), pick(random, 100, 9000), pick(random, 1, 900),
      pick(random, 0, 999), network.yaml);
  text += fmt::format(
      "execution: {{{}, overlap: {}{}}}\n", single ? "style: kernel_by_kernel" : "partitions: 4",
      overlaps[static_cast<std::size_t>(pick(random, 0, 2))],
      pick(random, 0, 1) == 0 ? fmt::format(", compute_utilization: 0.{}", pick(random, 1, 9))
                              : "");
  text += fmt::format(
      "price: {{accelerator: {}, memory: 1.{}, link: 2.{}, switch: 24}}\n"
      "power: {{accelerator: {}, memory: 0.{}, switch: 0.{}}}\n",
      pick(random, 1, 9999), pick(random, 0, 999), pick(random, 0, 999), pick(random, 1, 999),
      pick(random, 1, 99999), pick(random, 1, 99999));
  return text + "equations: {preset: published" + equations + "}\n";
}

std::string random_pairs(std::mt19937_64& random) {
  return pick(random, 0, 1) == 0 ? ", all_to_all_pairs: n_n1_2" : "";
}

std::string random_dlrm(std::mt19937_64& random, std::string kind) {
  const std::int64_t copies = pick(random, 1, 3);
  const RandomNetwork network = random_network(random, false);
  std::string text = fmt::format(
      "kind: {}, mlp: {}, bottom: {}, top: {}, tables: {}, rows: {}, embedding: {}, local_batch: "
      "{}, global_batch: {}, word: {} B, copies: {}",
      kind, pick(random, 1, 200), pick(random, 1, 2), pick(random, 0, 2), pick(random, 1, 700),
      pick(random, 1, 1'000'000), pick(random, 1, 99), pick(random, 1, 99),
      pick(random, 1, 9) * network.chips, pick(random, 1, 8), copies);
  if (pick(random, 0, 2) > 0) {
    text += fmt::format(", pooled_rows: {}", pick(random, 1, 30));
  } else {
    // Multiples of the chips: each has a share that gives the whole again.
    text += fmt::format(", all_to_all: {} B, memory: {}.25 B",
                        network.chips * pick(random, 0, 1'000'000), pick(random, 0, 1'000'000));
  }
  return random_config(random, text, copies, network, random_pairs(random));
}

std::string random_hpl(std::mt19937_64& random) {
  const std::int64_t copies = pick(random, 1, 3);
  const std::int64_t block = pick(random, 1, 500);
  const std::int64_t iterations = pick(random, 1, 6);
  const std::string text = fmt::format(
      "kind: hpl, n: {}, block: {}, iterations: {}, word: {} B, copies: {}",
      block * iterations + pick(random, 0, 3000), block, iterations, pick(random, 1, 8), copies);
  return random_config(random, text, copies, random_network(random, false), "");
}

std::string random_fft(std::mt19937_64& random) {
  const std::int64_t copies = pick(random, 1, 3);
  // Next to a square as often as not.
  std::int64_t length = pick(random, 1, std::int64_t{1} << pick(random, 0, 44));
  if (pick(random, 0, 1) == 0) {
    const auto side = static_cast<std::int64_t>(std::sqrt(static_cast<double>(length)));
    length = std::max<std::int64_t>(1, side * side - pick(random, 0, 1));
  }
  const std::string text = fmt::format(
      "kind: fft, length: {}, radix: {}, word: {} B, copies: {}", length,
      pick(random, 2, std::int64_t{1} << pick(random, 1, 12)), pick(random, 1, 8), copies);
  return random_config(random, text, copies, random_network(random, false), random_pairs(random));
}

std::string random_decode(std::mt19937_64& random) {
  const std::int64_t heads = pick(random, 1, 5);
  // Heads of one element make operands of one size, which no setup tells apart.
  const std::int64_t head_dim = pick(random, 2, 40);
  std::string text = fmt::format(
      "kind: llm_decode, hidden: {}, heads: {}, head_dim: {}, mlp: {}, context: {}, layers: {}, "
      "global_batch: {}, word: {} B",
      heads * head_dim, heads, head_dim, pick(random, 1, 400), pick(random, 1, 4000),
      pick(random, 1, 40), pick(random, 1, 40), pick(random, 1, 4));
  if (pick(random, 0, 1) == 0) text += ", micro_batch: 1";
  const std::string equations = fmt::format(", all_reduce_passes: {}", pick(random, 1, 2));
  return random_config(random, text, 1, random_network(random, true), equations);
}

template <class Make>
void check_random(const char* kind, Make make) {
  constexpr int kSeeds = 48;
  int solved = 0;
  for (int seed = 1; seed <= kSeeds; ++seed) {
    std::mt19937_64 random(static_cast<std::uint64_t>(seed));
    const std::string text = make(random);
    INFO(kind, ", seed ", seed, "\n", text);
    solved += check_round_trip(parse_config(text, "config"));
  }
  CHECK(solved > kSeeds / 2);
}

std::vector<std::string> configs_in(const std::string& folder) {
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".yaml") found.push_back(entry.path().string());
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

TEST_CASE("the configs of DLRM, HPL, FFT and decoding survive DFModel's form") {
  int count = 0;
  for (const char* folder : {"configs", "configs/figures", "configs/published"}) {
    for (const std::string& file : configs_in(folder)) {
      const auto any = load_any_config(file, {});
      const Config* config = std::get_if<Config>(&any);
      if (config == nullptr || !is_concerned(config->problem.workload.kind)) continue;
      // Arrays of DFModel keep their output.
      if (config->problem.system.accelerator.dataflow != Dataflow::Output) continue;
      INFO(file);
      check_round_trip(*config);
      ++count;
    }
  }
  CHECK(count >= 20);
}

TEST_CASE("the workloads of DLRM, HPL, FFT and decoding survive it on a dragonfly of 40 chips") {
  int count = 0;
  for (const std::string& file : configs_in("configs/workloads")) {
    const std::string name = std::filesystem::path(file).filename().string();
    // Decoding needs to know what the dimensions serve, the others know it.
    const bool decode = name.find("decode") != std::string::npos;
    const std::string text =
        "workload: {from: workloads/" + name +
        "}\nsystem:\n  from: systems/h100_32x32_torus.yaml\n  chips: 40\n  network:\n"
        "    - {topology: fully_connected, degree: 8, bandwidth: 450 GB/s" +
        (decode ? ", strategy: tensor" : "") +
        "}\n    - {topology: fully_connected, degree: 5, bandwidth: 50 GB/s" +
        (decode ? ", strategy: pipeline" : "") +
        "}\nexecution: {style: kernel_by_kernel}\nequations: published\n";
    const Config config = parse_config(text, "configs/" + name);
    if (!is_concerned(config.problem.workload.kind)) continue;
    INFO(name);
    check_round_trip(config);
    ++count;
  }
  CHECK(count == 4);
}

TEST_CASE("random configs of DLRM survive DFModel's form") {
  check_random("training", [](auto& random) { return random_dlrm(random, "dlrm_training"); });
  check_random("inference", [](auto& random) { return random_dlrm(random, "dlrm_inference"); });
}
TEST_CASE("random configs of HPL survive DFModel's form") { check_random("hpl", random_hpl); }
TEST_CASE("random configs of FFT survive DFModel's form") { check_random("fft", random_fft); }
TEST_CASE("random configs of decoding survive DFModel's form") {
  check_random("decode", random_decode);
}

TEST_CASE("a DLRM is written as DFModel's generator makes it") {
  const std::string text = export_dfmodel(imported("dlrm_training"), "config");
  const auto has = [&](const std::string& line) { return text.find(line) != std::string::npos; };
  // 4 tables * 5 rows * 6 wide * 16 samples * 2 B = 3840 B, shared by 8 chips.
  CHECK(has(
      "communication_type: ALL_TO_ALL\n      communication_size: 480\n      memory_size: 3840"));
  CHECK(
      has("dlrm {\n    num_table: 4\n    emb_dim: 6\n    row: 1000\n    global_batch_size: 4096"));
  // The gradient of a weight of 48 x 48.
  CHECK(has("communication_type: ALL_REDUCE_PERIODIC\n      communication_size: 4608\n"));
}

TEST_CASE("embeddings that the chips cannot share in doubles come back all the same") {
  const auto config_of = [](int chips, const std::string& all_to_all, const std::string& memory) {
    return parse_config(
        fmt::format("workload: {{kind: dlrm_inference, mlp: 8, bottom: 1, top: 1, tables: 1, "
                    "rows: 1, embedding: 1, local_batch: 1, global_batch: {0}, all_to_all: {1} B, "
                    "memory: {2} B}}\n"
                    "system:\n  chips: {0}\n  accelerator: {{cores: 4, lanes: 2, stages: 2, "
                    "frequency: 1 GHz, sram: 1 MB}}\n  memory: {{bandwidth: 1 GB/s}}\n"
                    "  network: [{{topology: ring, degree: {0}, bandwidth: 1 GB/s}}]\n"
                    "equations: published\n",
                    chips, all_to_all, memory),
        "config");
  };
  // What is read from memory tells what was divided.
  for (const std::string bytes : {"0.9", "1000", "123456789.7", "1e15"}) {
    for (const int chips : {3, 5, 7, 11, 49, 1000}) {
      INFO(chips, " chips, ", bytes, " B");
      CHECK(check_round_trip(config_of(chips, bytes, bytes)));
    }
  }
  // Else the last digit goes: no double times 3 is 0.9.
  const Config config = config_of(3, "0.9", "1");
  const Workload again = round_trip(config).problem.workload;
  const double bytes = again.graph.kernels()[0].communication->bytes.in_base_units();
  CHECK(bytes != 0.9);
  CHECK(bytes == doctest::Approx(0.9).epsilon(1e-15));
}

TEST_CASE("the longest FFT keeps its side, whose square is no double") {
  // 2^54 - 1 is stored as 2^54, the root of which is one too many.
  Config config = imported("fft");
  const std::int64_t length = (std::int64_t{1} << 54) - 1;
  config.problem.workload.graph = fft_graph(length, 4, config.problem.workload.word);
  config.problem.workload.stored = static_cast<double>(length) * config.problem.workload.word;
  const Workload again = round_trip(config).problem.workload;
  CHECK(again.graph.kernels().front().m == (std::int64_t{1} << 27) - 1);
  CHECK(again.graph == config.problem.workload.graph);
  CHECK(again.stored == config.problem.workload.stored);
}

TEST_CASE("loops that a setup of a generator's graph shards are pinned") {
  const std::string forward = "tiling: NO_TILING }\n}\nkernels {\n  name: \"MLP_2\"";
  const std::string sharded = "sharding: K_SHARDING " + forward;
  const Config config = imported_text(replaced(setup("dlrm_training"), forward, sharded));
  REQUIRE(config.problem.sharding_pins.size() == 9);
  CHECK(config.problem.sharding_pins[0] == Loop::K);
  CHECK(!config.problem.sharding_pins[1]);
  CHECK(round_trip(config).problem.sharding_pins == config.problem.sharding_pins);
}

TEST_CASE("what DFModel has no field for in DLRM, HPL, FFT and decoding is refused by key") {
  const auto refused = [](const std::string& file, const std::string& key, auto change) {
    Config config = load_config("configs/" + file, {});
    change(config.problem);
    INFO(file);
    check_refused(config, key);
  };
  refused("dlrm.yaml", "equations.all_reduce_passes",
          [](Problem& p) { p.equations.all_reduce_passes = 1; });
  refused("fft.yaml", "equations.all_to_all_pairs",
          [](Problem& p) { p.equations.all_to_all_pairs = PairCount::QuarterSquare; });
  refused("hpl.yaml", "equations", [](Problem& p) { p.equations = Equations::physical(); });
  refused("hpl.yaml", "system.network",
          [](Problem& p) { p.system.network[0].topology = Topology::Switch; });
  refused("dlrm.yaml", "workload", [](Problem& p) { p.workload.embedding_tables->rows += 1; });
  refused("llama3_8b_decode.yaml", "system.network",
          [](Problem& p) { p.system.network[0].degree.reset(); });
  refused("llama3_8b_decode.yaml", "system.network",
          [](Problem& p) { p.system.network[0].strategy.reset(); });
  // Communication and spread are known by the kind alone.
  refused("dlrm.yaml", "workload.kernels",
          [](Problem& p) { p.workload.kind = WorkloadKind::Graph; });
  refused("hpl.yaml", "workload.kernels",
          [](Problem& p) { p.workload.kind = WorkloadKind::Graph; });
}

TEST_CASE("pairs that are counted as auto counts them need no field") {
  Config config = load_config("configs/fft.yaml", {});
  config.problem.equations.all_to_all_pairs = PairCount::HalfSquare;  // on a torus
  CHECK(round_trip(config).problem.equations.all_to_all_pairs == PairCount::Auto);
  check_round_trip(config);
}

}  // namespace dfsearch
