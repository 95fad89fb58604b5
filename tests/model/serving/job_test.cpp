// Jobs against their equations written out: all generations one by one, and the pieces between
// their events; and the case of an independent evaluator.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "model/serving/job.hpp"
#include "model/serving/steady_state.hpp"
#include "support/serving_cases.hpp"

namespace dfsearch::serving {
namespace {

/// Times that are affine in what passes.
class Affine final : public LoopTimes {
 public:
  Affine(double fixed, double request, double prompt)
      : fixed_(fixed), request_(request), prompt_(prompt) {}
  [[nodiscard]] double decode(double requests) const override {
    return fixed_ + request_ * requests;
  }
  [[nodiscard]] double mixed(double requests, double cost, double /*chunk*/,
                             double /*ranks*/) const override {
    return decode(requests) + prompt_ / cost;
  }

 private:
  double fixed_, request_, prompt_;
};

/// (18e) to (18g), one generation after the other.
struct Twin {
  /// Some iterations, each of which takes `time`.
  struct Part {
    double first, last, time;
  };
  double makespan = 0.0, tpot = 0.0, ttft = 0.0;

  Twin(const Loop& loop, const Affine& times, double requests, double slots, double cost) {
    const double steps = loop.means->steps;
    const double life = steps > 0.0 ? steps + std::max(cost, 1.0) : 0.0;
    const double most = std::min(requests, slots);
    std::vector<double> start, size, ends;
    for (double left = requests; left > 1e-9; left -= size.back()) {
      size.push_back(std::min(most, left));
      start.push_back(start.empty() ? 0.0 : start.back() + std::max(life, cost * most));
    }
    const auto begun = [&](double at) {
      double sum = 0.0;
      for (std::size_t j = 0; j < size.size(); ++j) {
        sum += std::min(std::max((at - start[j]) / cost, 0.0), size[j]);
      }
      return sum;
    };
    for (std::size_t j = 0; j < size.size(); ++j) {
      const double fill = cost * size[j];
      ends.insert(ends.end(), {start[j], start[j] + fill, start[j] + life, start[j] + life + fill});
    }
    std::sort(ends.begin(), ends.end());
    double filled = 0.0, iterations = 0.0;
    std::vector<Part> parts;
    for (std::size_t i = 1; i < ends.size(); ++i) {
      const double long_ = ends[i] - ends[i - 1];
      if (long_ <= 0.0) continue;
      const double middle = (ends[i] + ends[i - 1]) / 2.0;
      bool fills = false;
      for (std::size_t j = 0; j < size.size(); ++j) {
        fills = fills || (start[j] <= middle && middle < start[j] + cost * size[j]);
      }
      for (double share : {0.1, 0.3, 0.5, 0.7, 0.9}) {
        const double at = ends[i - 1] + share * long_;
        const double running = begun(at) - begun(at - life);
        const double one = fills ? times.mixed(running, cost, 0.0, 1.0) : times.decode(running);
        const double time = long_ / 5.0 * one;
        parts.push_back({at - long_ / 10.0, at + long_ / 10.0, one});
        makespan += time;
        filled += fills ? time : 0.0;
        iterations += fills ? long_ / 5.0 : 0.0;
        ttft += (requests - begun(at)) * time;
      }
    }
    // Each request by itself; those whose prompts share an iteration are alike.
    for (std::size_t j = 0; steps > 0.0 && j < size.size(); ++j) {
      const double step = std::max(1.0, cost), together = step / cost;
      double left = size[j];
      for (double first = start[j] + step; left > 1e-9; first += step, left -= together) {
        const double some = std::min(left, together);
        // A part of a request has a part of a prompt.
        const double begin = cost > 1.0 ? first - step + cost * some : first;
        auto part = std::partition_point(parts.begin(), parts.end(),
                                         [&](const Part& p) { return p.last <= begin; });
        for (; part != parts.end() && part->first < begin + steps; ++part) {
          tpot += some * part->time *
                  (std::min(part->last, begin + steps) - std::max(part->first, begin));
        }
      }
    }
    tpot /= steps > 0.0 ? requests * steps : 1.0;
    ttft = ttft / requests + std::max(cost, 1.0) / 2.0 * filled / iterations;
  }
};

TEST_CASE("a job is the sum of its generations, and none is shorter than its bound") {
  std::mt19937_64 random(58);
  const auto real = [&](double least, double most) {
    return std::uniform_real_distribution<double>(least, most)(random);
  };
  for (int world = 0; world < 2000; ++world) {
    CAPTURE(world);
    const std::int64_t input = std::llround(real(10, 5000));
    const std::int64_t output = world % 7 == 0 ? 1 : std::llround(real(2, 900));
    const Means means({{.input = input, .output = output}});
    Loop loop{.means = &means, .chunk = std::floor(real(100, 20000))};
    loop.whole_prompts = world % 2 == 0;
    const Affine times(real(1e-3, 1e-2), real(0, 1e-4), real(0, 0.3));
    const double requests = real(1, 3000), slots = std::floor(real(1, 400));
    const LoopFigures found = job(loop, times, requests, slots);
    const double used = std::min(requests, slots);
    const double alone = static_cast<double>(input) / loop.chunk;
    const double whole = alone > 1.0 ? std::ceil(alone) : 1.0 / std::floor(1.0 / alone);
    const double cost = std::max(loop.whole_prompts ? whole : alone, 1.0 / used);
    CHECK(found.mix.cost == doctest::Approx(cost));
    const Twin twin(loop, times, requests, slots, cost);
    CHECK(found.makespan == doctest::Approx(twin.makespan).epsilon(1e-9));
    CHECK(found.throughput == doctest::Approx(requests / twin.makespan).epsilon(1e-9));
    if (output > 1) CHECK(found.tpot == doctest::Approx(twin.tpot).epsilon(1e-9));
    CHECK(found.ttft == doctest::Approx(twin.ttft).epsilon(1e-9));
    CHECK(found.mix.decoding <= used * (1.0 + 1e-9));
    // (28): the requests that decode together have the time for their caches.
    if (output > 1 && times.decode(1.0) > times.decode(0.0)) {
      const double read =
          (found.tpot - times.decode(0.0)) / (times.decode(1.0) - times.decode(0.0));
      CHECK(read * found.makespan >= requests * means.steps * found.tpot * (1.0 - 1e-9));
    }
    // (24d), for any number of slots up to these.
    const double more = std::floor(real(used, 500));
    const double steps = means.steps;
    const double decode = steps > 0.0 ? times.decode(more) : 0.0;
    const double least =
        requests * (steps * decode / more + std::max(cost - 1e-12, 0.0) *
                                                std::max(times.mixed(0, cost, 0, 1) - decode, 0.0));
    CHECK(found.makespan >= least * (1.0 - 1e-9));
  }
}

TEST_CASE("the first token of a job is that of its prompts' last iteration") {
  const Means means({{.input = 1000, .output = 1}});
  const Affine times(1e-3, 0.0, 0.2);
  // Three iterations of 1/3 of a prompt, and those of several prompts in one.
  Loop loop{.means = &means, .chunk = 400.0};
  loop.whole_prompts = true;
  CHECK(job(loop, times, 1.0, 1.0).ttft == doctest::Approx(3.0 * times.mixed(0.0, 3.0, 0.0, 1.0)));
  CHECK(job(loop, times, 2.0, 1.0).ttft == doctest::Approx(4.5 * times.mixed(0.0, 3.0, 0.0, 1.0)));
  loop.chunk = 2500.0;
  const double pair = times.mixed(0.0, 0.5, 0.0, 1.0);
  CHECK(job(loop, times, 2.0, 2.0).ttft == doctest::Approx(pair));
  CHECK(job(loop, times, 4.0, 4.0).ttft == doctest::Approx(1.5 * pair));
}

TEST_CASE("the tokens after the first of a job take no part of their own prompt") {
  const Affine times(1e-3, 1e-4, 0.2);
  const double plain = times.decode(1.0);
  const auto tpot = [&](std::int64_t output, double chunk, double requests, double slots) {
    const Means means({{.input = 1000, .output = output}});
    const Loop loop{.means = &means, .chunk = chunk, .whole_prompts = true};
    return job(loop, times, requests, slots).tpot;
  };
  // One request decodes alone, whatever its prompt takes.
  CHECK(tpot(2, 1000.0, 1.0, 1.0) == doctest::Approx(plain));
  CHECK(tpot(2, 400.0, 1.0, 1.0) == doctest::Approx(plain));
  // The next request of the only slot comes when the first one is answered.
  CHECK(tpot(3, 1000.0, 1.0, 1.0) == doctest::Approx(plain).epsilon(0.03));
  CHECK(tpot(2, 400.0, 2.0, 1.0) == doctest::Approx(plain).epsilon(0.03));
  // Two prompts of 2.5 parts in turn: the second token of the first request comes beside a part of
  // the second prompt, and that of the second one is alone.  In the first iteration the request of
  // the prompt runs as well.
  const double beside = times.mixed(1.0, 3.0, 0.0, 1.0);
  CHECK(tpot(2, 400.0, 2.0, 2.0) >= (beside + plain) / 2.0 * (1.0 - 1e-9));
  CHECK(tpot(2, 400.0, 2.0, 2.0) <= (times.mixed(2.0, 3.0, 0.0, 1.0) + plain) / 2.0);
  // Two prompts that share an iteration: then both decode.  Their slots empty over an iteration.
  const double both = tpot(2, 2500.0, 2.0, 2.0);
  CHECK(both <= doctest::Approx(times.decode(2.0)));
  CHECK(both >= plain);
  // Three tokens of two requests whose prompts take an iteration each: of four decodings one is
  // beside the other's prompt.
  const double mixed = times.mixed(1.0, 1.0, 0.0, 1.0);
  CHECK(tpot(3, 1000.0, 2.0, 2.0) ==
        doctest::Approx((mixed + 2.0 * times.decode(2.0) + plain) / 4.0).epsilon(0.01));
}

TEST_CASE("recorded iterations are filled up to the next size") {
  const std::vector<std::int64_t> sizes = {1, 2, 4, 8};
  const Means means({{.input = 10, .output = 10}});
  Loop loop{.means = &means, .chunk = 100.0, .graphs = &sizes};
  CHECK(loop.padding(1.0) == 0.0);
  CHECK(loop.padding(2.5) == 1.5);
  CHECK(loop.padding(8.0) == 0.0);
  CHECK(loop.padding(9.0) == 0.0);  // more than any is as it is
  loop.checked = 2.0;
  CHECK(loop.padding(1.5) == 1.0);
  loop.graphs = nullptr;
  CHECK(loop.padding(2.5) == 0.0);
}

/// 3,000 requests of Qwen3 235B on four B200: an independent program (plain Python) has these
/// figures.
TEST_CASE("the case of an independent evaluator") {
  Task task;
  Transformer& model = task.model;
  model.hidden = 4096;
  model.layers = 94;
  model.heads = 64;
  model.kv_heads = 4;
  model.head_dim = model.value_dim = 128;
  model.mlp = 0;
  model.vocabulary = 151936;
  model.gated = true;
  model.experts = Experts{.count = 128, .used = 8, .mlp = 1536, .shared = 0, .dense_layers = 0};
  task.requests = {{.input = 1024, .output = 1024}};
  task.num_requests = 3000;
  task.chunked_prefill = false;
  task.batched_tokens = 7168;
  task.precisions = {test::precision_of(Number::Nvfp4)};
  Pool pool = test::pool_of(2.25e15, Number::Nvfp4, 9e15, 8e12, 900e9);
  pool.machine.memory[0].capacity = Bytes(191512591728.64);
  Engine& engine = pool.engine;
  engine.prefill = Seconds(5e-3);
  engine.answer = Seconds(30e-3);
  engine.usable = 0.9;
  engine.graph_sizes = {1, 2, 4, 8, 16, 32, 64, 128, 256, 384, 512, 1024, 2048};
  task.pools = {pool};
  const Deployment deployment{
      .mode = serving::Mode::Aggregated,
      .prefill = {},
      .decode = {.structure = {.attention_data = 4, .expert = 4}, .chunk = 7168, .batch = 700}};
  const Figures figures = evaluate(task, deployment);
  CHECK(figures.makespan == doctest::Approx(92.77346843753).epsilon(1e-12));
  CHECK(figures.tokens_per_s_per_chip() == doctest::Approx(8278.228818374).epsilon(1e-12));
}

}  // namespace
}  // namespace dfsearch::serving
