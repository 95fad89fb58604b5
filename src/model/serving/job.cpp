// Generations of requests fill the slots one after the other, each as fast as its prompts are
// processed.  While one generation fills the slots, the generation before drains.  The number of
// running requests is then piecewise linear in the iterations.  The time of an iteration is
// averaged over a few points of each piece (midpoint rule).

#include "model/serving/job.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace dfsearch::serving {
namespace {

/// Most generations that are modelled one by one; if there are more, one stands for all others.
constexpr std::size_t kWritten = 5;
constexpr std::size_t kRepeated = 2;  ///< index of the generation that stands for others
constexpr int kPoints = 5;            ///< points of each piece

class Generations {
 public:
  /// A request decodes for `steps` iterations after its first token.
  Generations(double requests, double slots, double steps, double cost)
      : slots_(slots),
        steps_(steps),
        life_(steps > 0.0 ? steps + std::max(cost, 1.0) : 0.0),
        cost_(cost) {
    // A remainder from rounding is no generation.
    constexpr double kNone = 1e-9;
    const double all = std::max(std::ceil(requests / slots - kNone), 1.0);
    const double last = requests - (all - 1.0) * slots;
    repeats_ = std::max(all - static_cast<double>(kWritten), 0.0);
    count_ = static_cast<std::size_t>(all - repeats_);
    const double turn = std::max(life_, cost * slots);
    for (std::size_t j = 0; j < count_; ++j) {
      start_[j] = static_cast<double>(j) * turn;
      size_[j] = j + 1 == count_ ? last : slots;
    }
  }

  /// The number of requests that have their first token, without repeated generations.
  [[nodiscard]] double started(double iteration) const { return done(iteration, 0.0); }
  [[nodiscard]] double ended(double iteration) const { return done(iteration, life_); }
  /// The number of iterations since the first token, up to `iteration`, summed over the requests.
  [[nodiscard]] double decoded(double iteration) const {
    double sum = 0.0;
    for (std::size_t j = 0; j < count_; ++j) {
      const double since = iteration - start_[j];
      sum += after_prompts(size_[j], since) - after_prompts(size_[j], since - steps_);
    }
    return sum;
  }
  [[nodiscard]] bool fills(double iteration) const {
    for (std::size_t j = 0; j < count_; ++j) {
      const double since = iteration - start_[j];
      if (0.0 <= since && since < cost_ * size_[j]) return true;
    }
    return false;
  }
  /// Calls `add` with the first and last iteration of each piece, in ascending order.
  template <class Add>
  void each_piece(const Add& add) const {
    std::array<double, 4 * kWritten> ends{};
    std::size_t n = 0;
    for (std::size_t j = 0; j < count_; ++j) {
      for (const double since : {0.0, life_}) {
        ends[n++] = start_[j] + since;
        ends[n++] = start_[j] + since + cost_ * size_[j];
      }
    }
    std::sort(ends.begin(), ends.begin() + static_cast<std::ptrdiff_t>(n));
    for (std::size_t i = 1; i < n; ++i) {
      if (ends[i] > ends[i - 1]) add(ends[i - 1], ends[i]);
    }
  }
  /// The number of additional times that the iterations of a piece occur.
  [[nodiscard]] double repeats(double iteration) const {
    const bool is_middle =
        repeats_ > 0.0 && start_[kRepeated] <= iteration && iteration < start_[kRepeated + 1];
    return is_middle ? repeats_ : 0.0;
  }
  /// Waiting requests of all repeated generations, summed over the occurrences of an iteration.
  [[nodiscard]] double waiting_of_repeats(double iteration) const {
    if (repeats_ == 0.0 || iteration >= start_[kRepeated + 1]) return 0.0;
    const double all = repeats_ * slots_;
    return iteration < start_[kRepeated] ? all : all * (repeats_ + 1.0) / 2.0;
  }
  [[nodiscard]] double written() const {
    double sum = 0.0;
    for (std::size_t j = 0; j < count_; ++j) sum += size_[j];
    return sum;
  }

 private:
  /// The time since the end of the iteration with the first token, summed over `size` requests.  If
  /// a prompt takes several iterations, the first token comes at the end of the last one.
  [[nodiscard]] double after_prompts(double size, double since) const {
    if (since <= 0.0) return 0.0;
    const double step = std::max(cost_, 1.0), of_step = step / cost_;
    const double steps = std::floor(size / of_step);
    const double last = cost_ > 1.0 ? cost_ * size : (steps + 1.0) * step;  // end of a partial step
    const double past = std::min(steps, std::floor(since / step));
    return of_step * past * (since - step * (past + 1.0) / 2.0) +
           (size - steps * of_step) * std::max(since - last, 0.0);
  }
  [[nodiscard]] double done(double iteration, double after) const {
    double sum = 0.0;
    for (std::size_t j = 0; j < count_; ++j) {
      sum += std::clamp((iteration - start_[j] - after) / cost_, 0.0, size_[j]);
    }
    return sum;
  }

  double slots_, steps_, life_, cost_;
  double repeats_ = 0.0;
  std::size_t count_ = 0;
  std::array<double, kWritten> start_{}, size_{};
};

/// Iterations of one kind: their number, the sum of requests that decode, and the seconds.
struct Tally {
  double iterations = 0.0, decoding = 0.0, seconds = 0.0;

  [[nodiscard]] double mean(double Tally::*sum) const {
    return iterations > 0.0 ? this->*sum / iterations : 0.0;
  }
};

}  // namespace

LoopFigures job(const Loop& loop, const LoopTimes& times, double requests, double slots) {
  LoopFigures found{.users = std::min(requests, slots)};
  LoopMix& mix = found.mix;
  const double steps = loop.steps();
  mix.chunk = loop.chunk_beside(steps > 0.0 ? found.users : 0.0);
  mix.cost = std::max(loop.least_cost(mix.chunk), 1.0 / found.users);
  mix.filling = std::max(1.0, loop.turns(mix.chunk) / mix.cost);
  mix.ranks = loop.ranks;
  const Generations generations(requests, found.users, steps, mix.cost);
  Tally plain, filling;
  double held = 0.0,
         waited = 0.0;  // request-seconds after the first token (held) and before it (waited)
  const double written = generations.written();
  generations.each_piece([&](double first, double last) {
    const double middle = (first + last) / 2.0;
    const bool fills = generations.fills(middle);
    const double times_more = generations.repeats(middle);
    Tally& tally = fills ? filling : plain;
    for (int i = 0; i < kPoints; ++i) {
      const double at = first + (last - first) * (i + 0.5) / kPoints;
      const double weight = (last - first) / kPoints;
      const double started = generations.started(at);
      const double running = started - generations.ended(at);
      const double time = fills ? times.mixed(running, mix.cost, mix.chunk, loop.ranks)
                                : times.padded(running, loop.padding(running));
      const double decoded =
          generations.decoded(at + weight / 2.0) - generations.decoded(at - weight / 2.0);
      const double all = weight * (1.0 + times_more);
      tally.iterations += all;
      tally.decoding += all * running;
      tally.seconds += all * time;
      held += (1.0 + times_more) * decoded * time;
      waited += weight * time *
                ((1.0 + times_more) * (written - started) + generations.waiting_of_repeats(at));
    }
  });
  found.makespan = plain.seconds + filling.seconds;
  found.throughput = requests / found.makespan;
  found.tpot = steps > 0.0 ? held / (requests * loop.means->steps) : 0.0;
  // A first token comes at the end of the last iteration of its prompt, but `started` rises from
  // the beginning of the prompt on; the second summand corrects this.
  found.ttft = waited / requests + std::max(mix.cost, 1.0) / 2.0 * filling.mean(&Tally::seconds);
  found.running = plain.mean(&Tally::decoding);
  mix.decoding = filling.mean(&Tally::decoding);
  if (plain.iterations > 0.0) {
    found.decode = times.padded(found.running, loop.padding(found.running));
  }
  found.mixed = times.mixed(mix.decoding, mix.cost, mix.chunk, loop.ranks);
  mix.share = filling.iterations / (plain.iterations + filling.iterations);
  mix.is_paced = mix.share >= 1.0;
  return found;
}

}  // namespace dfsearch::serving
