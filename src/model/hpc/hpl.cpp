// Block LU with lookahead on a block-cyclic grid (Petitet et al., HPL; Chalmers et al., "Optimizing
// High-Performance Linpack for exascale accelerated architectures", SC 2023).
//
// A step updates the s x s matrix behind its panel, factors and broadcasts the next panel, and
// swaps rows.  With lookahead the longer of update and panel counts.  The difference between the
// time of the update and the times of panel and swap is a quadratic of s with a positive leading
// term, so it is negative between its two roots only: the steps fall into at most three ranges, and
// sums of s^0, s^1 and s^2 over a range are closed forms in whole numbers.

#include "model/hpc/hpl.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/counts.hpp"

namespace dfsearch {
namespace {

using Sums = std::array<double, 3>;  ///< of s^0, s^1 and s^2 over steps

/// A time as a polynomial of s, the rows behind the panel.
struct Polynomial {
  std::array<double, 3> of{};

  [[nodiscard]] double at(double s) const { return of[0] + s * (of[1] + s * of[2]); }
  [[nodiscard]] double sum_over(const Sums& sums) const {
    return of[0] * sums[0] + of[1] * sums[1] + of[2] * sums[2];
  }
};

Polynomial operator+(Polynomial a, const Polynomial& b) {
  for (std::size_t i = 0; i < 3; ++i) a.of[i] += b.of[i];
  return a;
}
Polynomial operator*(double k, Polynomial a) {
  for (double& each : a.of) each *= k;
  return a;
}

struct Parts {
  Polynomial update, panel, swap;
};

double seconds(Seconds time) { return time.in_base_units(); }

double ceil_log2(std::int64_t count) {
  double log = 0.0;
  for (std::int64_t reach = 1; reach < count; reach *= 2) log += 1.0;
  return log;
}

FlopsPerSecond product_rate(const HplRates& rates, double block) {
  return rates.product * (block / (block + rates.half));
}

// docs/hpc.md (3)
Polynomial update_of(const HplRun& run, const HplRates& rates) {
  const double b = number(run.block);
  const double g = number(run.processes());
  const FlopsPerSecond rate = product_rate(rates, b);
  const Seconds products = Flops(2.0 * b / g) / rate;
  const Seconds moved = 2.0 * run.word / g / rates.memory;
  return {{0.0, seconds(Flops(b * b / number(run.q)) / rate), seconds(std::max(products, moved))}};
}

/// The panel has r = s + b rows.
// docs/hpc.md (4), (5)
Polynomial panel_of(const HplRun& run, const HplRates& rates) {
  const double b = number(run.block);
  const double p = number(run.p);
  double of_row = seconds(Flops(b * b / p) / rates.panel);
  double fixed = -seconds(Flops(b * b * b / (3.0 * p)) / rates.panel);
  if (run.p > 1) {
    fixed += 2.0 * b * ceil_log2(run.p) * seconds(rates.alpha + 2.0 * b * run.word / rates.column);
  }
  if (run.q > 1) {
    of_row += seconds(b * run.word / p / rates.row);
    fixed += seconds(rates.alpha);
  }
  return {{fixed + of_row * b, of_row, 0.0}};
}

// docs/hpc.md (6)
Polynomial swap_of(const HplRun& run, const HplRates& rates) {
  if (run.p <= 1) return {};
  const double p = number(run.p);
  const double b = number(run.block);
  const Seconds of_row = 2.0 * ((p - 1.0) / p) * b * run.word / number(run.q) / rates.column;
  return {{(ceil_log2(run.p) + p - 1.0) * seconds(rates.alpha), seconds(of_row), 0.0}};
}

Parts parts_of(const HplRun& run, const HplRates& rates) {
  return {update_of(run, rates), panel_of(run, rates), swap_of(run, rates)};
}

// 128 bits hold N^2 times the steps.
__extension__ using Wide = __int128;

/// Sums over steps 0 to `steps` - 1 of s = N - (k + 1) b.
// docs/hpc.md (2)
std::array<Wide, 3> sums_before(const HplRun& run, std::int64_t steps) {
  const Wide k = steps;
  const Wide b = run.block;
  const Wide n = run.n - run.block;
  return {k, k * n - b * (k * (k - 1) / 2),
          k * n * n - n * b * (k * (k - 1)) + b * b * ((k - 1) * k * (2 * k - 1) / 6)};
}

Sums sums(const HplRun& run, std::int64_t first, std::int64_t end) {
  const auto before = sums_before(run, first);
  const auto all = sums_before(run, end);
  Sums between{};
  for (std::size_t i = 0; i < 3; ++i) between[i] = static_cast<double>(all[i] - before[i]);
  return between;
}

/// The steps from `first` to `end` - 1, which wait for the panel: their update takes less time.
struct Range {
  std::int64_t first = 0;
  std::int64_t end = 0;
};

// docs/hpc.md (8)
Range waiting_steps(const HplRun& run, const Polynomial& difference, std::int64_t steps) {
  const auto [c, b, a] = difference.of;
  double low = 0.0;
  double high = 0.0;  // roots
  if (a > 0.0) {
    const double discriminant = b * b - 4.0 * a * c;
    if (!(discriminant > 0.0)) return {};
    // The root without cancellation gives the other one.
    const double q = -0.5 * (b + std::copysign(std::sqrt(discriminant), b));
    low = std::min(q / a, q == 0.0 ? 0.0 : c / q);
    high = std::max(q / a, q == 0.0 ? 0.0 : c / q);
  } else {
    return {};
  }
  const double n = number(run.n);
  const double block = number(run.block);
  const auto step_of = [&](double s) {  // the first step with at most s rows
    const double k = std::ceil((n - s) / block - 1.0);
    return static_cast<std::int64_t>(std::clamp(k, 0.0, number(steps)));
  };
  const std::int64_t first = step_of(high);
  const std::int64_t end = low < 0.0 ? steps : std::min(steps, step_of(low) + 1);
  return {first, std::max(first, end)};
}

}  // namespace

Seconds HplStep::time(const HplRun& run, Seconds beside) const {
  if (!run.lookahead) return update + panel + swap + beside;
  const Seconds hidden = run.hidden * swap;
  return (1.0 - run.hidden) * swap + std::max(update, panel + hidden) + beside;
}

// docs/hpc.md (1)
Flops hpl_flops(std::int64_t n) {
  const double side = number(n);
  return Flops(2.0 / 3.0 * side * side * side + 1.5 * side * side);
}

// docs/hpc.md (3), (4), (6)
HplStep hpl_step(const HplRun& run, const HplRates& rates, std::int64_t k) {
  const Parts parts = parts_of(run, rates);
  const double s = number(run.n - (k + 1) * run.block);
  return {Seconds(parts.update.at(s)), Seconds(parts.panel.at(s)), Seconds(parts.swap.at(s))};
}

// docs/hpc.md (7), (8), (9)
HplTime hpl_time(const HplRun& run, const HplRates& rates) {
  const Parts parts = parts_of(run, rates);
  HplTime all{.steps = run.n / run.block};
  const Sums every = sums(run, 0, all.steps);
  double time = seconds(rates.step) * number(all.steps);
  if (run.lookahead) {
    const Polynomial panel = parts.panel + run.hidden * parts.swap;
    const Range waits = waiting_steps(run, parts.update + -1.0 * panel, all.steps);
    all.waits = waits.end - waits.first;
    time += (1.0 - run.hidden) * parts.swap.sum_over(every) +
            parts.update.sum_over(sums(run, 0, waits.first)) +
            panel.sum_over(sums(run, waits.first, waits.end)) +
            parts.update.sum_over(sums(run, waits.end, all.steps));
  } else {
    all.waits = all.steps;
    time += (parts.update + parts.panel + parts.swap).sum_over(every);
  }
  if (run.processes() > 1) {
    const double n = number(run.n);
    const double g = number(run.processes());
    const bool streams = rates.memory < BytesPerSecond::infinity();
    time += seconds(streams ? 2.0 * n * n * run.word / g / rates.memory
                            : Flops(2.0 * n * n / g) / product_rate(rates, number(run.block)));
    time += 2.0 * number(all.steps) * seconds(rates.alpha) * (ceil_log2(run.p) + 1.0);
  }
  all.time = Seconds(time);
  return all;
}

// docs/hpc.md (9)
Bytes hpl_bytes(const HplRun& run) {
  const double n = number(run.n);
  const double panels = 2.0 * number(run.block) * (n / number(run.p) + n / number(run.q));
  return run.word * (n * n / number(run.processes()) + panels);
}

// docs/hpc.md (10)
HplGrid squarest_grid(std::int64_t processes) {
  HplGrid best{1, processes};
  const auto squarest = [](std::int64_t count, bool is_near) -> std::optional<HplGrid> {
    for (auto p = static_cast<std::int64_t>(std::sqrt(number(count))) + 1; p >= 1; --p) {
      if (p * p > count || count % p != 0) continue;
      if (is_near && count / p > 2 * p) return std::nullopt;
      return HplGrid{p, count / p};
    }
    return std::nullopt;
  };
  const auto idle = static_cast<std::int64_t>(0.01 * number(processes));
  for (std::int64_t count = processes; count >= std::max<std::int64_t>(1, processes - idle);
       --count) {
    if (!(number(count) > 0.99 * number(processes))) break;
    if (const auto grid = squarest(count, true)) return *grid;
  }
  if (const auto grid = squarest(processes, false)) best = *grid;
  return best;
}

// docs/hpc.md (5)
void set_links(const HplNetwork& network, const HplGrid& node, const HplRun& run, HplRates& rates) {
  rates.row = run.q <= node.q ? network.inside : network.share * network.injected / number(node.p);
  rates.column =
      run.p <= node.p ? network.inside : network.share * network.injected / number(node.q);
}

// docs/hpc.md (10)
std::optional<HplAnswer> best_hpl(const HplRun& given, const HplRates& rates,
                                  const HplChoices& choices, const HplNetwork& network,
                                  Bytes capacity) {
  std::optional<HplAnswer> best;
  const auto consider = [&](const HplRun& run, const HplGrid& node) {
    HplAnswer answer{.run = run, .node = node, .time = {}, .rates = rates};
    set_links(network, node, run, answer.rates);
    answer.time = hpl_time(run, answer.rates);
    if (const std::int64_t rest = run.n % run.block; rest > 0) {
      HplRun last = run;  // the columns after the last whole block
      last.n = last.block = rest;
      answer.time.time += hpl_step(last, answer.rates, 0).panel + answer.rates.step;
      ++answer.time.steps;
    }
    if (!best || answer.time.time < best->time.time) best = answer;
  };
  const auto [least, most] = std::minmax_element(choices.blocks.begin(), choices.blocks.end());
  const bool always = std::find(choices.lookahead.begin(), choices.lookahead.end(), true) !=
                      choices.lookahead.end();
  for (const HplGrid& grid : choices.grids) {
    HplRun any = given;
    any.lookahead = always;
    HplRates fastest = rates;
    fastest.row = fastest.column = std::max(network.inside, network.share * network.injected);
    const bool is_open = best && !choices.blocks.empty();
    if (is_open && hpl_bound(any, fastest, *least, *most, std::array{grid}) > best->time.time) {
      continue;
    }
    for (const std::int64_t block : choices.blocks) {
      for (const bool lookahead : choices.lookahead) {
        HplRun run = given;
        run.p = grid.p;
        run.q = grid.q;
        run.block = block;
        run.lookahead = lookahead;
        if (block > run.n || hpl_bytes(run) > capacity) continue;
        for (const std::int64_t p : divisors(network.node)) {
          const HplGrid node{p, network.node / p};
          const bool is_part = run.p % node.p == 0 && run.q % node.q == 0;
          if (is_part || node.p == network.node) consider(run, node);
        }
      }
    }
  }
  return best;
}

// The update runs at the rate of the greatest block, and the panel has the work of the least block.
// If there is lookahead, the sum over steps of the greater time is at least the greater sum.
// docs/hpc.md (11)
Seconds hpl_bound(const HplRun& run, const HplRates& rates, std::int64_t least, std::int64_t most,
                  std::span<const HplGrid> grids) {
  const double n = number(run.n);
  const double b0 = number(least);
  const double b1 = number(most);
  const double steps = number(run.n / most);
  const auto positive = [](double x) { return std::max(0.0, x); };
  // Lower bounds, for any block b, on b times the sums of s, s^2 and r over the steps.
  const double rows = positive(n - b1);
  const double sum_s2 = positive(rows * rows * rows / 3.0 - b1 * n * n);
  const double sum_s = positive((rows * rows - b1 * b1) / 2.0);
  const double sum_r = positive((n * n - b1 * b1) / 2.0);
  double bound = Seconds::infinity().in_base_units();
  for (const HplGrid& grid : grids) {
    const double p = number(grid.p);
    const double q = number(grid.q);
    const Seconds products = Flops(2.0 / (p * q)) / product_rate(rates, b1);
    const Seconds moved = 2.0 * run.word / (p * q) / rates.memory / b1;
    const double update = seconds(std::max(products, moved)) * sum_s2;
    double panel = seconds(Flops(positive(b0 * sum_r - n * b1 * b1 / 3.0) / p) / rates.panel);
    double swap = 0.0;
    if (grid.p > 1) {
      panel += 2.0 * ceil_log2(grid.p) * rows *
               seconds(rates.alpha + 2.0 * b0 * run.word / rates.column);
      swap = seconds(2.0 * ((p - 1.0) / p) * run.word / q / rates.column) * sum_s +
             steps * (ceil_log2(grid.p) + p - 1.0) * seconds(rates.alpha);
    }
    if (grid.q > 1) {
      panel += seconds(run.word / p / rates.row) * sum_r + steps * seconds(rates.alpha);
    }
    const double time =
        run.lookahead ? std::max(update, panel + run.hidden * swap) + (1.0 - run.hidden) * swap
                      : update + panel + swap;
    bound = std::min(bound, time + steps * seconds(rates.step));
  }
  return Seconds(bound);
}

}  // namespace dfsearch
