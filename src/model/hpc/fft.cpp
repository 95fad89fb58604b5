// Bailey's and the transposition algorithms of FFTs (Bailey 1990; Foster and Worley 1997): a chip
// transforms a dimension of which it has all points, in passes over the points that a core holds,
// and transpositions then bring all points of the next dimension to one chip.  Slabs transpose once
// among all chips, pencils once along each side of a grid P x Q.  Both sides of a grid divide the
// number of chips, so all grids are tried.

#include "model/hpc/fft.hpp"

#include <algorithm>
#include <cmath>

#include "base/counts.hpp"

namespace dfsearch {
namespace {

double points_of(const FftTask& task) {
  double points = 1.0;
  for (const std::int64_t side : task.sides) points *= number(side);
  return points;
}

/// The time of 5 log2 n FLOP for each point.
Seconds butterfly_time(const FftTask& task) {
  double depth = 0.0;
  for (const std::int64_t side : task.sides) depth += std::log2(number(side));
  const double points = fft_local_bytes(task) / task.element;
  return Flops(5.0 * points * depth) / task.vector;
}

/// The exchange among `members` chips at distances of `stride` chips, which fill the axes from the
/// inside out.  On a ring, the interleaved groups share its links.
FftExchange exchange_of(const FftNetwork& network, std::int64_t members, std::int64_t stride) {
  FftExchange exchange{.members = members, .out = {}, .messages = 0};
  std::vector<collective::Axis> parts;
  auto skipped = number(stride);
  auto left = number(members);
  for (const collective::Axis& axis : network.axes) {
    const double apart = std::min(skipped, axis.n);
    skipped = std::ceil(skipped / apart);
    collective::Axis part = axis;
    part.n = std::min(left, std::max(1.0, std::floor(axis.n / apart)));
    if (axis.topology == Topology::Ring && part.n < axis.n) {
      part.topology = Topology::Line;
      part.link = axis.link / apart;
    }
    left = std::ceil(left / part.n);
    if (part.n > 1.0) parts.push_back(part);
  }
  // Beyond the innermost axis messages are many and short, so each pays its latency.
  if (parts.size() > 1 || (!parts.empty() && number(members * stride) > network.axes.front().n)) {
    exchange.messages = members;
  }
  const double m = number(members);
  const Seconds a_byte = collective::all_to_all(parts, Bytes(1.0));
  exchange.out = a_byte > Seconds{} ? network.share * ((m - 1.0) / m) * Bytes(1.0) / a_byte
                                    : BytesPerSecond::infinity();
  return exchange;
}

}  // namespace

// docs/hpc.md (13)
std::int64_t fft_passes(std::int64_t points, Bytes fast, Bytes element) {
  const double held = fast / element;
  if (points <= 1 || number(points) <= held) return 1;
  // Each pass transforms a factor of the length whose points fit at once.
  if (held < 2.0) return std::int64_t{1} << 20;
  const double factors = std::log(number(points)) / std::log(held);
  return static_cast<std::int64_t>(std::ceil(factors));
}

// docs/hpc.md (16)
Bytes fft_local_bytes(const FftTask& task) {
  return points_of(task) / number(task.chips) * task.element * (task.is_real ? 0.5 : 1.0);
}

// docs/hpc.md (12)
Seconds fft_local_time(const FftTask& task) {
  double passes = task.repack;
  for (const std::int64_t side : task.sides) {
    passes += number(fft_passes(side, task.fast, task.element));
  }
  return std::max(passes * 2.0 * fft_local_bytes(task) / task.memory, butterfly_time(task));
}

// docs/hpc.md (14)
Seconds fft_time(const FftTask& task, const std::vector<FftExchange>& exchanges) {
  Seconds time = fft_local_time(task);
  const Bytes bytes = fft_local_bytes(task);
  for (const FftExchange& exchange : exchanges) {
    if (exchange.members <= 1) continue;
    const double m = number(exchange.members);
    time += bytes * ((m - 1.0) / m) / exchange.out + number(exchange.messages) * task.alpha;
  }
  return time;
}

// docs/hpc.md (15)
std::optional<FftPlan> best_fft(const FftTask& task, const FftNetwork& network, bool natural,
                                std::optional<FftLayout> layout, std::optional<std::int64_t> p) {
  std::optional<FftPlan> best;
  const auto consider = [&](FftPlan plan) {
    const bool is_line = task.sides.size() == 1;
    // For the natural order a transform of one dimension needs three exchanges; other transforms
    // repeat their exchanges to go back.
    const std::size_t once = plan.exchanges.size();
    const std::size_t times = !natural ? 1 : is_line ? 3 : 2;
    for (std::size_t i = once; i < once * times; ++i) {
      plan.exchanges.push_back(plan.exchanges[i - once]);
    }
    plan.time = fft_time(task, plan.exchanges);
    if (!best || plan.time < best->time) best = std::move(plan);
  };
  const std::int64_t chips = task.chips;
  // The shorter factor of a transform of one dimension, or the shortest dimension.
  std::int64_t least = *std::min_element(task.sides.begin(), task.sides.end());
  if (task.sides.size() == 1) {
    least = static_cast<std::int64_t>(std::sqrt(number(task.sides.front())));
  }
  if (layout.value_or(FftLayout::Slab) == FftLayout::Slab && !p && chips <= least) {
    FftPlan plan;
    plan.p = chips;
    if (chips > 1) plan.exchanges = {exchange_of(network, chips, 1)};
    consider(std::move(plan));
  }
  if (layout.value_or(FftLayout::Pencil) == FftLayout::Pencil && task.sides.size() >= 3) {
    for (const std::int64_t side : divisors(chips)) {
      if (p && *p != side) continue;
      const std::int64_t other = chips / side;
      if (side > least || other > least) continue;
      consider({.layout = FftLayout::Pencil,
                .p = side,
                .q = other,
                .exchanges = {exchange_of(network, side, 1), exchange_of(network, other, side)},
                .time = {}});
    }
  }
  return best;
}

// docs/hpc.md (17)
Seconds fft_bound(const FftTask& task, Bytes all_fast, const FftNetwork& network) {
  const double points = points_of(task);
  const double held = all_fast / task.element;
  double passes = 1.0;
  if (points / number(task.chips) > held && held >= 2.0) {
    passes = std::ceil(std::log(points) / std::log(held) / (1.0 + 1e-12));
  }
  const Bytes bytes = fft_local_bytes(task);
  Seconds least = std::max(2.0 * bytes / task.memory, butterfly_time(task));
  if (task.chips == 1) least = std::max(least, passes * 2.0 * bytes / task.memory);
  if (task.chips > 1) {
    const double m = number(task.chips);
    BytesPerSecond in{};
    for (const collective::Axis& axis : network.axes) in += collective::into(axis);
    least = std::max(least, bytes * ((m - 1.0) / m) / in);
  }
  return least;
}

}  // namespace dfsearch
