#include "model/stack/link_times.hpp"

#include <algorithm>
#include <cmath>

namespace dfsearch::stack {
namespace {

// Latencies of a group of several domains, and of each doubling of their number.
constexpr Seconds kAcross{15e-6}, kPerDoubling{5e-6};
constexpr Seconds kDispatch{20e-6};         // time of the kernels that sort tokens
constexpr double kMostDispatchHops = 16.0;  // most members that count in the latency, chosen
constexpr Seconds kHop{10e-6};
// Factor on the rate of an all-reduce in one domain, whose switches add up.
constexpr double kReducing = 1.05;

}  // namespace

BytesPerSecond LinkTimes::bus(double members) const {
  const MeasuredChip& chip = setup_.chip;
  Curve<std::int64_t> curve{.work = chip.members};
  for (const BytesPerSecond rate : chip.bus) curve.share.push_back(rate.in_base_units());
  return BytesPerSecond(curve.at(members));
}

BytesPerSecond LinkTimes::nic() const { return setup_.chip.nic * typical(setup_.stack.nic_share); }

// docs/truth.md (10)
BytesPerSecond LinkTimes::bandwidth(const Reach& reach) const {
  BytesPerSecond rate = BytesPerSecond::infinity();
  if (reach.inside > 1.0) rate = bus(reach.inside);
  if (reach.domains > 1.0) rate = std::min(rate, nic() * reach.inside);
  return rate;
}

Seconds LinkTimes::latency(const Reach& reach, double passes) const {
  Seconds sum = setup_.chip.base + setup_.chip.hop * (passes * (reach.inside - 1.0));
  if (reach.domains > 1.0) sum += kAcross + kPerDoubling * std::log2(reach.domains);
  return sum * typical(setup_.stack.links_in_training);
}

// docs/truth.md (9)
Seconds LinkTimes::collective(Bytes whole, const Reach& reach, Passes passes) const {
  const double n = reach.members();
  if (!(n > 1.0) || !(whole > Bytes{})) return {};
  const double r = static_cast<double>(passes);
  BytesPerSecond rate = bandwidth(reach);
  if (passes == Passes::Two && !(reach.domains > 1.0)) rate = rate * kReducing;
  return (latency(reach, r) + whole * (r * (n - 1.0) / n) / rate) * setup_.scenario.links;
}

Seconds LinkTimes::all_to_all(Bytes whole, const Reach& reach) const {
  const double n = reach.members();
  if (!(n > 1.0)) return {};
  return (latency(reach, 1.0) + whole * ((n - 1.0) / (n * n)) / bandwidth(reach)) *
         setup_.scenario.links;
}

// docs/truth.md (11)
Seconds LinkTimes::dispatch(const SentTokens& tokens, const Reach& experts,
                            Dispatcher dispatcher) const {
  const double e = experts.members(), inside = experts.inside, domains = experts.domains;
  if (!(e > 1.0)) return {};
  // An all-to-all sends a row for each expert, other dispatchers one for each chip or domain.
  const bool is_plain = dispatcher == Dispatcher::AllToAll;
  const auto reached = [used = tokens.used](double places) {
    return places * (1.0 - std::pow(1.0 - 1.0 / places, used));
  };
  Seconds moved{};
  if (inside > 1.0) {
    const double copies = is_plain ? tokens.used * (inside / e) : std::min(tokens.used, reached(e));
    const Bytes more = is_plain ? Bytes{} : typical(setup_.chip.dispatch_row);
    moved =
        tokens.all * (1.0 + more / tokens.row) * (copies * (inside - 1.0) / inside) / bus(inside);
  }
  if (domains > 1.0) {
    double sent = is_plain ? tokens.used : reached(domains);
    if (!is_plain && tokens.node_limit > 0.0) sent = std::min(sent, tokens.node_limit);
    const BytesPerSecond rate =
        is_plain ? setup_.chip.nic * typical(setup_.stack.alltoall_nic) : nic();
    moved = std::max(moved, tokens.all * (sent * (domains - 1.0) / domains) / rate);
  }
  const double hops = std::min(inside, kMostDispatchHops) - 1.0;
  const Seconds start = (setup_.chip.base + setup_.chip.hop * hops) * 2.0;
  return (moved + start + kDispatch) * setup_.scenario.links;
}

Seconds LinkTimes::ring_start(const Reach& reach, Passes passes) const {
  const Seconds hops = setup_.chip.hop * (reach.inside - 1.0) +
                       typical(setup_.stack.hop_out) * (reach.domains - 1.0);
  return setup_.chip.base + hops * static_cast<double>(passes);
}

// docs/truth.md (20)
Seconds LinkTimes::ring(Bytes whole, const Reach& reach, Passes passes, double buckets) const {
  const double n = reach.members();
  if (!(n > 1.0) || !(whole > Bytes{})) return {};
  const Seconds starts =
      ring_start(reach, passes) * (typical(setup_.stack.links_in_training) * buckets);
  const Seconds moved = whole * (static_cast<double>(passes) * (n - 1.0) / n) / bandwidth(reach);
  return (starts + moved) * setup_.scenario.links;
}

Seconds LinkTimes::broadcasts(Bytes whole, const Reach& reach, double owners) const {
  if (!(reach.members() > 1.0) || !(whole > Bytes{})) return {};
  const Seconds starts =
      ring_start(reach, Passes::One) * (typical(setup_.stack.links_in_training) * owners);
  return (starts + whole / bandwidth(reach)) * setup_.scenario.links;
}

Seconds LinkTimes::hop(Bytes message, bool across_domains, double lanes) const {
  const BytesPerSecond rate = across_domains ? nic() : bus(2.0);
  return (kHop + message / (rate * lanes)) * setup_.scenario.links;
}

}  // namespace dfsearch::stack
