// Configs with `training` whose values no plan has together.  Wrong values by themselves are in
// tests/cli/transcripts/plans.txt.

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
#include "support/training_worlds.hpp"
#include "support/worlds.hpp"

namespace dfsearch {
namespace {

using test::kGoodPlan;
using test::message;
using test::Overrides;
using test::task_of;
using training::Role;
using training::Task;

TEST_CASE("values that do not go together are for the search, which names those at fault") {
  const auto reason = [](const Overrides& overrides) {
    const Task task = task_of(overrides);
    const training::PlanResult result = find_plan(task, {});
    CHECK(result.status == SearchStatus::Infeasible);
    return result.no_plan ? no_plan_text(task, *result.no_plan) : "";
  };
  const std::string experts = "workload.experts={count: 4, used: 2, mlp: 64}";
  const std::string text = "no plan has all given values; leave out ";
  CHECK(reason({"parallelism={tensor: 4, data: 8}"}) == text + "parallelism");
  const std::string of_experts =
      reason({experts, "parallelism={tensor: 4, expert: 4, pipeline: 2}"});
  CHECK(of_experts.starts_with(text + "parallelism. Without a stack each tensor rank"));
  CHECK(reason({"training.schedule=interleaved", "workload.micro_batch=64"}) ==
        text + "training.schedule and .chunks, or workload.micro_batch");
  CHECK(reason({"training.chunks=5"}) == text + "training.schedule and .chunks");
  CHECK(reason({"training.framework=torchtitan", "parallelism={tensor: 4}", "workload.heads=4",
                "workload.kv_heads=2"})
            .starts_with("torchtitan runs no plan with all given values: tensor ranks divide"));
}

TEST_CASE("fused kernels overlap as a config says") {
  CHECK(task_of({"execution={style: dataflow, partitions: 4}"}).overlap == Overlap::Perfect);
  CHECK(task_of({"execution={style: dataflow, overlap: none}"}).overlap == Overlap::None);
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

TEST_CASE("a config that is refused has no plan, and the search ends where there is none" *
          doctest::test_suite("worlds")) {
  int refused = 0, accepted = 0, without = 0;
  for (std::uint64_t seed = 1; seed <= test::share_of(2000U); ++seed) {
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
    r.give_word("recompute", test::kRecomputes, r.choices.recomputes);
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
  CHECK(refused > test::share_of(300));
  CHECK(accepted > test::share_of(300));
  CHECK(without > test::share_of(50));
}

}  // namespace
}  // namespace dfsearch
