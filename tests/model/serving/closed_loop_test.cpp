// Claims of docs/serving.md, section 6, about loops of any number of users, on machines at random:
// Little's law, the monotone figures that the search prunes by, and the loops that are exact.

#include "model/serving/closed_loop.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <random>
#include <vector>

namespace dfsearch {
namespace {

using namespace serving;

/// Times that are affine in tokens and caches, or read a part of the weights that tokens hit.
class Machine final : public LoopTimes {
 public:
  Machine(std::mt19937_64& random, const Means& means) : means_(means) {
    const auto real = [&](double least, double most) {
      return std::uniform_real_distribution<double>(least, most)(random);
    };
    host_ = real(0.0, 1e-2);
    token_ = real(1e-7, 1e-4);
    cache_ = real(0.0, 3e-9) * means.seen(0).context;
    hit_ = real(0.0, 1e-2);
    miss_ = real(0.5, 0.999);
    prefill_ = real(0.0, 2e-3);
  }
  [[nodiscard]] double decode(double requests) const override { return time(requests, 0.0); }
  [[nodiscard]] double mixed(double requests, double cost, double, double) const override {
    return time(requests, 1.0 / cost);
  }

 private:
  [[nodiscard]] double time(double requests, double prompts) const {
    const double tokens = requests + prompts * means_.fresh;
    return host_ + token_ * tokens + cache_ * requests + hit_ * (1.0 - std::pow(miss_, tokens)) +
           prefill_ * prompts;
  }

  const Means& means_;
  double host_, token_, cache_, hit_, miss_, prefill_;
};

struct World {
  explicit World(std::mt19937_64& random)
      : means({{.input = of(random, {60, 700, 1000, 3000, 9000}),
                .output = of(random, {1, 2, 5, 30, 300, 900})}}),
        times(random, means),
        loop{.means = &means, .chunk = static_cast<double>(of(random, {64, 512, 2048, 8192}))} {
    const int spread = static_cast<int>(random() % 3);
    loop.spread = spread == 0 ? 0.0 : spread == 1 ? 0.11 : 0.5;
    if (random() % 4 == 0) loop.ranks = 4.0;
  }
  static std::int64_t of(std::mt19937_64& random, std::initializer_list<std::int64_t> list) {
    return *(list.begin() + static_cast<std::ptrdiff_t>(random() % list.size()));
  }

  Means means;
  Machine times;
  serving::Loop loop;
};

bool no_less(double less, double more) { return more >= less * (1.0 - 1e-11); }

TEST_CASE("with more users or slots no figure of a loop turns back") {
  std::mt19937_64 random(31);
  for (int world = 0; world < 4000; ++world) {
    CAPTURE(world);
    const World w(random);
    const double few = std::exp(std::uniform_real_distribution<double>(0.0, 6.0)(random));
    const double many = few * (1.0 + std::uniform_real_distribution<double>(0.0, 1.0)(random));
    const LoopFigures a = served_loop(w.loop, w.times, few);
    const LoopFigures b = served_loop(w.loop, w.times, many);
    // Chance, and ranks that wait for each other, may turn all but these back where prompts are
    // longer than a chunk.
    CHECK(no_less(b.mix.cost, a.mix.cost));
    CHECK(no_less(a.decode, b.decode));
    if (w.loop.spread > 0.0 || w.loop.ranks > 1.0) continue;
    CHECK(no_less(a.throughput, b.throughput));
    CHECK(no_less(a.tpot, b.tpot));
    CHECK(no_less(few / a.throughput, many / b.throughput));
    CHECK(no_less(a.ttft, b.ttft));
    CHECK(no_less(a.mix.share, b.mix.share));
    CHECK(no_less(a.mix.decoding, b.mix.decoding + 1e-9));
    CHECK(no_less(a.mixed, b.mixed));
    const double answer = random() % 2 == 0 ? 0.0 : 0.3;
    const LoopFigures narrow = closed_loop(w.loop, w.times, many, few, answer);
    const LoopFigures wide = closed_loop(w.loop, w.times, many, many, answer);
    CHECK(no_less(narrow.throughput, wide.throughput));
    CHECK(no_less(narrow.tpot, wide.tpot));
    CHECK(no_less(wide.ttft, narrow.ttft));
  }
}

TEST_CASE("users are those of Little's law, and tokens come out as they are asked for") {
  std::mt19937_64 random(32);
  for (int world = 0; world < 1000; ++world) {
    CAPTURE(world);
    const World w(random);
    const double users = std::exp(std::uniform_real_distribution<double>(0.0, 6.0)(random));
    const double answer = 0.05;
    const LoopFigures loop = closed_loop(w.loop, w.times, users, 1e9, answer);
    const auto close = [](double value) { return doctest::Approx(value).epsilon(1e-11); };
    CHECK(loop.throughput * (loop.ttft + w.means.steps * loop.tpot) == close(users));
    if (loop.users == 1.0) continue;
    CHECK(loop.users + loop.throughput * answer == close(users));
    const auto& [share, cost, filling, decoding, chunk, ranks, is_paced] = loop.mix;
    if (decoding > 0.0 && w.loop.ranks == 1.0) {
      const double time = (1.0 - share) * loop.decode + share * loop.mixed;
      const double made = ((1.0 - share) * loop.users + share * decoding) / time;
      CHECK(made == close(loop.throughput * w.means.steps));
    }
    CHECK((is_paced ? share == 1.0 : share <= 1.0));
  }
}

TEST_CASE("one user waits for the chunks of the prompt and for each token after it") {
  std::mt19937_64 random(33);
  for (int world = 0; world < 500; ++world) {
    CAPTURE(world);
    const World w(random);
    if (w.loop.ranks > 1.0) continue;
    const double turns = std::ceil(w.means.fresh / w.loop.chunk);
    const LoopFigures loop = closed_loop(w.loop, w.times, 1.0, 7.0, 0.2);
    const double alone = turns * w.times.mixed(0.0, turns, w.loop.chunk, 1.0) +
                         w.means.steps * w.times.decode(1.0) + 0.2;
    CHECK(1.0 / loop.throughput == doctest::Approx(alone).epsilon(1e-12));
    if (w.means.steps > 0.0) CHECK(loop.tpot == doctest::Approx(w.times.decode(1.0)));
  }
}

TEST_CASE("an open loop of few requests is one of single users, and of too many is none") {
  std::mt19937_64 random(34);
  int overloaded = 0;
  for (int world = 0; world < 200; ++world) {
    CAPTURE(world);
    const World w(random);
    if (w.loop.ranks > 1.0) continue;
    const LoopFigures alone = closed_loop(w.loop, w.times, 1.0, 1.0, 0.0);
    const LoopFigures seldom = open_loop(w.loop, w.times, 1e-6, 64, 0.0);
    CHECK(seldom.tpot == doctest::Approx(alone.tpot).epsilon(1e-3));
    CHECK(seldom.ttft == doctest::Approx(alone.ttft).epsilon(1e-2));
    const double most = served_loop(w.loop, w.times, 64.0).throughput;
    overloaded += std::isinf(open_loop(w.loop, w.times, 1.2 * most, 64, 0.0).ttft);
  }
  CHECK(overloaded > 100);
}

/// The mean time to the first token on a rank that is played iteration by iteration: prompts of one
/// chunk at most come at random and are taken in their order, as far as they fit.
double played_ttft(const World& w, double rate, int prompts) {
  struct Prompt {
    double came, left;
  };
  std::mt19937_64 random(35);
  std::exponential_distribution<double> gap(rate);
  std::deque<Prompt> queue;
  std::deque<long> ends;  // the last iterations of those that decode, ascending
  const double fresh = w.means.fresh;
  double now = 0.0, next = gap(random), sum = 0.0;
  long iteration = 0;
  for (int first_tokens = 0; first_tokens < prompts;) {
    if (queue.empty() && ends.empty()) now = std::max(now, next);
    for (; next <= now; next += gap(random)) queue.push_back({next, fresh});
    double room = w.loop.chunk;
    std::vector<double> ended;
    while (!queue.empty() && room > 0.0) {
      const double taken = std::min(queue.front().left, room);
      room -= taken;
      queue.front().left -= taken;
      if (queue.front().left > 0.0) break;
      ended.push_back(queue.front().came);
      queue.pop_front();
    }
    const double requests = static_cast<double>(ends.size());
    const double tokens = w.loop.chunk - room;
    now += tokens > 0.0 ? w.times.mixed(requests, fresh / tokens, w.loop.chunk, 1.0)
                        : w.times.decode(requests);
    ++iteration;
    while (!ends.empty() && ends.front() <= iteration) ends.pop_front();
    for (const double came : ended) {
      sum += now - came;
      ++first_tokens;
      if (w.means.steps > 0.0) ends.push_back(iteration + static_cast<long>(w.means.steps));
    }
  }
  return sum / prompts;
}

/// The mean error of first tokens against a rank that is played, over 60 worlds that are wanted and
/// have up to `most_load` of their capacity.
template <class IsWanted>
double ttft_error(std::uint64_t seed, double most_load, const IsWanted& is_wanted) {
  constexpr int kWorlds = 60;
  std::mt19937_64 random(seed);
  double errors = 0.0;
  for (int tried = 0; tried < kWorlds;) {
    const World w(random);
    const double load = std::uniform_real_distribution<double>(0.05, most_load)(random);
    if (w.loop.ranks > 1.0 || !is_wanted(w)) continue;
    CAPTURE(tried);
    ++tried;
    // The steady state that is described has lengths which differ.
    const double rate = load * served_loop(w.loop, w.times, 1e4).throughput;
    const double ttft = open_loop(w.loop, w.times, rate, 100'000, 0.0).ttft;
    const double error = std::abs(ttft / played_ttft(w, rate, 20'000) - 1.0);
    CHECK(error < 0.3);
    errors += error;
  }
  return errors / kWorlds;
}

TEST_CASE("first tokens of an open loop come as those of a rank that is played") {
  CHECK(ttft_error(36, 0.6, [](const World& w) {
          return w.means.fresh <= w.loop.chunk && w.means.steps <= 299.0;
        }) < 0.06);
}

TEST_CASE("first tokens of prompts that decode nothing come as those of a rank that is played") {
  CHECK(ttft_error(37, 0.9, [](const World& w) { return !(w.means.steps > 0.0); }) < 0.06);
}

}  // namespace
}  // namespace dfsearch
