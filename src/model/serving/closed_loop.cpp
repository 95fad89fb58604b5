// Little's law (Little, Operations Research 1961) gives the figures of a closed loop from the times
// of two iterations, one without prefill and one with it.  The share of iterations with prefill is
// a fixed point that does not depend on times.  Continuous batching: Yu et al., Orca, OSDI 2022;
// chunks of prefill: Agrawal et al., Sarathi, 2023.

#include "model/serving/closed_loop.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "model/serving/apart_loop.hpp"

namespace dfsearch::serving {
namespace {

constexpr double kEndless = std::numeric_limits<double>::infinity();

/// Whether outputs differ enough, by a token or more, for prompts to arrive at random.
bool differs(const Loop& loop) { return loop.spread * loop.means->steps >= 0.5; }

/// The share of iterations with prefill, 1 - exp(-ended), if `ended` requests end at random in an
/// iteration on average.
struct Share {
  double ended = 0.0;

  [[nodiscard]] double value() const { return -std::expm1(-ended); }
  [[nodiscard]] double rest() const { return std::exp(-ended); }
};

/// (16): iterations that a prompt costs, for this share of iterations with prefill.
double cost_of(const Loop& loop, double users, const Share& share, double chunk) {
  const double least = std::max(loop.least_cost(chunk), 1.0 / users);
  const double steps = loop.steps(), turns = loop.turns(chunk);
  if (turns > 1.0 || steps == 0.0) {
    return std::max(least, std::min(turns, (steps + turns) / users));
  }
  if (!differs(loop)) return least;
  return std::max(least, share.ended > 0.0 ? share.value() / share.ended : 1.0);
}

/// (16): requests in prefill in an iteration with a chunk.
double filling_of(const Loop& loop, double users, const Share& share, double cost, double chunk) {
  const double alone = std::max(1.0, loop.turns(chunk) / cost);
  const double apart = std::min(1.0, 2.0 * loop.spread);
  if (apart == 0.0) return alone;
  const double part = (users - 1.0) / users * std::min(1.0, loop.least_cost(chunk) / cost);
  const double left = 1.0 - part + part * share.rest();  // share of the capacity that is free
  return left > 0.0 ? alone + apart * (1.0 - left) / (2.0 * left) : kEndless;
}

constexpr Share kAllTake{kEndless};

/// (16b): all iterations have prefill, which limits the number of requests that decode.
void set_pace(const Loop& loop, double users, LoopMix& mix) {
  const double steps = loop.steps();
  mix.share = 1.0;
  mix.is_paced = true;
  if (loop.budget > 0.0) {
    mix.decoding = steps * loop.budget / (loop.means->fresh + steps * loop.checked);
    mix.chunk = loop.chunk_beside(mix.decoding);
  }
  // If there is a budget, the chunk grows as fewer requests decode.
  constexpr int kMost = 100;
  for (int i = 0; i < kMost; ++i) {
    mix.cost = cost_of(loop, users, kAllTake, mix.chunk);
    mix.decoding = steps / mix.cost;
    const double chunk = loop.chunk_beside(mix.decoding);
    if (mix.cost <= loop.least_cost(mix.chunk) || chunk == mix.chunk) break;
    mix.chunk = chunk;
  }
  mix.filling = users - mix.decoding;
}

}  // namespace

double Loop::chunk_beside(double requests) const {
  return budget > 0.0 ? std::max(budget - checked * requests, 1.0) : chunk;
}

double Loop::padding(double requests) const {
  if (!graphs) return 0.0;
  // Rounding may make a product slightly larger than the whole number that it should be.
  constexpr double kNone = 1e-9;
  const double tokens = checked * requests;
  for (const std::int64_t size : *graphs) {
    if (static_cast<double>(size) >= tokens - kNone) {
      return std::max(static_cast<double>(size) - tokens, 0.0);
    }
  }
  return 0.0;
}

double Loop::turns(double of_chunk) const {
  return std::max(means->whole_iterations(of_chunk), 1.0);
}

LoopMix mix_of(const Loop& loop, double users) {
  LoopMix mix{.decoding = users};
  const double steps = loop.steps();
  // The share of iterations with prefill that follows from `share`, minus `share`.
  const auto excess_of = [&](const Share& share) {
    // If there is a budget, the chunk and the number of requests that decode depend on each other.
    constexpr int kMost = 200;
    for (int i = 0; i < kMost; ++i) {
      const double before = mix.decoding;
      mix.chunk = loop.chunk_beside(before);
      mix.cost = cost_of(loop, users, share, mix.chunk);
      mix.filling = std::min(filling_of(loop, users, share, mix.cost, mix.chunk), users);
      mix.decoding = users - mix.filling;
      if (loop.budget == 0.0 || std::abs(mix.decoding - before) <= 1e-15 * before) break;
    }
    const double all = steps + mix.cost * mix.filling;
    mix.share = mix.cost * users / all;
    return share.rest() - (all - mix.cost * users) / all;
  };
  if (excess_of(kAllTake) >= 0.0 || steps == 0.0) {
    set_pace(loop, users, mix);
    return mix;
  }
  if (loop.spread > 0.0) {
    // The excess falls as the share rises.
    Share low, high{1.0};
    while (excess_of(high) > 0.0) high.ended *= 2.0;
    for (;;) {
      const Share middle{(low.ended + high.ended) / 2.0};
      if (!(low.ended < middle.ended && middle.ended < high.ended)) break;
      (excess_of(middle) > 0.0 ? low : high) = middle;
    }
    excess_of(high);
    mix.share = high.value();
  }
  return mix;
}

LoopFigures served_loop(const Loop& loop, const LoopTimes& times, double users) {
  LoopFigures found{.users = users, .mix = mix_of(loop, users)};
  auto& [share, cost, filling, decoding, chunk, ranks, is_paced] = found.mix;
  const double steps = loop.steps();
  // (18a): the share of iterations in which some rank prefills exceeds the share of a single rank.
  const double others = std::pow(1.0 - share, loop.ranks - 1.0);  // no other rank prefills
  const double any = 1.0 - others * (1.0 - share);
  ranks = any > 0.0 ? loop.ranks * share / any : 1.0;
  found.mixed = times.mixed(decoding, cost, chunk, ranks);
  double longer = 0.0;  // seconds added to the decoding of a request
  if (steps == 0.0) {
    found.throughput = 1.0 / (cost * found.mixed);
  } else {
    found.decode = times.padded(users, loop.padding(users));
    const double beside = std::min(cost * decoding / steps, 1.0);  // share of its tokens
    found.throughput = share / (cost * ((1.0 - any) * found.decode + any * found.mixed));
    const double alone = others * found.decode + (1.0 - others) * found.mixed;
    const double mean = ((1.0 - beside) * alone + beside * found.mixed) / loop.gained;
    found.tpot = mean;
    // An iteration that gives a request a token takes at least the time to decode that one request.
    if (mean < found.decode / loop.gained) {
      found.tpot = std::max(mean, times.padded(1.0, loop.padding(1.0)) / loop.gained);
    }
    longer = loop.means->steps * (found.tpot - mean);
  }
  // Little's law, (18), for the requests in prefill, which avoids a difference of two long times.
  found.ttft = cost * (users - decoding) * found.mixed - longer;
  return found;
}

LoopFigures closed_loop(const Loop& loop, const LoopTimes& times, double users, double slots,
                        double answer) {
  const auto with_answer = [&](LoopFigures found) {
    found.ttft += answer;
    return found;
  };
  const double most = std::min(users, slots);
  LoopFigures high = served_loop(loop, times, most);
  if (most + high.throughput * answer <= users) {
    high.ttft += (users - most) / high.throughput;  // waiting, and outside of the engine
    return high;
  }
  const auto excess_of = [&](const LoopFigures& of) {
    return of.users + of.throughput * answer - users;
  };
  const double tolerance = 4e-16 * users;
  // Unless iterations are recorded, the throughput is greatest if all users are served.  This gives
  // a lower bound on the users in the engine.
  const double least = loop.graphs ? 1.0 : std::max(users - high.throughput * answer, 1.0);
  LoopFigures low = served_loop(loop, times, least);
  if (least > 1.0 && excess_of(low) > tolerance) low = served_loop(loop, times, 1.0);
  if (low.users == 1.0 && excess_of(low) >= 0.0) {
    low.throughput = users / (1.0 / low.throughput + answer);
    return with_answer(low);
  }
  // The users in the engine and the users outside of it must add up to all users.  Padding to
  // recorded sizes makes the throughput jump, so it counts only for the times, not for this
  // equation.
  Loop plain = loop;
  plain.graphs = nullptr;
  if (loop.graphs) {
    low = served_loop(plain, times, 1.0);
    high = served_loop(plain, times, most);
  }
  LoopFigures found = low;
  double inside = low.users;
  if (excess_of(low) < -tolerance) {
    inside = rising_root(low.users, excess_of(low), high.users, excess_of(high), tolerance,
                         [&](double served) {
                           found = served_loop(plain, times, served);
                           return excess_of(found);
                         });
  }
  if (loop.graphs || found.users != inside) found = served_loop(loop, times, inside);
  if (!loop.graphs) return with_answer(found);
  // Little's law: padded iterations serve fewer requests, and other users wait for a slot or are
  // outside of the engine.
  found.ttft += (users - inside) / found.throughput;
  return found;
}

LoopFigures open_loop(const Loop& loop, const LoopTimes& times, double rate, std::int64_t slots,
                      double answer) {
  LoopFigures found;
  const double steps = loop.steps();
  double pass = times.decode(1.0);  // mean iteration of a request that decodes
  double share = 0.0;
  found.mixed = pass;
  const auto never = [&] {
    found.tpot = found.ttft = found.wait = kEndless;
    return found;
  };
  constexpr int kMost = 5000;
  for (int step = 0; step < kMost; ++step) {
    const double running = rate * steps * pass;
    const double chunk = loop.chunk_beside(running), least = loop.least_cost(chunk);
    const double turns = loop.turns(chunk);
    found.users = 1.0 + running;  // as a running request sees them
    found.decode = times.decode(found.users);
    double cost = 0.0;
    if (turns > 1.0) {
      // The last chunk of a prompt is shared with the next prompt if one waits.
      const double waits = std::min(rate * least * found.mixed, 1.0);
      cost = turns + waits * (least - turns);
    } else {
      // Prompts that arrive in the same iteration share the next one: a Markov chain of two states.
      const double after_mixed = -std::expm1(-rate * found.mixed);
      const double after_decode = -std::expm1(-rate * found.decode);
      const double mixed = after_decode / (1.0 - after_mixed + after_decode);
      const double mean = (1.0 - mixed) * found.decode + mixed * found.mixed;
      cost = std::max(least, mixed / (rate * mean));
    }
    const double load = rate * std::max(cost, least) * found.mixed;
    // Prompts that wait fill their iterations, so each takes the least part of an iteration.
    const double filled = steps > 0.0 ? found.mixed : times.mixed(0.0, least, chunk, loop.ranks);
    const double served = least * filled, busy = rate * served;
    if (!(std::max(load, busy) < 1.0)) return never();
    found.wait = busy / (2.0 * (1.0 - busy)) * served;
    // If nothing decodes, the time below already contains the remainder of the running iteration.
    if (steps == 0.0) found.wait -= busy / 2.0 * std::min(served, filled);
    double next = pass, decoding = 0.0;
    if (steps > 0.0) {
      decoding = running * std::max(0.0, 1.0 - (turns + 1.0) / (2.0 * steps)) +
                 rate * (found.wait + cost * found.mixed);
      share = std::min(1.0, cost * decoding / steps);
      next = (1.0 - share) * found.decode +
             share * times.mixed(1.0 + decoding, cost, chunk, loop.ranks);
    } else {
      share = load;
    }
    const double before = found.mixed;
    found.mixed = times.mixed(decoding, cost, chunk, loop.ranks);
    if (steps == 0.0) next = pass * found.mixed / before;
    found.mix = {
        .share = share, .cost = cost, .decoding = decoding, .chunk = chunk, .ranks = loop.ranks};
    const bool is_last = std::abs(next - pass) <= 1e-15 * next;
    pass = next;
    if (is_last) break;
  }
  const double turns = loop.turns(found.mix.chunk);
  found.tpot = steps > 0.0 ? pass / loop.gained : 0.0;
  const double running = rate * steps * pass;
  // A prompt that arrives while an iteration runs waits for the end of the iteration.
  const double mean = (1.0 - share) * found.decode + share * found.mixed;
  const double square =
      (1.0 - share) * found.decode * found.decode + share * found.mixed * found.mixed;
  const double prefill = turns * found.mixed;
  found.ttft = -std::expm1(-running - rate * prefill) * square / (2.0 * mean) + found.wait +
               prefill + answer;
  const double held = prefill + loop.means->steps * found.tpot;  // time in a slot
  const double count = static_cast<double>(slots), busy = rate * held / count;
  if (!(busy < 1.0)) found.ttft = kEndless;
  if (busy < 1.0) found.ttft += waiting_share(slots, busy) * held / (2.0 * count * (1.0 - busy));
  return found;
}

}  // namespace dfsearch::serving
