#include "physics/random_configs.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "physics/numbers.hpp"

namespace dfsearch::test {

double Draws::size(int least, int most) {
  const double exponent = static_cast<double>(pick(1000 * least, 1000 * most)) / 1000.0;
  return std::floor(std::exp2(exponent));
}

std::string quantity(double amount, const char* unit) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.0f %s", amount, unit);
  return text.data();
}

namespace {

// Machines.

Json random_network(Draws& draws, std::int64_t& chips, std::int64_t most, const char* use) {
  Json network = Json::array();
  const std::int64_t dimensions = draws.one_of<std::int64_t>({0, 1, 1, 1, 2, 2, 3});
  bool open = false;  // a degree is left to the search
  for (std::int64_t d = 0; d < dimensions; ++d) {
    const std::int64_t degree = draws.one_of<std::int64_t>({1, 2, 2, 2, 3, 4, 4, 8});
    if (chips * degree > most) break;
    chips *= degree;
    Json dimension = {
        {"topology", draws.one_of<const char*>({"ring", "fully_connected", "switch"})},
        {"bandwidth", quantity(draws.size(14, 34), "B/s")}};
    if (draws.chance(75) || open) {
      dimension["degree"] = degree;
    } else {
      open = true;
    }
    const char* strategy = draws.one_of<const char*>({"tensor", "pipeline", "data"});
    if (draws.chance(50)) dimension["strategy"] = use ? use : strategy;
    if (draws.chance(35)) dimension["latency"] = quantity(draws.size(0, 16), "ns");
    network.push_back(std::move(dimension));
  }
  return network;
}

}  // namespace

Json random_system(Draws& draws, std::int64_t copies, std::int64_t most, const char* use) {
  std::int64_t chips = 1;
  Json network = random_network(draws, chips, most, use);
  Json system = {{"chips", chips * copies},
                 {"accelerator",
                  {{"cores", draws.one_of<std::int64_t>({1, 4, 8, 61, 128})},
                   {"lanes", draws.pick(1, 16)},
                   {"stages", draws.pick(1, 8)},
                   {"frequency", quantity(draws.size(14, 32), "Hz")},
                   {"sram", quantity(draws.size(10, 30), "B")}}},
                 {"memory", {{"bandwidth", quantity(draws.size(16, 36), "B/s")}}}};
  Json& memory = system["memory"];
  if (draws.chance(50)) memory["capacity"] = quantity(draws.size(12, 26), "B");
  if (memory.contains("capacity") && draws.chance(50)) {
    const double slower = std::floor(amount(memory["bandwidth"]) / draws.size(0, 8));
    memory["second"] = {{"bandwidth", quantity(slower, "B/s")},
                        {"capacity", quantity(draws.size(14, 30), "B")}};
  }
  if (!network.empty()) system["network"] = std::move(network);
  return system;
}

namespace {

/// Fewer choices for graphs of many kernels, so that they are proved at once.
Json random_execution(Draws& draws, int alone, std::int64_t partitions) {
  Json execution = Json::object();
  if (draws.chance(alone)) execution["style"] = "kernel_by_kernel";
  if (draws.chance(60)) {
    execution["overlap"] = draws.one_of<const char*>({"perfect", "none", "compute_memory"});
  }
  if (draws.chance(60)) {
    execution["compute_utilization"] = static_cast<double>(draws.pick(1, 20)) / 20.0;
  }
  if (!execution.contains("style") && (partitions < 6 || draws.chance(70))) {
    execution["partitions"] = draws.pick(1, partitions);
  }
  return execution;
}

// Transformers.

void add_attention_by_rule(Draws& draws, Json& workload) {
  const auto heads = workload["heads"].get<std::int64_t>();
  const auto head_dim = workload["head_dim"].get<std::int64_t>();
  if (head_dim > 1 && draws.chance(25)) {
    workload["latent_attention"] = {{"key_value_rank", draws.pick(1, 32)},
                                    {"query_rank", draws.chance(50) ? draws.pick(1, 32) : 0},
                                    {"rope_dim", draws.pick(1, head_dim - 1)}};
  } else {
    std::int64_t kv = draws.pick(1, heads);
    while (heads % kv != 0) --kv;
    if (draws.chance(60)) workload["kv_heads"] = kv;
    if (draws.chance(15)) workload["qk_norm"] = true;
    if (draws.chance(15)) workload["bias"] = draws.one_of<const char*>({"qkv", "all"});
  }
  if (draws.chance(20)) workload["value_dim"] = draws.one_of<std::int64_t>({4, 8, 24});
  if (draws.chance(20)) workload["window"] = draws.pick(1, 40);
}

void add_rule_keys(Draws& draws, Json& workload) {
  if (draws.chance(50)) workload["vocabulary"] = draws.pick(2, 2000);
  add_attention_by_rule(draws, workload);
  if (draws.chance(40)) workload["gated"] = draws.chance(50);
  if (draws.chance(30)) workload["norm"] = "layer";
  if (draws.chance(50)) {
    const std::int64_t count = draws.one_of<std::int64_t>({2, 4, 8, 16});
    const auto layers = workload["layers"].get<std::int64_t>();
    Json experts = {{"count", count},
                    {"used", draws.pick(1, std::min<std::int64_t>(count, 4))},
                    {"mlp", draws.pick(1, 96)}};
    if (draws.chance(30)) experts["shared"] = draws.pick(1, 2);
    if (layers > 1 && draws.chance(20)) experts["dense_layers"] = draws.pick(1, layers - 1);
    if (draws.chance(20)) experts["capacity_factor"] = 1.5;
    if (!experts.contains("dense_layers")) workload.erase("mlp");
    workload["experts"] = std::move(experts);
  }
  if (workload["kind"] == "llm_decode") {
    if (draws.chance(60)) workload["batch"] = draws.pick(1, 64);
    return;
  }
  const bool unfused = !workload.contains("latent_attention") && draws.chance(30);
  if (unfused) workload["attention"] = "unfused";
  if (!unfused && draws.chance(50))
    workload["mask"] = draws.one_of<const char*>({"full", "causal"});
}

}  // namespace

Json random_llm(Draws& draws, const char* kind) {
  const std::int64_t heads = draws.one_of<std::int64_t>({1, 2, 3, 4, 8, 16});
  const std::int64_t head_dim = draws.one_of<std::int64_t>({1, 4, 16, 32});
  const bool decode = std::string(kind) == "llm_decode";
  Json workload = {{"kind", kind},
                   {"hidden", heads * head_dim},
                   {"heads", heads},
                   {"head_dim", head_dim},
                   {decode ? "context" : "sequence", draws.one_of<std::int64_t>({1, 4, 6, 16, 64})},
                   {"layers", draws.one_of<std::int64_t>({1, 2, 3, 4, 6, 8, 12})},
                   {"global_batch", draws.one_of<std::int64_t>({1, 2, 8, 12, 24})}};
  if (draws.chance(40)) workload["mlp"] = draws.pick(1, 300);
  if (draws.chance(30)) workload["micro_batch"] = draws.one_of<std::int64_t>({1, 1, 2});
  if (draws.chance(20)) workload["word"] = quantity(draws.one_of({1.0, 4.0}), "B");
  if (!decode && draws.chance(80)) {
    workload["tile"] = draws.pick(1, workload["sequence"].get<std::int64_t>());
  }
  if (draws.chance(65)) {
    add_rule_keys(draws, workload);
    if (draws.chance(25)) workload["hidden"] = draws.pick(1, 128);
  }
  return workload;
}

namespace {

// Other workloads.

Json random_dlrm(Draws& draws, const char* kind) {
  Json workload = {{"kind", kind},
                   {"mlp", draws.pick(1, 300)},
                   {"bottom", draws.pick(1, 4)},
                   {"top", draws.pick(0, 4)},
                   {"tables", draws.pick(1, 30)},
                   {"rows", draws.pick(1, 10000)},
                   {"embedding", draws.pick(1, 64)},
                   {"pooled_rows", draws.pick(1, 20)},
                   {"local_batch", draws.pick(1, 64)},
                   {"global_batch", 96 * draws.pick(1, 3)}};
  if (draws.chance(25)) workload["all_to_all"] = quantity(draws.size(0, 20), "B");
  if (draws.chance(25)) workload["memory"] = quantity(draws.size(0, 20), "B");
  return workload;
}

Json random_hpl(Draws& draws) {
  const std::int64_t block = draws.pick(1, 16);
  const std::int64_t iterations = draws.pick(1, 8);
  return {{"kind", "hpl"},
          {"n", block * iterations + draws.pick(0, 200)},
          {"block", block},
          {"iterations", iterations}};
}

Json random_fft(Draws& draws) {
  return {{"kind", "fft"},
          {"length", static_cast<std::int64_t>(draws.size(3, 24))},
          {"radix", draws.pick(2, 16)}};
}

// Graphs whose shapes agree: each kernel reads what the one before it, or an older one, wrote.

struct Value {
  std::string name;
  std::int64_t rows;
};

Json kernel_of(Draws& draws, std::int64_t index, const Value& input, std::int64_t tokens,
               Value& output) {
  Json kernel = {{"name", "k" + std::to_string(index)}, {"N", tokens}};
  if (draws.chance(60)) {
    const std::int64_t outer = draws.chance(25) ? draws.one_of<std::int64_t>({2, 4, 8}) : 1;
    kernel["kind"] = "weight_gemm";
    if (outer > 1) kernel["outer"] = outer;
    kernel["M"] = draws.one_of<std::int64_t>({1, 3, 8, 16, 64, 256});
    kernel["K"] = input.rows;
    if (draws.chance(8)) kernel["tokens"] = draws.pick(1, 3 * tokens);
    output = {kernel["name"], outer * kernel["M"].get<std::int64_t>()};
    // What a kernel with a weight reads for each sample is its weight, in words of 2 B, or more.
    const double weight = 2.0 * static_cast<double>(output.rows * input.rows);
    if (draws.chance(10)) kernel["sharded_memory"] = quantity(weight + draws.size(0, 16), "B");
  } else {
    kernel["kind"] = "elementwise";
    kernel["M"] = input.rows;
    output = {kernel["name"], input.rows};
  }
  return kernel;
}

}  // namespace

Json random_graph(Draws& draws) {
  const std::int64_t sequence = draws.one_of<std::int64_t>({1, 6, 16, 60});
  Json workload = {{"kind", "graph"},
                   {"sequence", sequence},
                   {"layers", draws.pick(1, 8)},
                   {"global_batch", draws.one_of<std::int64_t>({1, 2, 12, 24})}};
  if (draws.chance(40)) workload["boundary"] = quantity(draws.size(0, 14), "B");
  if (draws.chance(60)) workload["tile"] = draws.pick(1, sequence);
  const std::int64_t count = draws.pick(1, 9);
  std::vector<Value> values;
  Json kernels = Json::array();
  Json tensors = Json::array();
  for (std::int64_t i = 0; i < count; ++i) {
    const Value input = values.empty()     ? Value{"", draws.one_of<std::int64_t>({8, 16, 60})}
                        : draws.chance(70) ? values.back()
                                           : values[static_cast<std::size_t>(draws.pick(
                                                 0, static_cast<std::int64_t>(values.size()) - 1))];
    Value output;
    Json kernel = kernel_of(draws, i, input, sequence, output);
    const auto other = std::find_if(values.begin(), values.end(), [&](const Value& v) {
      return v.rows == output.rows && v.name != input.name;
    });
    if (!input.name.empty()) tensors.push_back({{"from", input.name}, {"to", output.name}});
    if (kernel["kind"] == "elementwise" && other != values.end() && draws.chance(50)) {
      kernel["kind"] = "elementwise2";
      tensors.push_back({{"from", other->name}, {"to", output.name}, {"operand", 2}});
    }
    kernels.push_back(std::move(kernel));
    values.push_back(output);
  }
  workload["kernels"] = std::move(kernels);
  workload["tensors"] = std::move(tensors);
  return workload;
}

namespace {

Json random_parallelism(Draws& draws, std::initializer_list<const char*> roles) {
  Json parallelism = Json::object();
  for (const char* role : roles) {
    if (draws.chance(30)) parallelism[role] = draws.one_of<const char*>({"..2", "..4", "2..", "1"});
  }
  return parallelism;
}

}  // namespace

Json random_mapping_config(std::uint64_t seed) {
  Draws draws(seed);
  const char* kind = draws.one_of<const char*>(
      {"llm_training", "llm_prefill", "llm_prefill", "llm_decode", "llm_decode", "llm_decode",
       "dlrm_training", "dlrm_inference", "hpl", "fft", "graph", "graph", "graph", "graph"});
  const std::string name = kind;
  const char* use = name.starts_with("dlrm")         ? "data"
                    : name == "hpl" || name == "fft" ? "tensor"
                                                     : nullptr;
  Json workload = name.starts_with("llm")    ? random_llm(draws, kind)
                  : name.starts_with("dlrm") ? random_dlrm(draws, kind)
                  : name == "hpl"            ? random_hpl(draws)
                  : name == "fft"            ? random_fft(draws)
                                             : random_graph(draws);
  const int alone = name.starts_with("llm") ? 50 : 25;
  std::int64_t copies = 1;
  if (!name.starts_with("llm") && draws.chance(10)) copies = draws.pick(2, 3);
  if (copies > 1) workload["copies"] = copies;
  Json config = {{"workload", std::move(workload)},
                 {"system", random_system(draws, copies, 16, use)},
                 {"execution", random_execution(draws, alone, name.starts_with("llm") ? 3 : 6)}};
  if (!use && draws.chance(25)) {
    config["parallelism"] = random_parallelism(draws, {"tensor", "pipeline", "data"});
  }
  if (draws.chance(15)) {
    config["equations"] = {{"preset", "physical"}, {"weight_traffic", "per_sample"}};
  }
  // Kernel by kernel the loops of many kernels make many choices that cost nearly the same.
  const bool many = name != "graph" && config["execution"].contains("style");
  config["search"] = {{"sharding", many && draws.chance(90) ? "least_bytes" : "joint"}};
  return config;
}

Json random_plan_config(std::uint64_t seed) {
  Draws draws(seed + 0x10000000);
  Json workload = random_llm(draws, "llm_training");
  workload.erase("tile");
  if (!workload.contains("vocabulary")) workload["vocabulary"] = draws.pick(1, 500);
  const bool experts = workload.contains("experts");
  if (draws.chance(20)) workload["dropout"] = true;
  if (draws.chance(20)) workload["tied"] = true;
  Json system = random_system(draws, 1, 8, nullptr);
  if (system.contains("network")) {
    for (Json& dimension : system["network"]) {
      dimension.erase("strategy");
      if (draws.chance(15)) {
        dimension["strategy"] = draws.one_of<const char*>(
            {"tensor", "context", experts ? "expert" : "data", "data", "pipeline"});
      }
    }
  }
  Json execution = Json::object();
  if (draws.chance(30)) execution["overlap"] = "perfect";
  if (draws.chance(30)) execution["compute_utilization"] = 0.5;
  Json config = {{"workload", std::move(workload)},
                 {"system", std::move(system)},
                 {"execution", std::move(execution)}};
  if (draws.chance(30)) {
    config["parallelism"] = random_parallelism(draws, {"tensor", "context", "data", "pipeline"});
  }
  Json training = Json::object();
  if (draws.chance(20)) {
    training["schedule"] =
        draws.one_of<const char*>({"1f1b", "1f1b", "interleaved", "zb_h1", "gpipe"});
  }
  if (draws.chance(20)) training["zero"] = draws.pick(0, 3);
  if (draws.chance(20)) training["recompute"] = draws.one_of<const char*>({"none", "full"});
  if (draws.chance(20)) training["data_overlap"] = "no";
  config["training"] = std::move(training);
  return config;
}

Json random_states_config(std::uint64_t seed) {
  Json config = random_plan_config(seed);
  Draws draws(seed + 0x20000000);
  config["workload"].erase("word");
  config["system"]["memory"]["capacity"] =
      quantity(draws.one_of({2.205e9, 2.21e9, 2.25e9, 2.5e9, 8e9}), "B");
  config["execution"] = {
      {"stack",
       {{"from", draws.one_of<const char*>({"te", "titan", "nanotron", "megatron23", "foundry"})},
        {"states", {{"master", draws.pick(0, 8)}}}}},
      {"chip", draws.one_of<const char*>({"h100_80gb", "a100_80gb", "b200"})}};
  Json& training = config["training"];
  training.erase("data_overlap");
  training.erase("optimizer");
  training.erase("gradient");
  training["states"]["moments"] = draws.one_of({1.0, 4.0, 8.0, 12.0, 16.0, 100.0});
  if (draws.chance(50)) training["states"]["gradient"] = draws.one_of({1.0, 2.0, 4.0, 8.0});
  return config;
}

}  // namespace dfsearch::test
