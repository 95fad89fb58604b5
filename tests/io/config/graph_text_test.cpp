#include "io/config/graph_text.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>

#include "graph/workloads/generators.hpp"
#include "io/config/load_config.hpp"
#include "io/example_problem.hpp"

namespace dfsearch {
namespace {

constexpr const char* kSystemYaml =
    "\nsystem:\n"
    "  chips: 1\n"
    "  accelerator: {cores: 4, lanes: 8, stages: 4, frequency: 1 GHz, sram: 1 MiB}\n"
    "  memory: {bandwidth: 1 GB/s}\n"
    "  network: [{topology: ring, degree: 1, bandwidth: 1 GB/s, strategy: tensor}]\n";
constexpr const char* kSystemJson =
    R"({"chips": 1, "accelerator": {"cores": 4, "lanes": 8, "stages": 4, "frequency": "1 GHz",
        "sram": "1 MiB"}, "memory": {"bandwidth": "1 GB/s"}, "network": [{"topology": "ring",
        "degree": 1, "bandwidth": "1 GB/s", "strategy": "tensor"}]})";

Workload loaded(const std::string& text) {
  const auto file = std::filesystem::temp_directory_path() /
                    ("dfsearch_graph_" + std::to_string(std::random_device()()) + ".yaml");
  std::ofstream(file) << text;
  const Workload workload = load_config(file, {}).problem.workload;
  std::filesystem::remove(file);
  return workload;
}

void check_equal(const Workload& a, const Workload& b) {
  CHECK(a.graph == b.graph);
  CHECK(a.word == b.word);
  CHECK(a.layers == b.layers);
  CHECK(a.global_batch == b.global_batch);
  CHECK(a.sequence == b.sequence);
  CHECK(a.micro_batch == b.micro_batch);
  CHECK(a.tile == b.tile);
  CHECK(a.boundary == b.boundary);
  CHECK(a.copies == b.copies);
  CHECK(a.network_use == b.network_use);
  CHECK(a.stored == b.stored);
  CHECK(a.out_of_core == b.out_of_core);
  CHECK(a.serving == b.serving);
}

void check_reads_back(const Workload& workload) {
  check_equal(loaded(graph_yaml(workload) + kSystemYaml), workload);
  std::string json = graph_json(workload);
  json.erase(json.rfind('}'));
  check_equal(loaded(json + ", \"system\": " + kSystemJson + "}"), workload);
}

/// Every field that a kernel can have, with values at odds with its defaults.  The shapes are at
/// odds with each other.
Workload odd_workload() {
  Kernel update{.name = "update 1",
                .kind = KernelKind::Gemm,
                .mode = Mode::Simd,
                .phase = Phase::Backward,
                .tiled = Loop::K,
                .outer = 3,
                .m = 5,
                .k = 7,
                .n = 11,
                .communication = Communication{.type = CommunicationType::GradientAllReduce}};
  Kernel exchange{
      .name = "null",
      .kind = KernelKind::WeightGemm,
      .mode = Mode::Systolic,
      .tiled = Loop::None,
      .m = 2,
      .k = 1,
      .n = 4,
      .communication =
          Communication{.type = CommunicationType::PointToPoint, .bytes = Bytes(1.0 / 3.0)},
      .memory = Bytes(1e13 + 0.5),
      .repeat = 9,
      .skip_weight = true,
      .spread = Spread::Grid,
      .second_communication = Communication{.type = CommunicationType::FlatGradientAllReduce},
      .sharded_memory = Bytes(0.7)};
  Kernel source{.name = "12: {a, \"b\"}", .kind = KernelKind::Elementwise2, .m = 6, .n = 8};
  Workload workload;
  workload.graph = DataflowGraph({source, exchange, update},
                                 {Tensor{.from = KernelId(0), .to = KernelId(1), .operand = 2},
                                  Tensor{.from = KernelId(0), .to = KernelId(2), .operand = 2},
                                  Tensor{.from = KernelId(1), .to = KernelId(2), .operand = 1}});
  workload.word = Bytes(0.5);
  workload.global_batch = 8;
  workload.boundary = Bytes(0.1);
  workload.micro_batch = 4;
  workload.sequence = 12;
  workload.tile = 5;
  workload.copies = 1;
  workload.network_use = NetworkUse::Tensor;
  workload.stored = Bytes(1e15 / 3.0);
  workload.out_of_core = true;
  workload.serving = {.decode = true, .tokens = 3, .boundary = Bytes(0.3)};
  return workload;
}

}  // namespace

TEST_CASE("generated workloads read back to the same graph") {
  Workload workload;
  workload.graph =
      llm_training_graph({.hidden = 1024, .heads = 8, .head_dim = 128, .sequence = 256});
  workload.layers = 12;
  workload.global_batch = 96;
  workload.sequence = 256;
  workload.boundary = Bytes(524288.0);
  check_reads_back(workload);
  check_reads_back(example_problem().workload);
  const Bytes word(2.0);
  workload.sequence = 1;
  workload.graph = llm_decode_graph(
      {.hidden = 1024, .heads = 8, .head_dim = 128, .sequence = 256, .mlp = 1000}, word);
  check_reads_back(workload);
  workload.graph = dlrm_training_graph({.mlp = 10,
                                        .bottom = 2,
                                        .top = 3,
                                        .local_batch = 4,
                                        .all_to_all = Bytes(12.5),
                                        .memory = Bytes(7.0)});
  check_reads_back(workload);
  workload.graph = hpl_graph(100, 7, 14, word);
  check_reads_back(workload);
  workload.graph = fft_graph(1000, 3, word);
  check_reads_back(workload);
}

TEST_CASE("every field and every name survives") {
  check_reads_back(odd_workload());
  Workload untiled = odd_workload();
  untiled.sequence = 1;
  untiled.tile.reset();
  check_reads_back(untiled);
}

TEST_CASE("names that YAML takes for something else are quoted") {
  const std::string yaml = graph_yaml(odd_workload());
  CHECK(yaml.find("name: \"null\"") != std::string::npos);
  CHECK(yaml.find("name: \"update 1\"") != std::string::npos);
  CHECK(yaml.find("word: 0.5 B\n") != std::string::npos);
}

TEST_CASE("the picture has kernels, tensors with bytes, and partitions with a mapping") {
  const Problem problem = example_problem();
  const std::string plain = graph_dot(problem.workload, nullptr);
  CHECK(plain.find(R"(k0 [label="A\nweight_gemm 256 x 128 x 64")") != std::string::npos);
  // 256 x 64 elements of two bytes.
  CHECK(plain.find("k0 -> k1 [label=\"32.77 kB\"];") != std::string::npos);
  CHECK(plain.find("cluster") == std::string::npos);

  const Mapping mapping = example_mapping();
  const std::string clustered = graph_dot(problem.workload, &mapping);
  CHECK(clustered.find("subgraph cluster_0 {") != std::string::npos);
  CHECK(clustered.find("subgraph cluster_1 {") == std::string::npos);
  CHECK(clustered.find("label=\"partition 2\";") != std::string::npos);
  CHECK(std::count(clustered.begin(), clustered.end(), '{') ==
        std::count(clustered.begin(), clustered.end(), '}'));
}

}  // namespace dfsearch
