// The times of collectives against a simulation that moves packets over links, round by round.  In
// a round each link carries one packet each way, and a member of a switch sends one and receives
// one.  What the simulation knows of a topology is who has a link to whom.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "model/machine/collectives.hpp"

namespace dfsearch {
namespace {

constexpr double kBandwidth = 8.0;  // bytes a second
constexpr double kLatency = 0.25;

/// On its way from member to member: `step` is 1 or -1 around a ring or along a line, and anything
/// else goes straight to where it shall be.
struct Packet {
  int at;
  int to;
  int step;
  std::vector<int> visited{};
};

struct Run {
  double rounds = 0.0;
  double hops = 0.0;  // of the packet that takes most
  std::vector<Packet> packets;
};

int around(int member, int n) { return (member % n + n) % n; }

bool goes_by_steps(Topology topology) {
  return topology == Topology::Ring || topology == Topology::Line;
}

int hops_left(const Packet& packet, Topology topology, int n) {
  if (!goes_by_steps(topology)) return packet.at == packet.to ? 0 : 1;
  return around((packet.to - packet.at) * packet.step, n);
}

/// Greedy, the longest way first, then by distance, so that members of a switch take turns.
Run deliver(Topology topology, int n, std::vector<Packet> packets) {
  Run run;
  const auto less = [&](const Packet& a, const Packet& b) {
    const int left = hops_left(a, topology, n), other = hops_left(b, topology, n);
    return left != other ? left > other : around(a.to - a.at, n) < around(b.to - b.at, n);
  };
  for (Packet& packet : packets) packet.visited = {packet.at};
  const auto waits = [&](const Packet& p) { return hops_left(p, topology, n) > 0; };
  while (std::any_of(packets.begin(), packets.end(), waits)) {
    std::stable_sort(packets.begin(), packets.end(), less);
    std::set<std::tuple<int, int, int>> links;  // a ring of two has two of them
    std::set<int> sending, receiving;
    for (Packet& packet : packets) {
      if (!waits(packet)) continue;
      const bool ring = goes_by_steps(topology);
      const int next = ring ? around(packet.at + packet.step, n) : packet.to;
      const std::tuple link{packet.at, next, ring ? packet.step : 0};
      const bool shares = topology == Topology::Switch;
      if (links.count(link) > 0) continue;
      if (shares && (sending.count(packet.at) > 0 || receiving.count(next) > 0)) continue;
      links.insert(link);
      sending.insert(packet.at);
      receiving.insert(next);
      packet.at = next;
      packet.visited.push_back(next);
    }
    run.rounds += 1.0;
  }
  for (const Packet& packet : packets) {
    run.hops = std::max(run.hops, static_cast<double>(packet.visited.size()) - 1.0);
  }
  run.packets = std::move(packets);
  return run;
}

/// Packets along a line, from each member to both ends, or from both ends to each member.
std::vector<Packet> along_line(int n, bool to_ends) {
  std::vector<Packet> packets;
  for (int member = 0; member < n; ++member) {
    if (member > 0) packets.push_back(to_ends ? Packet{member, 0, -1} : Packet{0, member, 1});
    if (member + 1 < n) {
      packets.push_back(to_ends ? Packet{member, n - 1, 1} : Packet{n - 1, member, -1});
    }
  }
  return packets;
}

/// Each member's part to all others: around a ring one packet leaves a copy with each.
Run all_gather(Topology topology, int n) {
  std::vector<Packet> packets;
  if (topology == Topology::Line) packets = along_line(n, true);
  for (int from = 0; from < n && topology != Topology::Line; ++from) {
    for (int to = 0; to < n; ++to) {
      const bool last = topology == Topology::Ring ? around(to + 1, n) == from : to != from;
      if (last) packets.push_back({from, to, 1});
    }
  }
  Run run = deliver(topology, n, packets);
  std::map<int, std::set<int>> copies;  // of a member's part: who has it
  for (const Packet& packet : run.packets) {
    copies[packet.visited.front()].insert(packet.visited.begin(), packet.visited.end());
  }
  for (int from = 0; from < n; ++from) CHECK(copies[from].size() == static_cast<std::size_t>(n));
  return run;
}

/// Each part's sum to its member: around a ring it grows on the way.
Run reduce_scatter(Topology topology, int n) {
  std::vector<Packet> packets;
  if (topology == Topology::Line) packets = along_line(n, false);
  for (int to = 0; to < n && topology != Topology::Line; ++to) {
    for (int from = 0; from < n; ++from) {
      const bool first = topology == Topology::Ring ? around(to + 1, n) == from : to != from;
      if (first) packets.push_back({from, to, 1});
    }
  }
  Run run = deliver(topology, n, packets);
  std::map<int, std::set<int>> summands;
  for (const Packet& packet : run.packets) {
    summands[packet.to].insert(packet.visited.begin(), packet.visited.end());
  }
  for (int to = 0; to < n; ++to) CHECK(summands[to].size() == static_cast<std::size_t>(n));
  return run;
}

/// A part for each other member, in two halves that take the shorter way around a ring, or both.
Run all_to_all(Topology topology, int n) {
  std::vector<Packet> packets;
  for (int from = 0; from < n; ++from) {
    for (int to = 0; to < n; ++to) {
      if (from == to) continue;
      if (topology == Topology::Line) {
        packets.insert(packets.end(), 2, {from, to, to > from ? 1 : -1});
        continue;
      }
      const int right = around(to - from, n);
      packets.push_back({from, to, 2 * right <= n ? 1 : -1});
      packets.push_back({from, to, 2 * right < n ? 1 : -1});
    }
  }
  return deliver(topology, n, packets);
}

Collectives::Dimension dimension(Topology topology, int n, double bandwidth = kBandwidth) {
  return {.topology = topology,
          .degree = static_cast<double>(n),
          .bandwidth = BytesPerSecond(bandwidth),
          .latency = Seconds(kLatency)};
}

void check_same(Seconds time, double simulated) {
  CHECK(time.in_base_units() == doctest::Approx(simulated).epsilon(1e-12));
}

constexpr double kWhole = 840.0;  // bytes; divided by all n below

template <class Check>
void for_all_groups(const Check& check) {
  for (const auto& [name, topology] : words(Topology{})) {
    for (int n = 2; n <= 8; ++n) {
      CAPTURE(name);
      CAPTURE(n);
      check(topology, n, Collectives({dimension(topology, n)}), kWhole / n / kBandwidth);
    }
  }
}

TEST_CASE("gathers, sums and all-reduces take the rounds that packets take") {
  for_all_groups([](Topology topology, int n, const Collectives& links, double part) {
    const Run gather = all_gather(topology, n);
    const Run scatter = reduce_scatter(topology, n);
    check_same(links.all_gather(Bytes(kWhole)), gather.rounds * part);
    check_same(links.all_gather(Bytes(kWhole)), scatter.rounds * part);
    check_same(links.all_reduce(Bytes(kWhole)), (scatter.rounds + gather.rounds) * part);
    check_same(links.gather_latency(), gather.hops * kLatency);
    check_same(links.all_reduce_latency(), (scatter.hops + gather.hops) * kLatency);
  });
}

// Around an odd ring nobody is opposite, and the links carry 1 - 1/n^2 of what the bisection says.
TEST_CASE("all-to-alls take the rounds that packets take") {
  for_all_groups([](Topology topology, int n, const Collectives& links, double part) {
    const Run run = all_to_all(topology, n);
    const bool odd_ring = topology == Topology::Ring && n % 2 == 1;
    const double carried = odd_ring ? 1.0 - 1.0 / (n * n) : 1.0;
    check_same(carried * links.all_to_all(Bytes(kWhole)), run.rounds * part / 2.0);
    check_same(links.exchange_latency(), run.hops * kLatency);
  });
}

TEST_CASE("a message takes a link") {
  for_all_groups([](Topology topology, int n, const Collectives& links, double) {
    const Run run = deliver(topology, n, {{0, 1, 1}});
    check_same(links.point_to_point(Bytes(kWhole)), run.rounds * kWhole / kBandwidth);
    check_same(links.message_latency(), run.hops * kLatency);
  });
}

// Sums are scattered along the inner dimension first, in groups that have all of it; then along the
// outer one, where each group has the part of one inner member.  Gathers go the other way.
TEST_CASE("of several dimensions each moves what the inner ones leave") {
  for (const auto& [inner_name, inner] : words(Topology{})) {
    for (const auto& [outer_name, outer] : words(Topology{})) {
      CAPTURE(inner_name);
      CAPTURE(outer_name);
      for (const auto& [n, m] : {std::pair{2, 3}, std::pair{4, 2}, std::pair{3, 5}}) {
        const Collectives links({dimension(inner, n), dimension(outer, m, 3.0)});
        const double in = kWhole / n / kBandwidth;
        const double out = kWhole / n / m / 3.0;
        const double rounds = reduce_scatter(inner, n).rounds * in;
        check_same(links.all_gather(Bytes(kWhole)), rounds + reduce_scatter(outer, m).rounds * out);
        const double back = all_gather(outer, m).rounds * out + all_gather(inner, n).rounds * in;
        check_same(links.all_reduce(Bytes(kWhole)),
                   rounds + reduce_scatter(outer, m).rounds * out + back);
      }
    }
  }
}

/// Links between the lower and the upper half of the members; for a switch the links of all
/// members, as published.
double cut_links(Topology topology, int n) {
  if (topology == Topology::Switch) return n;
  double links = 0.0;
  for (int a = 0; a < n; ++a) {
    for (int b = a + 1; b < n; ++b) {
      const bool joined =
          topology == Topology::Line
              ? a + 1 == b
              : topology != Topology::Ring || around(a + 1, n) == b || around(b + 1, n) == a;
      const bool crosses = (2 * a < n) != (2 * b < n);
      if (joined && crosses) links += 1.0;
    }
  }
  return links;
}

TEST_CASE("a bisection cuts the links between both halves") {
  for (const auto& [name, topology] : words(Topology{})) {
    for (const int n : {4, 6, 8}) {
      CAPTURE(name);
      CAPTURE(n);
      CHECK(row_of(topology).bisection(n) == cut_links(topology, n));
    }
  }
}

}  // namespace
}  // namespace dfsearch
