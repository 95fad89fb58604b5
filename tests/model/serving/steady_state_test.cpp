// Properties that the search for deployments builds on (docs/serving.md, section 6): times and
// memory never fall with the batch, nor does capacity.

#include "model/serving/steady_state.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "model/serving/speculation.hpp"
#include "support/serving_worlds.hpp"

namespace dfsearch {
namespace {

using namespace serving;

constexpr double kRounding = 1e-12;

TEST_CASE("a drafted tree has the acceptance of each level") {
  const Speculation tree{
      .kind = Drafting::Tree, .depths = {3}, .acceptance = {0.9, 0.01, 0.02}, .draft = {}};
  const double second = 0.01 + 0.99 * 0.01, third = 0.02 + 0.98 * 0.02;
  CHECK(gain_of(tree, 3).gained ==
        doctest::Approx(1.0 + 0.9 + 0.9 * second + 0.9 * second * third));
  CHECK(gain_of(tree, 1).gained == doctest::Approx(1.9));
}

TEST_CASE("a larger batch takes no less of anything, and serves no less") {
  std::mt19937_64 random(5);
  int neighbours = 0, steady = 0;
  while (neighbours < 50'000) {
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
      bool right = no_less(a.memory, b.memory) && no_less(b.mix.cost, a.mix.cost) &&
                   no_less(decoder.least_tpot(a), b.tpot) &&
                   no_less(decoder.least_ttft(a), b.ttft) &&
                   no_less(std::max(a.capacity, b.capacity), decoder.between(a, b).capacity);
      // Decoding alone: time for each request falls.
      right = right && no_less(a.least_iteration, b.least_iteration) &&
              no_less(a.users / a.least_iteration, b.users / b.least_iteration);
      if (decoder.is_steady()) {
        ++steady;
        right = right && no_less(a.capacity, b.capacity) && no_less(a.mixed, b.mixed) &&
                no_less(a.mix.share, b.mix.share);
      }
      if (!right) {
        CAPTURE(role.batch);
        CAPTURE(more);
        CHECK(right);
        return;
      }
    }
  }
  CHECK(steady > 10'000);
}

/// A batch of an interval, and what the interval is bounded by.
void check_bound(const Task& task, const Figures& bound, const Figures& figures) {
  const auto no_more = [](double x, double y) { CHECK(x * (1.0 - kRounding) <= y); };
  no_more(bound.ttft, figures.ttft);
  no_more(bound.tpot, figures.tpot);
  no_more(bound.e2e, figures.e2e);
  no_more(bound.in_flight, figures.in_flight);
  no_more(bound.fullness, figures.fullness);
  no_more(figures.capacity, bound.capacity);
  no_more(bound.dollars_per_mtoken, figures.dollars_per_mtoken);
  no_more(bound.joule_per_token, figures.joule_per_token);
  for (const Broken limit : bound.broken) CHECK(figures.broken.has(limit));
  for (int i = 0; i <= static_cast<int>(serving::Objective::Fullness); ++i) {
    const auto objective = static_cast<serving::Objective>(i);
    no_more(value_of(objective, task.front, bound), value_of(objective, task.front, figures));
  }
}

TEST_CASE("what an interval of batches does is no worse than what any of its batches does") {
  std::mt19937_64 random(15);
  const auto few = [&](std::int64_t most) {
    return 1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most));
  };
  int aggregates = 0, pairs = 0, loaded = 0;
  while (aggregates < 2000 || pairs < 2000 || loaded < 1000) {
    const Task task = test::random_task(random);
    const Means means(task.requests);
    const std::vector<Deployment> all = test::all_deployments(task);
    for (int i = 0; i < 20 && !all.empty(); ++i) {
      const Deployment& one = all[random() % all.size()];
      const Role& decode = one.decode;
      const Structure& s = decode.structure;
      const Decoder decoder(task, means, s, decode.depth, decode.chunk);
      const std::int64_t low = 1 + decode.batch / 2, high = decode.batch + few(40) - 1;
      if (low > decode.batch) continue;
      const auto at_batch = [&](std::int64_t batch) { return decoder.at(batch, decode.replicas); };
      const Decoding at = at_batch(decode.batch);
      const Decoding between = decoder.between(at_batch(low), at_batch(high));
      if (decoder.is_loaded()) {
        CHECK(decoder.least_tpot_of_any_load() * (1.0 - kRounding) <= at.tpot);
        CHECK(decoder.least_ttft_of_any_load() * (1.0 - kRounding) <= at.ttft);
        ++loaded;
      }
      if (one.mode == serving::Mode::Aggregated) {
        ++aggregates;
        check_bound(task, aggregated(task, means, {decoder, decode.replicas, between}),
                    aggregated(task, means, {decoder, decode.replicas, at}));
        continue;
      }
      ++pairs;
      const Role& prefill = one.prefill;
      const Prefiller prefiller(task, means, prefill.structure);
      const Prefilling wide =
          prefiller.between(prefiller.at(1), prefiller.at(prefill.batch + few(10) - 1));
      const Handover move = handover(task, means, prefill.structure, s);
      const auto both = [&](const Prefilling& prefilling, const Decoding& decoding) {
        return disaggregated(task, means, {prefill.structure, prefill.replicas, prefilling},
                             {decoder, decode.replicas, decoding}, move);
      };
      check_bound(task, both(wide, between), both(prefiller.at(prefill.batch), at));
    }
  }
}

TEST_CASE("a closed loop keeps Little's law, also if all of its users start at once") {
  std::mt19937_64 random(16);
  int loops = 0, bursts = 0;
  while (loops < 2000 || bursts < 1000) {
    Task task = test::random_task(random);
    task.rate.reset();
    task.num_requests.reset();
    task.concurrency = std::exp(std::uniform_real_distribution<double>(0.0, 7.0)(random));
    task.rounds.reset();
    const std::vector<Deployment> all = test::all_deployments(task);
    for (int i = 0; i < 10 && !all.empty(); ++i) {
      const Deployment& one = all[random() % all.size()];
      const auto check = [&](const Figures& figures) {
        const double users = figures.requests_per_s * figures.e2e;
        CHECK(users == doctest::Approx(*task.concurrency).epsilon(1e-10));
        CHECK(figures.in_flight == doctest::Approx(*task.concurrency).epsilon(1e-12));
      };
      task.rounds.reset();
      const Figures endless = evaluate(task, one);
      check(endless);
      ++loops;
      if (one.mode != serving::Mode::Aggregated) continue;
      double before = 0.0;
      for (const double rounds : {1.0, 3.0, 1e9}) {
        task.rounds = rounds;
        const Figures few = evaluate(task, one);
        check(few);
        CHECK(few.tpot == endless.tpot);
        CHECK(few.requests_per_s >= before);
        before = few.requests_per_s;
      }
      CHECK(before == doctest::Approx(endless.requests_per_s).epsilon(1e-6));
      ++bursts;
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
      const Decoding at = decoder.at(role.batch, role.replicas);
      for (const double part : decoder.parts(at, false)) sum += part;
      CHECK(sum == doctest::Approx(at.iteration).epsilon(1e-12));
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
      if (breaks(Broken::Memory) || breaks(Broken::Rate)) continue;
      if (!(figures.tpot < std::numeric_limits<double>::infinity())) continue;
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
