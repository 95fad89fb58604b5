#include "model/stack/link_times.hpp"

#include <algorithm>
#include <cmath>

namespace dfsearch::stack {
namespace {

// Latencies into another domain, and for each doubling of the group.
constexpr Seconds kAcross{15e-6}, kPerDoubling{5e-6};
constexpr Seconds kDispatch{20e-6};  // of the kernels that sort tokens
constexpr Seconds kHop{10e-6};
// The switches of a domain add up themselves.
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
Seconds LinkTimes::dispatch(Bytes bytes, double used, double node_limit,
                            const Reach& experts) const {
  const double e = experts.members();
  if (!(e > 1.0)) return {};
  // A token sends one row to each chip, or domain, that it reaches.
  const auto reached = [used](double places) {
    return places * (1.0 - std::pow(1.0 - 1.0 / places, used));
  };
  Seconds moved{};
  if (experts.inside > 1.0) {
    moved = bytes * (std::min(used, reached(e)) * (experts.inside - 1.0) / experts.inside) /
            bus(experts.inside);
  }
  if (experts.domains > 1.0) {
    double domains = reached(experts.domains);
    if (node_limit > 0.0) domains = std::min(domains, node_limit);
    moved = std::max(moved, bytes * (domains * (experts.domains - 1.0) / experts.domains) / nic());
  }
  const Seconds start = setup_.chip.base * (2.0 * typical(setup_.stack.links_in_training));
  return (moved + start + kDispatch) * setup_.scenario.links;
}

Seconds LinkTimes::hop(Bytes message, bool across_domains, double lanes) const {
  const BytesPerSecond rate = across_domains ? nic() : bus(2.0);
  return (kHop + message / (rate * lanes)) * setup_.scenario.links;
}

}  // namespace dfsearch::stack
