// Random configs of all kinds but mappings of layers and plans at the rates of a config, which are
// in random_configs.cpp.

#include <algorithm>
#include <array>
#include <cmath>

#include "physics/numbers.hpp"
#include "physics/random_configs.hpp"

namespace dfsearch::test {
namespace {

/// Some of the values, at least one, in their order.
Json some_of(Draws& draws, std::initializer_list<Json> values) {
  Json some = Json::array();
  for (const Json& value : values) {
    if (draws.chance(60)) some.push_back(value);
  }
  if (some.empty()) some.push_back(draws.one_of(values));
  return some;
}

double share(Draws& draws, int least = 1) {
  return static_cast<double>(draws.pick(least, 20)) / 20.0;
}

}  // namespace

// Plans with a stack.

Json random_stack_config(std::uint64_t seed) {
  Draws draws(seed + 0x20000000);
  struct Measured {
    const char* system;
    const char* chip;
    bool has_8bit;
  };
  const Measured on = draws.one_of<Measured>({{"h100_dgx", "h100_80gb", true},
                                              {"h200_dgx", "h200", true},
                                              {"b200_dgx", "b200", true},
                                              {"a100_dgx", "a100_80gb", false},
                                              {"a100_dgx", "a100_80gb_100GBps_node", false}});
  const std::int64_t heads = draws.one_of<std::int64_t>({8, 16, 32, 64});
  const std::int64_t hidden = heads * draws.one_of<std::int64_t>({64, 128});
  const std::int64_t chips = draws.one_of<std::int64_t>({1, 2, 4, 8, 16, 32, 64});
  Json workload = {{"kind", "llm_training"},
                   {"hidden", hidden},
                   {"heads", heads},
                   {"head_dim", hidden / heads},
                   {"kv_heads", draws.one_of<std::int64_t>({heads, heads / 4, 8})},
                   {"mlp", hidden * draws.one_of<std::int64_t>({1, 3, 4})},
                   {"gated", draws.chance(60)},
                   {"layers", draws.one_of<std::int64_t>({2, 4, 8, 12, 24})},
                   {"vocabulary", draws.one_of<std::int64_t>({1000, 32000, 128000})},
                   {"sequence", draws.one_of<std::int64_t>({128, 1024, 4096, 16384})},
                   {"global_batch", chips * draws.one_of<std::int64_t>({1, 2, 8})},
                   {"mask", "causal"}};
  if (draws.chance(25)) {
    workload["experts"] = {{"count", draws.one_of<std::int64_t>({8, 32})},
                           {"used", draws.pick(1, 4)},
                           {"mlp", hidden / draws.one_of<std::int64_t>({1, 2, 4})}};
  }
  Json execution = {
      {"stack", draws.one_of<const char*>({"te", "te_graphs", "titan", "titan_eager", "foundry",
                                           "megatron23", "megatron_ds", "nanotron"})},
      {"chip", on.chip}};
  if (draws.chance(50)) {
    execution["chip"] = {{"from", on.chip}, {"nic", quantity(draws.size(18, 35), "B/s")}};
  }
  if (on.has_8bit && draws.chance(25)) execution["precision"] = "fp8-cs";
  Json config = {{"workload", std::move(workload)},
                 {"system", {{"from", on.system}, {"chips", chips}}},
                 {"execution", std::move(execution)},
                 {"training", Json::object()}};
  const std::int64_t tensor = draws.one_of<std::int64_t>({1, 1, 2, 8, 16});
  const std::int64_t stages = draws.one_of<std::int64_t>({1, 2, 4, 8, 16});
  if (draws.chance(40) && chips % (tensor * stages) == 0) {
    config["parallelism"] = {
        {"tensor", tensor}, {"pipeline", stages}, {"data", chips / (tensor * stages)}};
  } else if (draws.chance(50)) {
    Json& parallelism = config["parallelism"] = Json::object();
    parallelism[draws.one_of<const char*>({"tensor", "pipeline", "context", "data"})] =
        draws.one_of<std::int64_t>({2, 4, 8, 16});
  }
  if (draws.chance(20)) config["training"]["zero"] = draws.pick(0, 3);
  return config;
}

// Executions, and the shares of peaks that plans may have as well.

namespace {

/// Shares of the peak by the work of a kernel.
Json random_steps(Draws& draws, const char* unit, int most) {
  Json steps = Json::array();
  double work = draws.size(most - 8, most);
  for (std::int64_t i = draws.pick(0, 2); i > 0 && work > 2.0; --i) {
    steps.push_back({quantity(work, unit), share(draws, 8)});
    work = std::floor(work / draws.size(1, 8));
  }
  steps.push_back({quantity(0.0, unit), share(draws, 4)});
  return steps;
}

Json random_memory(Draws& draws, double bandwidth, double capacity) {
  return {{"capacity", quantity(capacity, "B")},
          {"bandwidth", quantity(bandwidth, "B/s")},
          {"efficiency", random_steps(draws, "B", 28)}};
}

Json random_networks(Draws& draws) {
  Json networks = Json::array();
  for (std::int64_t i = draws.pick(1, 3); i > 0; --i) {
    Json network = {{"size", draws.one_of<std::int64_t>({2, 4, 8, 64, 1024})},
                    {"bandwidth", quantity(draws.size(26, 40), "B/s")}};
    if (draws.chance(30)) network["filled"] = true;
    if (draws.chance(50)) network["efficiency"] = share(draws, 8);
    if (draws.chance(50)) network["latency"] = quantity(draws.size(0, 14), "ns");
    if (draws.chance(50)) network["processor_usage"] = share(draws) / 4.0;
    if (draws.chance(60)) {
      // Shares of the bytes that rings send, (n - 1)/n each way, or more.
      const double ways = draws.one_of({1.0, 1.5});
      network["reduce_scatter"] = {ways, -1};
      network["all_gather"] = {ways, -1};
      network["all_reduce"] = {2.0 * ways, -1};
    }
    networks.push_back(std::move(network));
  }
  return networks;
}

}  // namespace

Json random_rated_plan_config(std::uint64_t seed) {
  Draws draws(seed + 0x80000000);
  Json config = random_plan_config(seed + 0x100000);
  Json& execution = config["execution"];
  if (draws.chance(60)) {
    execution.erase("compute_utilization");
    execution["efficiency"] = {
        {"matrix", {{"efficiency", random_steps(draws, "FLOP", 30)}}},
        {"vector", {{"of_matrix", 0.25}, {"efficiency", random_steps(draws, "FLOP", 24)}}},
        {"memory", {{"efficiency", random_steps(draws, "B", 26)}}}};
  }
  if (draws.chance(50)) {
    execution["style"] = "dataflow";
    execution["partitions"] = draws.pick(1, 3);
  }
  return config;
}

Json random_execution_config(std::uint64_t seed) {
  Draws draws(seed + 0x30000000);
  const std::int64_t heads = draws.one_of<std::int64_t>({1, 2, 3, 4, 8, 16, 32});
  const std::int64_t head_dim = draws.one_of<std::int64_t>({8, 32, 64, 128});
  const std::int64_t hidden = draws.chance(80) ? heads * head_dim : draws.pick(1, 32) * heads;
  const std::int64_t mlp = draws.chance(80) ? 4 * hidden : draws.pick(1, 5000);
  const std::int64_t layers = draws.one_of<std::int64_t>({1, 2, 3, 4, 8, 12, 24});
  const std::int64_t chips = draws.one_of<std::int64_t>({1, 2, 4, 6, 8, 16, 32});
  const std::int64_t batch = chips * draws.one_of<std::int64_t>({1, 2, 4, 12});
  const double states = 18.0 * static_cast<double>(layers) *
                        static_cast<double>(4 * hidden * heads * head_dim + 2 * hidden * mlp) /
                        static_cast<double>(chips);
  const double bandwidth = draws.size(28, 43);
  Json memory = random_memory(draws, bandwidth, std::floor(states * draws.size(-1, 8)) + 64.0);
  if (draws.chance(50)) {
    memory["second"] = random_memory(draws, std::floor(bandwidth / draws.size(1, 8)),
                                     std::floor(states * draws.size(0, 6)) + 64.0);
  }
  const double peak = draws.size(32, 50);
  Json calculon = Json::object();
  calculon[draws.chance(70) ? "global_batch" : "maximum_batch"] = batch;
  const auto give = [&](const char* key, std::initializer_list<Json> values) {
    if (draws.chance(15)) calculon[key] = draws.one_of(values);
  };
  give("micro_batch", {1, 2});
  give("recompute", {"full", "attn", "none"});
  give("communication", {"ar", "p2p", "rs"});
  give("overlap", {"none", "ring", "pipe"});
  give("data_overlap", {true, false});
  give("sharding", {true, false});
  give("tensor", {1, 2, 4});
  give("pipeline", {1, 2, 4});
  if (!memory.contains("second") || draws.chance(30)) calculon["offload"] = "none";
  return {{"workload",
           {{"kind", draws.chance(75) ? "llm_training" : "llm_prefill"},
            {"hidden", hidden},
            {"mlp", mlp},
            {"sequence", draws.one_of<std::int64_t>({16, 64, 512, 2048})},
            {"heads", heads},
            {"head_dim", head_dim},
            {"layers", layers}}},
          {"system",
           {{"chips", chips},
            {"matrix",
             {{"peak", quantity(peak, "FLOP/s")}, {"efficiency", random_steps(draws, "FLOP", 34)}}},
            {"vector",
             {{"peak", quantity(std::floor(peak / 8.0), "FLOP/s")},
              {"efficiency", random_steps(draws, "FLOP", 30)}}},
            {"memory", std::move(memory)},
            {"networks", random_networks(draws)}}},
          {"equations", "calculon"},
          {"calculon", std::move(calculon)}};
}

// Deployments.

namespace {

Json random_served_model(Draws& draws) {
  Json model = random_llm(draws, "llm_decode");
  for (const char* key : {"kind", "context", "global_batch", "micro_batch", "batch", "word"}) {
    model.erase(key);
  }
  model["vocabulary"] = draws.pick(2, 3000);
  return model;
}

Json random_precision(Draws& draws) {
  Json precision = Json::object();
  for (const char* key : {"weights", "cache", "products", "attention", "communication"}) {
    if (draws.chance(30)) precision[key] = draws.one_of<const char*>({"bf16", "fp8", "nvfp4"});
  }
  if (draws.chance(15)) precision["weights"] = {"bf16", "fp8"};
  return precision;
}

Json random_requests(Draws& draws, Json workload) {
  const auto request = [&] {
    const std::int64_t input = draws.one_of<std::int64_t>({1, 7, 60, 400, 3000});
    Json one = {{"input", input}, {"output", draws.one_of<std::int64_t>({2, 10, 60, 200})}};
    if (draws.chance(10)) one["output"] = 1;
    if (input > 1 && draws.chance(25)) one["prefix"] = draws.pick(1, input - 1);
    return one;
  };
  workload["kind"] = "llm_serving";
  workload["model"] = random_served_model(draws);
  workload["precision"] = random_precision(draws);
  if (draws.chance(20)) {
    workload["requests"] = {request(), request()};
    for (Json& one : workload["requests"]) one["share"] = draws.pick(1, 3);
  } else {
    workload.update(request());
  }
  if (draws.chance(25)) {
    const char* kind = draws.one_of<const char*>({"mtp", "sequence", "tree"});
    workload["speculation"] = {{"kind", kind},
                               {"depths", some_of(draws, {0, 1, 2, 4})},
                               {"acceptance", some_of(draws, {0.9, 0.6, 0.3})}};
    if (kind != std::string("mtp")) workload["speculation"]["draft"] = random_served_model(draws);
  }
  return workload;
}

Json random_pool(Draws& draws, const char* name) {
  const double peak = draws.size(24, 44);
  const double bandwidth = draws.size(22, 38);
  Json system = {{"memory",
                  {{"bandwidth", quantity(bandwidth, "B/s")},
                   {"capacity", quantity(draws.size(17, 30), "B")}}},
                 {"price", quantity(static_cast<double>(draws.pick(1, 9)), "$/h")},
                 {"power", quantity(static_cast<double>(draws.pick(10, 900)), "W")}};
  if (draws.chance(50)) {
    system["peak"] = quantity(peak, "FLOP/s");
  } else {
    system["peak"] = {{"bf16", quantity(peak, "FLOP/s")},
                      {"fp8", quantity(2.0 * peak, "FLOP/s")},
                      {"nvfp4", quantity(4.0 * peak, "FLOP/s")}};
  }
  Json network = Json::array();
  const double link = draws.size(12, 36);
  network.push_back({{"topology", draws.one_of<const char*>({"switch", "ring", "fully_connected"})},
                     {"degree", draws.one_of<std::int64_t>({2, 4, 8})},
                     {"bandwidth", quantity(link, "B/s")}});
  network.push_back({{"topology", draws.one_of<const char*>({"switch", "ring"})},
                     {"bandwidth", quantity(std::floor(link / draws.size(0, 4)), "B/s")}});
  if (draws.chance(30)) network[0]["latency"] = quantity(draws.size(0, 14), "ns");
  system["network"] = std::move(network);
  if (draws.chance(30)) system["transfer"] = quantity(draws.size(18, 34), "B/s");
  if (draws.chance(40)) {
    system["engine"] = {{"layer", quantity(draws.size(0, 14), "ns")},
                        {"usable", share(draws, 10)},
                        {"shares", {{"matrix", share(draws, 8)}, {"memory", share(draws, 8)}}}};
  }
  if (draws.chance(25)) {
    system["accelerator"] = {{"cores", 1},
                             {"lanes", 1},
                             {"stages", 1},
                             {"frequency", quantity(peak / 2.0, "Hz")},
                             {"sram", quantity(draws.size(12, 28), "B")}};
    system["execution"] = {{"style", "dataflow"},
                           {"overlap", draws.one_of<const char*>({"perfect", "none"})}};
  }
  return {{"name", name},
          {"chips", draws.one_of<std::int64_t>({1, 2, 4, 6, 8, 16})},
          {"system", std::move(system)}};
}

Json random_deployments(Draws& draws) {
  Json serving = {{"pools", {random_pool(draws, "a")}},
                  {"tensor", some_of(draws, {1, 2, 4})},
                  {"batch", draws.one_of<const char*>({"1..4", "1..64", "..300"})}};
  if (draws.chance(30)) serving["pools"].push_back(random_pool(draws, "b"));
  if (draws.chance(40)) serving["pipeline"] = some_of(draws, {1, 2});
  if (draws.chance(40)) serving["attention_data"] = some_of(draws, {1, 2});
  if (draws.chance(40)) serving["expert"] = some_of(draws, {1, 2, 4});
  if (draws.chance(40)) serving["chunk"] = some_of(draws, {16, 256, 2048});
  if (draws.chance(40)) {
    serving["modes"] = draws.one_of<const char*>({"aggregated", "disaggregated"});
  }
  if (draws.chance(30)) {
    serving["cache_reserve"] = draws.one_of<const char*>({"full", "mean", "max"});
  }
  return serving;
}

}  // namespace

Json random_serving_config(std::uint64_t seed) {
  Draws draws(seed + 0x40000000);
  Json serving = random_deployments(draws);
  if (draws.chance(20)) {
    Json models = Json::array();
    for (const char* name : {"one", "two"}) {
      models.push_back({{"name", name}, {"workload", random_requests(draws, Json::object())}});
      models.back()["workload"]["rate"] = quantity(draws.size(-4, 8) + 1.0, "/s");
      if (draws.chance(30)) break;
    }
    serving["objective"] = draws.one_of<const char*>({"cost", "energy", "chips"});
    return {{"fleet", {{"models", std::move(models)}}}, {"serving", std::move(serving)}};
  }
  serving["objective"] =
      draws.one_of<const char*>({"throughput", "throughput", "throughput_per_chip", "interactivity",
                                 "cost", "energy", "chips", "ttft", "e2e", "front", "front"});
  if (serving["objective"] == "front" && draws.chance(40)) serving["front"] = "cost";
  Json workload = random_requests(draws, Json::object());
  if (serving["objective"] == "chips" || draws.chance(15)) {
    workload["rate"] = quantity(draws.size(-4, 6) + 1.0, "/s");
  } else if (draws.chance(15)) {
    workload["concurrency"] = draws.pick(1, 60);
  }
  if (draws.chance(25)) serving["limits"] = {{"tpot", quantity(draws.size(10, 34), "ns")}};
  return {{"workload", std::move(workload)}, {"serving", std::move(serving)}};
}

// Chips from budgets.

namespace {

Json random_level(Draws& draws, const char* scope, double bank, bool has_ports) {
  Json level = {{"scope", scope},
                {"bank", quantity(bank, "B")},
                {"cell_area", draws.one_of<const char*>({"0.03 um2/bit", "0.08 um2/bit"})},
                {"overhead", share(draws) / 2.0},
                {"energy", draws.one_of<const char*>({"3 fJ/bit", "40 fJ/bit", "130 fJ/bit"})},
                {"leakage", "9 pW/bit"}};
  if (has_ports) level["port_area"] = "400 um2";
  if (draws.chance(40)) level["utilization"] = share(draws, 8);
  return level;
}

/// The shares of a class, some of them left to be searched.
Json random_shares(Draws& draws, std::initializer_list<const char*> parts, int open) {
  Json shares = Json::object();
  for (const char* part : parts) {
    if (!draws.chance(open)) shares[part] = draws.one_of({0.05, 0.1, 0.15});
  }
  return shares;
}

}  // namespace

Json random_budget_config(std::uint64_t seed) {
  Draws draws(seed + 0x50000000);
  const int open = draws.chance(50) ? 20 : 0;
  Json core = {{"lanes", draws.one_of<std::int64_t>({4, 8, 16})},
               {"stages", draws.one_of<std::int64_t>({1, 4, 8})},
               {"bundle", draws.one_of<std::int64_t>({1, 4, 8})},
               {"area", draws.one_of<const char*>({"0.1 mm2", "0.38 mm2", "1.5 mm2"})},
               {"power", draws.one_of<const char*>({"37 mW", "130 mW", "0.4 W"})},
               {"frequency", "1.33 GHz"},
               {"voltage", "0.8 V"},
               {"threshold", "0.2 V"},
               {"margin", "0.35 V"},
               {"utilization", share(draws, 12)}};
  if (draws.chance(50)) core["maximum_voltage"] = "1 V";
  Json technology = {{"core", std::move(core)},
                     {"registers", random_level(draws, "core", 16384.0, false)},
                     {"L1", random_level(draws, "bundle", 32768.0, draws.chance(50))},
                     {"L2", random_level(draws, "chip", 32768.0, draws.chance(50))},
                     {"memory",
                      {{"stack", draws.one_of<const char*>({"1 MiB", "4 GiB", "16 GiB"})},
                       {"stack_area", "110 mm2"},
                       {"controller_area", "4.05 mm2"},
                       {"links_per_stack", draws.one_of<std::int64_t>({128, 1024})},
                       {"links_per_mm", "60 /mm"},
                       {"frequency", "2.4 GHz"},
                       {"voltage", "1.08 V"},
                       {"threshold", "0.4 V"},
                       {"margin", "0.6 V"},
                       {"maximum_voltage", "1.2 V"},
                       {"energy", draws.one_of<const char*>({"2 pJ/bit", "6 pJ/bit"})},
                       {"leakage", "0.6 pW/bit"},
                       {"utilization", share(draws, 10)}}},
                     {"inter",
                      {{"area", "0.034 mm2"},
                       {"links_per_mm", "20 /mm"},
                       {"frequency", "20 GHz"},
                       {"voltage", "1.2 V"},
                       {"threshold", "0.35 V"},
                       {"margin", "0.5 V"},
                       {"energy", draws.one_of<const char*>({"6.5 pJ/bit", "13 pJ/bit"})}}}};
  Json area = {{"package", draws.one_of<const char*>({"1000 mm2", "1400 mm2"})},
               {"die", draws.one_of<const char*>({"300 mm2", "800 mm2"})}};
  area.update(random_shares(draws, {"core", "registers", "L1", "L2", "memory", "inter"}, open));
  Json power = {{"total", draws.one_of<const char*>({"75 W", "300 W"})}};
  power.update(random_shares(draws, {"core", "registers", "L1", "L2", "memory", "inter"}, open));
  const std::int64_t degree = draws.one_of<std::int64_t>({1, 2, 4});
  const char* kind = draws.one_of<const char*>({"llm_prefill", "llm_training", "graph"});
  Json workload = kind == std::string("graph") ? random_graph(draws) : random_llm(draws, kind);
  Json system = {{"chips", degree},
                 {"technology", std::move(technology)},
                 {"budget",
                  {{"step", 0.1},
                   {"area", std::move(area)},
                   {"power", std::move(power)},
                   {"edge", {{"memory", 0.5}, {"inter", 0.4}}}}}};
  Json dimension = {{"topology", draws.one_of<const char*>({"ring", "switch"})},
                    {"degree", degree},
                    {"link", "inter"}};
  if (draws.chance(60)) {
    dimension["strategy"] = draws.one_of<const char*>({"tensor", "pipeline", "data"});
  }
  system["network"] = {std::move(dimension)};
  Json execution = {{"levels", draws.chance(40)}};
  if (draws.chance(50)) execution["style"] = "kernel_by_kernel";
  return {{"workload", std::move(workload)},
          {"system", std::move(system)},
          {"execution", std::move(execution)},
          {"search", {{"sharding", "least_bytes"}}}};
}

// Stages that divide a graph.

namespace {

Json random_lstm(Draws& draws) {
  return {{"kind", "lstm"},
          {"hidden", draws.one_of<std::int64_t>({8, 64, 300})},
          {"vocabulary", draws.pick(2, 5000)},
          {"layers", draws.pick(1, 3)},
          {"steps", draws.one_of<std::int64_t>({1, 4, 20})},
          {"local_batch", draws.one_of<std::int64_t>({1, 4, 32})},
          {"folded", draws.chance(50)},
          {"global_batch", draws.one_of<std::int64_t>({4, 8, 24})}};
}

}  // namespace

Json random_stages_config(std::uint64_t seed) {
  Draws draws(seed + 0x60000000);
  const bool lstm = draws.chance(40);
  Json workload = lstm ? random_lstm(draws) : random_graph(draws);
  workload.erase("boundary");
  const char* use = draws.one_of<const char*>({"pipeline", "pipeline", "tensor", nullptr});
  Json system = random_system(draws, 1, 8, use);
  if (system["memory"].contains("second")) system["memory"].erase("second");
  Json execution = {{"overlap", draws.one_of<const char*>({"perfect", "none"})},
                    {"compute_utilization", share(draws)}};
  if (!lstm) execution["partitions"] = draws.pick(1, 4);
  if (lstm && draws.chance(60)) execution["style"] = "kernel_by_kernel";
  if (!lstm || draws.chance(60)) execution["stages"] = "graph";
  return {{"workload", std::move(workload)},
          {"system", std::move(system)},
          {"execution", std::move(execution)},
          {"search", {{"sharding", "least_bytes"}}}};
}

// Studies.

Json random_study_config(std::uint64_t seed) {
  Draws draws(seed + 0x70000000);
  const bool plan = draws.chance(30);
  Json base = plan ? random_plan_config(seed) : random_mapping_config(seed);
  const double bandwidth = amount(base["system"]["memory"]["bandwidth"]);
  Json axes = Json::array();
  axes.push_back({{"name", "memory"},
                  {"key", "system.memory.bandwidth"},
                  {"values", {quantity(bandwidth, "B/s"), quantity(4.0 * bandwidth, "B/s")}}});
  axes.push_back({{"name", "cores"}, {"key", "system.accelerator.cores"}, {"values", {1, 16}}});
  Json study = {{"name", "random"}};
  if (draws.chance(50)) {
    study["objective"] = "step_time";
  } else {
    study["front"] = {"step_time", "utilization"};
  }
  return {{"study", std::move(study)}, {"base", std::move(base)}, {"axes", std::move(axes)}};
}

Json random_question(std::uint64_t seed) {
  // Mappings have most kinds of workloads.
  constexpr std::array kMakers = {
      random_mapping_config, random_serving_config, random_mapping_config,
      random_plan_config,    random_mapping_config, random_execution_config,
      random_mapping_config, random_stages_config,  random_mapping_config,
      random_serving_config, random_mapping_config, random_stack_config,
      random_mapping_config, random_budget_config,  random_rated_plan_config,
      random_study_config};
  return kMakers[seed % kMakers.size()](seed);
}

}  // namespace dfsearch::test
