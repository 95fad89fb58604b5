// What the search for deployments builds on (docs/serving.md, section 6): times and memory never
// fall with the batch, and capacity neither while prefill keeps up.

#include "model/serving/steady_state.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "model/serving/least_seconds.hpp"
#include "support/serving_worlds.hpp"

namespace dfsearch {
namespace {

using namespace serving;

constexpr double kRounding = 1e-12;

TEST_CASE("a larger batch takes no less of anything, and serves no less while prefill keeps up") {
  std::mt19937_64 random(5);
  int neighbours = 0;
  while (neighbours < 100'000) {
    const Task task = test::random_task(random);
    const Means means(task.requests);
    for (const Deployment& deployment : test::all_deployments(task)) {
      if (deployment.mode != serving::Mode::Aggregated) continue;
      const Role& role = deployment.decode;
      const Decoder decoder(task, means, role.structure, role.depth, role.chunk);
      const std::int64_t more = role.batch + 1 + static_cast<std::int64_t>(random() % 40);
      const Decoding a = decoder.at(role.batch), b = decoder.at(more);
      ++neighbours;
      const auto no_less = [](double x, double y) { return y >= x * (1.0 - kRounding); };
      bool right = no_less(a.iteration, b.iteration) && no_less(a.mixed, b.mixed) &&
                   no_less(a.memory, b.memory) && no_less(a.iteration, a.mixed) &&
                   no_less(a.mixed_share, b.mixed_share);
      // Decoding alone: time for each request falls.
      right = right && no_less(static_cast<double>(role.batch) / a.iteration,
                               static_cast<double>(more) / b.iteration);
      if (b.mixed_share < 1.0) {
        right = right && no_less(a.tpot, b.tpot) && no_less(a.ttft, b.ttft) &&
                (no_less(a.capacity, b.capacity) || !decoder.is_steady()) &&
                no_less(std::max(a.capacity, b.capacity), decoder.most_capacity(a, b));
      }
      if (!right) {
        CAPTURE(role.batch);
        CAPTURE(more);
        CHECK(right);
        return;
      }
    }
  }
}

TEST_CASE("the parts of an iteration add up to it") {
  std::mt19937_64 random(6);
  for (int world = 0; world < 50; ++world) {
    const Task task = test::random_task(random);
    const Means means(task.requests);
    for (const Deployment& deployment : test::all_deployments(task)) {
      const Role& role = deployment.decode;
      const Decoder decoder(task, means, role.structure, role.depth, role.chunk);
      double sum = 0.0;
      for (const double part : decoder.parts(role.batch, false)) sum += part;
      CHECK(sum == doctest::Approx(decoder.iteration(role.batch)).epsilon(1e-12));
      break;
    }
  }
}

TEST_CASE("drafts counted as published: (k a + 1) tokens in k passes of the draft and one") {
  std::mt19937_64 random(11);
  int drafting = 0;
  while (drafting < 20) {
    Task task = test::random_task(random);
    if (task.speculation.kind != Drafting::Sequence) continue;
    const Means means(task.requests);
    for (const Deployment& deployment : test::all_deployments(task)) {
      const Role& role = deployment.decode;
      if (role.depth == 0 || role.chunk > 0) continue;
      ++drafting;
      const double a = 0.7, k = real(role.depth), requests = real(role.batch);
      task.speculation.kind = Drafting::Published;
      task.speculation.acceptance = {a};
      const Pass target(task, task.model, means, role.structure);
      Structure whole = role.structure;
      whole.pipeline = whole.expert = 1;
      const Pass draft(task, *task.speculation.draft, means, whole);
      const PassWork one{.requests = requests, .tokens_of_request = 1.0, .prefill = {}};
      const Decoder decoder(task, means, role.structure, role.depth, role.chunk);
      const double seconds = k * draft.time(one).period + target.time(one).period;
      CHECK(
          1.0 / decoder.at(role.batch).tpot ==
          doctest::Approx((k * a + 1.0) / seconds / real(role.structure.pipeline)).epsilon(1e-12));
      break;
    }
  }
}

TEST_CASE("no deployment takes less of a chip or a dollar than the model and the pools need") {
  std::mt19937_64 random(8);
  int compared = 0;
  double closest = 0.0;
  for (int world = 0; world < 300; ++world) {
    const Task task = test::random_task(random);
    const Means means(task.requests);
    int of_world = 0;
    for (const Deployment& deployment : test::all_deployments(task)) {
      const Figures figures = evaluate(task, deployment);
      const auto breaks = [&](Broken limit) {
        return std::count(figures.broken.begin(), figures.broken.end(), limit) > 0;
      };
      if (breaks(Broken::Memory) || breaks(Broken::Prefill) || breaks(Broken::Rate)) continue;
      const double seconds = real(figures.chips) / figures.requests_per_s;
      const double least =
          least_of_request(task, means, FrontAxis::ThroughputPerChip, figures.tpot);
      CHECK(least <= seconds * (1.0 + kRounding));
      closest = std::max(closest, least / seconds);
      CHECK(least_of_request(task, means, FrontAxis::Cost, figures.tpot) * 1e6 / means.output <=
            figures.dollars_per_mtoken * (1.0 + kRounding));
      ++compared;
      if (++of_world > 300) break;
    }
  }
  CHECK(compared > 10000);
  CHECK(closest > 0.8);
}

TEST_CASE("no two pools serve more of a chip than their two rates allow") {
  std::mt19937_64 random(7);
  int pairs = 0;
  for (int world = 0; world < 300; ++world) {
    const Task task = test::random_task(random);
    for (const Deployment& deployment : test::all_deployments(task)) {
      if (deployment.mode != serving::Mode::Disaggregated) continue;
      const Figures figures = evaluate(task, deployment);
      const double x = real(deployment.prefill.replicas), y = real(deployment.decode.replicas);
      const double needed = real(deployment.prefill.structure.chips()) /
                                (task.utilization.prefill * figures.prefill_capacity / x) +
                            real(deployment.decode.structure.chips()) /
                                (task.utilization.decode * figures.decode_capacity / y);
      CHECK(figures.capacity / real(figures.chips) <= (1.0 + kRounding) / needed);
      // Whole replicas of each side for a rate that is served.
      const double rate = figures.capacity * 0.9;
      const auto chips_for = [&](const Role& role, double share, double capacity) {
        const double of_one = share * capacity / real(role.replicas);
        return std::ceil(rate / of_one) * real(role.structure.chips());
      };
      CHECK(real(figures.chips) >=
            chips_for(deployment.prefill, task.utilization.prefill, figures.prefill_capacity) +
                chips_for(deployment.decode, task.utilization.decode, figures.decode_capacity));
      if (++pairs % 50 == 0) break;
    }
  }
  CHECK(pairs > 1000);
}

}  // namespace
}  // namespace dfsearch
