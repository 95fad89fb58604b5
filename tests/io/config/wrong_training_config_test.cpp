// Configs with `training` that are wrong: every value by itself, and values that no plan has
// together.

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "engine/training/find_plan.hpp"
#include "engine/training/plan_space.hpp"
#include "io/config/plan_configs.hpp"
#include "io/result/plan_lack.hpp"
#include "model/training/plan.hpp"

namespace dfsearch {
namespace {

using test::kGoodPlan;
using test::message;
using test::Overrides;
using test::replaced;
using test::task_of;
using training::Role;
using training::Task;

struct Case {
  const char* what;
  const char* by;
  const char* message;
};

void check_cases(const std::vector<Case>& cases) {
  REQUIRE(message(kGoodPlan) == "accepted");
  for (const Case& c : cases) {
    CAPTURE(c.by);
    CHECK(message(replaced(kGoodPlan, c.what, c.by)) == c.message);
  }
}

TEST_CASE("wrong workloads, machines and rates") {
  check_cases({
      {"kind: llm_training", "kind: llm_prefill",
       "c.yaml:2:9: kind: expected llm_training beside 'training', got llm_prefill"},
      {"kind: llm_training", "kind: llm_trainin",
       "c.yaml:2:9: kind: expected llm_training, llm_prefill, llm_decode, dlrm_training, "
       "dlrm_inference, hpl, fft, lstm or graph, got 'llm_trainin', did you mean 'llm_training'?"},
      {"kind: llm_training\n  hidden: 64\n  heads: 4\n  head_dim: 16\n  vocabulary: 512\n  "
       "sequence: 32\n  layers: 12\n  global_batch: 64\n",
       "kind: graph\n  kernels: [{name: A, kind: elementwise}]\n  tensors: []\n",
       "c.yaml:2:9: kind: expected llm_training beside 'training', got graph"},
      {"kind: llm_training\n  hidden: 64\n  heads: 4\n  head_dim: 16\n  vocabulary: 512\n  "
       "sequence: 32\n  layers: 12\n  global_batch: 64\n",
       "kind: dlrm_training\n  mlp: 1\n  bottom: 1\n  top: 1\n  tables: 1\n  rows: 1\n  "
       "embedding: 1\n  pooled_rows: 1\n  local_batch: 1\n  global_batch: 16\n",
       "c.yaml:2:9: kind: expected llm_training beside 'training', got dlrm_training"},
      {"  vocabulary: 512\n", "",
       "c.yaml:1:1: workload: expected a model by rule beside 'training', with 'model' or a "
       "key like 'vocabulary' (docs/transformers.md)"},
      {"layers: 12", "layers: 12\n  repeat_layers: 2",
       "c.yaml:9:3: repeat_layers: a plan spreads single layers over its stages, expected none"},
      {"layers: 12", "layers: 12\n  tile: 8",
       "c.yaml:9:3: tile: kernels work on whole micro-batches here, expected none"},
      {"layers: 12", "layers: 12\n  micro_batch: 3",
       "c.yaml:9:16: micro_batch: expected a divisor of the 64 samples of a replica, got 3"},
      {"layers: 12", "layers: 10001",
       "c.yaml:8:11: layers: expected at most 10000 beside 'training', got 10001"},
      {"layers: 12", "layer: 12",
       "c.yaml:1:1: workload: missing key 'layers'\nc.yaml:8:3: workload: unknown key "
       "'layer', did you mean 'layers'?"},
      {"sequence: 32", "sequence: 1099511627776",
       "c.yaml:1:1: workload: kernel 'ATTENTION' is too large: 4 x 16 x 16 x 1099511627776 "
       "iterations, expected fewer than 2^62"},
      {"hidden: 64", "hidden: 1099511627776",
       "c.yaml:1:1: workload: too many parameters: 1.74e+26, expected fewer than 2^53"},
      {"chips: 16", "chips: 1099511627776",
       "c.yaml:11:10: chips: expected at most 16777216 beside 'training', got 1099511627776"},
      {"chips: 16", "chips: 12",
       "c.yaml:15:5: network: the product of the degrees given is 8, expected a divisor of "
       "the number of chips, 12: --set "
       "system.network.0.degree=4 takes so many in place of 8"},
      {"chips: 16", "chips: 0",
       "c.yaml:11:10: chips: expected a whole number from 1 to 2^40, got '0'"},
      {"degree: 8, bandwidth: 300 GB/s, latency: 5 us}\n    - {topology: ring, bandwidth: "
       "25 GB/s",
       "degree: 23, bandwidth: 300 GB/s}\n    - {topology: ring, degree: 1, bandwidth: 25 "
       "GB/s",
       "c.yaml:15:5: network: the product of the degrees is 23 * 1 = 23, expected the "
       "number of chips, 16"},
      {"degree: 8, ", "",
       "c.yaml:15:5: network: expected the degrees of all dimensions but one, got 2 without; --set "
       "system.network.0.degree=N gives that of the innermost"},
      {"capacity: 80 GB", "capacity: 80",
       "c.yaml:13:41: capacity: expected a quantity like '640 MiB', got '80'"},
      {"  accelerator: {cores: 4, lanes: 2, stages: 2, frequency: 1 GHz, sram: 1 MB}\n", "",
       "c.yaml:10:1: system: missing key 'accelerator'"},
      {"latency: 5 us", "latency: -5 us",
       "c.yaml:15:67: latency: expected a quantity like '500 ms' or '20 min', got '-5 us', which "
       "is "
       "negative"},
      {"latency: 5 us", "strategy: tensr",
       "c.yaml:15:68: strategy: expected tensor, context, expert, data or pipeline, got "
       "'tensr', did you mean 'tensor'?"},
      {"latency: 5 us", "strategy: expert",
       "c.yaml:15:68: strategy: expected another role, as the model has no experts"},
      {"latency: 5 us", "strategy: tensor",
       "c.yaml:15:68: strategy: expected a divisor of the chips, 16, and of the heads, 4, "
       "that is a multiple of 8, the degree of the dimensions that serve it"},
      {"[0 FLOP, 0.1]", "[1 MFLOP, 0.1]",
       "c.yaml:19:43: efficiency: expected 0 as the last amount, got 1 MFLOP"},
      {"[0 FLOP, 0.1]", "[2 GFLOP, 0.1]",
       "c.yaml:19:43: efficiency: expected amounts that fall, got 2 GFLOP after 1 GFLOP"},
      {"[0 FLOP, 0.1]", "[0 B, 0.1]",
       "c.yaml:19:44: efficiency: expected a quantity like '128 GFLOP', got '0 B': the unit "
       "'B' is not one of FLOP, kFLOP, MFLOP, GFLOP, TFLOP, PFLOP"},
      {"matrix: {efficiency: [[1 GFLOP, 0.9], [0 FLOP, 0.1]]}", "matrix: {peak: 1 TFLOP/s}",
       "c.yaml:19:5: matrix: missing key 'efficiency'"},
      {"matrix: {", "matrx: {",
       "c.yaml:19:5: efficiency: unknown key 'matrx', did you mean 'matrix'?"},
      {"execution:\n", "execution:\n  compute_utilization: 0.5\n",
       "c.yaml:18:24: compute_utilization: expected none, as 'efficiency' says what the "
       "engines reach"},
      {"execution:\n", "execution:\n  overlap: compute_memory\n",
       "c.yaml:18:12: overlap: expected perfect or none, got 'compute_memory'"},
      {"execution:\n", "execution:\n  partitions: 4\n",
       "c.yaml:18:15: partitions: expected 'style: dataflow' beside it"},
      {"training:\n  data_overlap: yes\n", "training:\n  data_overlap: yes\nequations: physical\n",
       "c.yaml:22:1: equations: expected no such section beside 'training'"},
      {"training:\n  data_overlap: yes\n",
       "training:\n  data_overlap: yes\nprice: {accelerator: -1}\n",
       "c.yaml:22:22: accelerator: expected a number from 0 to 1e+24, got '-1'"},
      {"training:\n  data_overlap: yes\n", "training:\n  data_overlap: yes\nsharding: {}\n",
       "c.yaml:22:1: sharding: expected no such section beside 'training'"},
      {"training:\n  data_overlap: yes\n",
       "training:\n  data_overlap: yes\nsearch: {objective: step_time}\n",
       "c.yaml:22:10: search: unknown key 'objective', expected gap, time_limit or "
       "memory_limit"},
      {"training:\n  data_overlap: yes\n", "training: 5\n",
       "c.yaml:20:11: training: expected a map, got '5'"},
  });
}

TEST_CASE("wrong decisions") {
  struct Given {
    const char* parallelism;
    const char* lines;  // of `training`, from line 22 on
    std::string message;
  };
  const std::vector<Given> cases = {
      {"", "scheduel: 1f1b",
       "c.yaml:22:3: training: unknown key 'scheduel', did you mean 'schedule'?"},
      {"", "schedule: zbh1",
       "c.yaml:22:13: schedule: expected 1f1b, interleaved, zb_h1 or gpipe, got 'zbh1', did "
       "you mean 'zb_h1'?"},
      {"", "schedule: []", "c.yaml:22:13: schedule: expected 1 to 1000 values, got 0"},
      {"", "zero: 4", "c.yaml:22:9: zero: expected a whole number from 0 to 3, got '4'"},
      {"", "zero: [0, 1.5]", "c.yaml:22:13: zero: expected a whole number from 0 to 3, got '1.5'"},
      {"", "recompute: some",
       "c.yaml:22:14: recompute: expected none, selective, full, op_sac, unknown, core_attn, mlp, "
       "layernorm, moe_act, moe or mla_up_proj, got 'some', did you mean 'none'?"},
      {"", "recompute: selective",
       "c.yaml:22:14: recompute: fused attention leaves nothing to select, expected none or "
       "full, or 'attention: unfused' in the workload"},
      {"", "layout: by_tokens",
       "c.yaml:22:11: layout: expected least_sent, least_kept, whole_experts, front_1, front_2, "
       "front_3, front_4, "
       "front_5, front_6, front_7, front_8, front_9, front_10, front_11, front_12, front_13, "
       "front_14, front_15 or front_16, got 'by_tokens'"},
      {"", "data_overlap: 1",
       "c.yaml:22:17: data_overlap: expected yes, no, true or false, got '1'"},
      {"", "gradient: 4", "c.yaml:22:13: gradient: expected a quantity like '640 MiB', got '4'"},
      {"", "optimizer: 1 MB",
       "c.yaml:22:14: optimizer: expected a quantity from 0.125 B to 1.024 kB, got '1 MB'"},
      {"", "offload: [weights]",
       "c.yaml:22:12: offload: expected none, as the system has no second memory "
       "(memory.second)"},
      {"", "offload: yes",
       "c.yaml:22:12: offload: expected none or a list of weights, activations and "
       "optimizer, got 'yes'"},
      {"", "offload: [weights, gradients]",
       "c.yaml:22:22: offload: expected weights, activations or optimizer, got 'gradients'"},
      {"", "layers: 12", "c.yaml:22:11: layers: expected a list, got '12'"},
      {"", "layers: [6, 5]", "c.yaml:22:11: layers: expected 12 layers in all, got 11"},
      {"", "layers: [6, 7, -1]",
       "c.yaml:22:18: layers: expected a whole number from 0 to 2^40, got '-1'"},
      {"", "layers: [4, 4, 4]",
       "c.yaml:22:11: layers: expected the layers of as many stages as a divisor of the "
       "chips, 16, got those of 3"},
      {"pipeline: 4", "layers: [6, 6]",
       "c.yaml:22:11: layers: expected the layers of 4 stages, got those of 2"},
      {"", "chunks: 2\n  schedule: 1f1b",
       "c.yaml:22:11: chunks: expected 1, as only interleaved stages have chunks, got 2"},
      {"", "chunks: 1\n  schedule: interleaved",
       "c.yaml:22:11: chunks: expected at least 2, as the stages are interleaved, got 1"},
      {"", "chunks: 5", "accepted"},
      {"tensor: 3", "zero: 0",
       "c.yaml:20:23: tensor: expected a divisor of the chips, 16, and of the heads, 4, got 3"},
      {"tensor: 8", "zero: 0",
       "c.yaml:20:23: tensor: expected a divisor of the chips, 16, and of the heads, 4, got 8"},
      {"tensor: [3, 5]", "zero: 0",
       "c.yaml:20:23: tensor: expected a divisor of the chips, 16, and of the heads, 4"},
      {"tensor: 5..", "zero: 0",
       "c.yaml:20:23: tensor: expected a divisor of the chips, 16, and of the heads, 4"},
      {"tensor: 4..2", "zero: 0", "c.yaml:20:23: tensor: expected a range like '2..8', got '4..2'"},
      {"tensor: 0", "zero: 0",
       "c.yaml:20:23: tensor: expected a whole number from 1 to 2^40, got '0'"},
      {"tensr: 2", "zero: 0",
       "c.yaml:20:15: parallelism: unknown key 'tensr', did you mean 'tensor'?"},
      {"context: 64", "zero: 0",
       "c.yaml:20:24: context: expected a divisor of the chips, 16, and of the sequence, "
       "32, got 64"},
      {"expert: 2", "zero: 0",
       "c.yaml:20:23: expert: expected 1, as the model has no experts, got 2"},
      {"data: 32", "zero: 0",
       "c.yaml:20:21: data: expected a divisor of the chips, 16, and of the global batch, "
       "64, got 32"},
      {"pipeline: 16", "zero: 0",
       "c.yaml:20:25: pipeline: expected a divisor of the chips, 16, of at most the layers, "
       "12, got 16"},
      {"tensor: 4, data: 8", "zero: 0", "accepted"},
      {"tensor: 4, pipeline: 4", "zero: 2", "accepted"},
  };
  for (const Given& c : cases) {
    CAPTURE(c.parallelism);
    CAPTURE(c.lines);
    const std::string text =
        std::string("parallelism: {") + c.parallelism + "}\ntraining:\n  " + c.lines + "\n";
    CHECK(message(replaced(kGoodPlan, "training:\n  data_overlap: yes\n", text)) == c.message);
  }
}

TEST_CASE("wrong together, from the command line") {
  CHECK(message(kGoodPlan, {"workload.micro_batch=16", "parallelism.data=8"}) ==
        "--set workload.micro_batch=16: micro_batch: expected a divisor of the 8 samples of "
        "a replica, got 16");
  CHECK(message(kGoodPlan,
                {"workload.experts={count: 4, used: 2, mlp: 64}", "parallelism.expert=8"}) ==
        "--set parallelism.expert=8: expert: expected a divisor of the chips, 16, and of "
        "the experts, 4, got 8");
  CHECK(message(kGoodPlan, {"system.network.0.strategy=data", "parallelism.data=4"}) ==
        "--set parallelism.data=4: data: expected a divisor of the chips, 16, and of the "
        "global batch, 64, that is a multiple of 8, the degree of the dimensions that serve "
        "it, got 4");
  CHECK(message(kGoodPlan, {"execution.efficiency=none.yaml"}) ==
        "--set execution.efficiency=none.yaml: from: none.yaml: cannot read: No such file "
        "or directory");
}

TEST_CASE("values that do not go together are for the search, which names those at fault") {
  const auto reason = [](const Overrides& overrides) {
    const Task task = task_of(overrides);
    const training::PlanResult result = find_plan(task, {});
    CHECK(result.status == SearchStatus::Infeasible);
    return result.no_plan ? no_plan_text(task, *result.no_plan) : "";
  };
  const std::string experts = "workload.experts={count: 4, used: 2, mlp: 64}";
  const std::string text = "no plan has all that is given; leave out ";
  CHECK(reason({"parallelism={tensor: 4, data: 8}"}) == text + "parallelism");
  CHECK(reason({experts, "parallelism={tensor: 4, expert: 4, pipeline: 2}"}) ==
        text + "parallelism");
  CHECK(reason({"training.schedule=interleaved", "workload.micro_batch=64"}) ==
        text + "training.schedule and .chunks, or workload.micro_batch");
  CHECK(reason({"training.chunks=5"}) == text + "training.schedule and .chunks");
  CHECK(reason({"training.framework=torchtitan", "parallelism={tensor: 4}", "workload.heads=4",
                "workload.kv_heads=2"})
            .starts_with("torchtitan runs no plan of all that is given: tensor ranks divide"));
}

TEST_CASE("what is wrong by itself is told together") {
  const std::string all = message(
      kGoodPlan, {"workload.micro_batch=48", "parallelism.tensor=16", "parallelism.context=64",
                  "training.layers=[6, 5, 1]", "training.recompute=selective"});
  for (const char* part :
       {"tensor: expected a divisor of the chips, 16, and of the heads, 4, got 16",
        "context: expected a divisor of the chips, 16, and of the sequence, 32, got 64",
        "micro_batch: expected a divisor of the 64 samples of a replica, got 48",
        "layers: expected the layers of as many stages as a divisor of the chips, 16, got those of "
        "3",
        "recompute: fused attention leaves nothing to select"}) {
    CAPTURE(part);
    CHECK(all.find(part) != std::string::npos);
  }
}

TEST_CASE("fused kernels and what does not go with them") {
  const std::string fused = "execution={style: dataflow, partitions: 4}";
  CHECK(message(kGoodPlan, {fused}) == "accepted");
  CHECK(message(kGoodPlan, {fused, "workload.attention=unfused", "training.recompute=selective"}) ==
        "--set training.recompute=selective: recompute: expected no selective where kernels are "
        "fused, the scores among them");
  const std::string stack = "execution={style: dataflow, stack: te, chip: h100_80gb}";
  CHECK(message(kGoodPlan, {stack}) ==
        "--set " + stack +
            ": style: expected kernel_by_kernel beside 'stack', which runs kernels one by one");
  // What a stack asks of the machine waits until there is one.
  CHECK(message(kGoodPlan, {"execution={stack: te, chip: h100_80gb}", "system=null"})
            .find("missing key 'system'") != std::string::npos);
  CHECK(task_of({fused}).overlap == Overlap::Perfect);
  CHECK(task_of({"execution={style: dataflow, overlap: none}"}).overlap == Overlap::None);
}

TEST_CASE("who wants a mapping or a graph does not get a plan") {
  CHECK(test::message_of(kGoodPlan) ==
        "c.yaml:20:1: training: a plan of training steps has no mapping: only solve, evaluate and "
        "check "
        "take it");
}

/// What is given of a plan, as overrides and as choices.
struct RandomChoices {
  std::mt19937_64 random;
  Overrides text;
  training::Choices choices;

  std::int64_t draw(std::int64_t below) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(below));
  }
  bool chance() { return draw(3) == 0; }
  std::int64_t one_of(const std::vector<std::int64_t>& values) {
    return values[static_cast<std::size_t>(draw(static_cast<std::int64_t>(values.size())))];
  }

  void give_degree(Role role) {
    if (!chance()) return;
    DegreeChoice& choice = choices.degrees[static_cast<std::size_t>(role)];
    std::string value;
    if (chance()) {
      choice.least = 1 + draw(4);
      choice.most = choice.least + draw(4);
      value = std::to_string(choice.least) + ".." + std::to_string(choice.most);
    } else {
      choice.values = {one_of({1, 1, 2, 2, 3, 4, 6, 8})};
      value = std::to_string(choice.values.front());
    }
    text.push_back(std::string("parallelism.") + training::name_of(role) + "=" + value);
  }
  template <class E, std::size_t count>
  void give_word(const char* key, const std::array<E, count>& words, std::vector<E>& list) {
    if (!chance()) return;
    list = {words[static_cast<std::size_t>(draw(count))]};
    text.push_back(std::string("training.") + key + "=" + training::name_of(list.front()));
  }
  std::vector<std::int64_t> give_count(const std::string& key,
                                       const std::vector<std::int64_t>& values) {
    if (!chance()) return {};
    const std::int64_t value = one_of(values);
    text.push_back(key + "=" + std::to_string(value));
    return {value};
  }
  void give_layers(std::int64_t layers) {
    if (!chance()) return;
    std::string list;
    for (std::int64_t left = layers; left > 0;) {
      const std::int64_t stage = std::min(left, 1 + draw(layers));
      choices.layers.push_back(stage);
      list += (list.empty() ? "" : ", ") + std::to_string(stage);
      left -= stage;
    }
    text.push_back("training.layers=[" + list + "]");
  }
};

bool has_plan(const Task& task) {
  const training::PlanSpace space(task);
  training::LayoutShelf shelf(task, space.blocks());
  for (const training::Degrees& inner : space.inner_degrees()) {
    for (const training::Degrees& degrees : space.degrees(inner)) {
      if (space.networks(degrees).empty()) continue;
      for (const std::int64_t micro_batch : space.micro_batches(degrees)) {
        for (const training::TensorLayout layout : space.layouts(degrees, shelf)) {
          if (!space.shapes(degrees, micro_batch, layout).empty()) return true;
        }
      }
    }
  }
  return false;
}

TEST_CASE("a config that is refused has no plan, and the search ends where there is none") {
  int refused = 0, accepted = 0, without = 0;
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    RandomChoices r{.random = std::mt19937_64(seed), .text = {}, .choices = {}};
    const std::int64_t inside = r.one_of({1, 2, 4, 6}), outside = r.one_of({1, 2, 3, 4});
    const std::int64_t layers = r.one_of({1, 4, 6, 12});
    Overrides world = {
        "system.chips=" + std::to_string(inside * outside),
        "system.network.0.degree=" + std::to_string(inside),
        "workload.layers=" + std::to_string(layers),
        "workload.heads=" + std::to_string(r.one_of({2, 4, 6})),
        // All chips may be replicas, so that what is given decides.
        "workload.global_batch=" + std::to_string(inside * outside * r.one_of({1, 2, 3, 8}))};
    if (r.chance()) world.push_back("workload.experts={count: 4, used: 2, mlp: 64}");
    if (r.chance()) world.push_back("workload.attention=unfused");
    Task task = task_of(world);
    for (std::size_t d = 0; d < 2; ++d) {
      r.choices.network.emplace_back();
      if (r.draw(4) > 0) continue;
      const Role role = training::kRoles[static_cast<std::size_t>(r.draw(5))];
      r.choices.network.back() = role;
      r.text.push_back("system.network." + std::to_string(d) +
                       ".strategy=" + training::name_of(role));
    }
    for (const Role role : training::kRoles) r.give_degree(role);
    r.choices.micro_batches = r.give_count("workload.micro_batch", {1, 2, 3, 4});
    r.choices.chunks = r.give_count("training.chunks", {1, 2, 3, 4});
    for (const std::int64_t zero : r.give_count("training.zero", {0, 1, 2, 3})) {
      r.choices.zeros.push_back(static_cast<int>(zero));
    }
    r.give_word("schedule", training::kSchedules, r.choices.schedules);
    r.give_word("recompute", training::kRecomputes, r.choices.recomputes);
    r.give_layers(layers);
    task.choices = r.choices;
    const bool possible = has_plan(task);
    Overrides all = world;
    all.insert(all.end(), r.text.begin(), r.text.end());
    const std::string told = message(kGoodPlan, all);
    CAPTURE(test::joined(all));
    if (told != "accepted") {
      ++refused;
      CHECK_MESSAGE(!possible, "seed " << seed << " has plans, and is " << told);
    } else if (!possible) {
      ++without;
      const training::PlanResult result = find_plan(task, {});
      CHECK(result.status == SearchStatus::Infeasible);
      CHECK(result.no_plan);
    } else {
      ++accepted;
    }
    // A part is wrong once: five roles, micro-batch, layers, chunks and recomputation at most.
    CHECK(std::count(told.begin(), told.end(), '\n') < 9);
  }
  CHECK(refused > 300);
  CHECK(accepted > 300);
  CHECK(without > 50);
}

}  // namespace
}  // namespace dfsearch
