// Symmetry breaking by lex-leaders.
//
// Let a permutation of the kernels map the graph, with all its costs and pins,
// onto itself.  Permuting a mapping then changes nothing but its place in the
// order of ties.  Of all best mappings wanted is the one whose partition indices
// come first, kernel by kernel; it comes before all its permutations, so at the
// first kernel u that the permutation moves, its index is at most that of the
// kernel v that u is exchanged with.  One inequality p(u) <= p(v) for every such
// permutation therefore cuts no wanted mapping off, all of them together
// neither (Crawford et al. 1996).  p(u) <= p(v) is what a tensor from u to v
// demands: the search adds it to the graph as a tensor without bytes.
//
// Only exchanges of two disjoint sets are looked for: colour refinement groups
// kernels that look alike, each pair of neighbours in a group is tried, and what
// must then be exchanged as well follows tensor by tensor.  The result is
// verified before it is used, so a wrong guess costs time only.
//
// Tested with the search against brute force in tests/engine/tables/symmetry_test.cpp.

#include "engine/tables/symmetry.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <tuple>

namespace dfsearch {
namespace {

constexpr int kRounds = 32;

using Colours = std::vector<std::uint32_t>;

/// What a tensor is besides its ends.
using TensorTraits = std::tuple<int, std::int32_t, std::int64_t>;
using End = std::tuple<std::size_t, TensorTraits>;  // a neighbour, and the tensor to it

TensorTraits traits_of(const Tensor& tensor) { return {tensor.operand, tensor.value, tensor.rows}; }

class SymmetryFinder {
 public:
  SymmetryFinder(const Problem& problem, const LoopSets& sharding, const Deadline& deadline)
      : problem_(problem),
        graph_(problem.workload.graph),
        sharding_(sharding),
        deadline_(deadline) {
    colour();
  }

  using Exchange = std::map<std::size_t, std::size_t>;  // both directions

  [[nodiscard]] std::set<Exchange> exchanges() const {
    std::map<std::uint32_t, std::size_t> last_of_colour;
    std::set<Exchange> found;
    for (std::size_t k = 0; k < colours_.size(); ++k) {
      deadline_.check();
      const auto [place, first] = last_of_colour.try_emplace(colours_[k], k);
      if (first) continue;
      if (auto exchange = exchange_of(place->second, k)) found.insert(std::move(*exchange));
      place->second = k;
    }
    return found;
  }

 private:
  [[nodiscard]] std::vector<End> inputs(std::size_t k) const {
    std::vector<End> ends;
    for (const TensorId t : graph_.inputs(KernelId(k))) {
      ends.emplace_back(graph_.tensor(t).from.index(), traits_of(graph_.tensor(t)));
    }
    return ends;
  }
  [[nodiscard]] std::vector<End> outputs(std::size_t k) const {
    std::vector<End> ends;
    for (const TensorId t : graph_.outputs(KernelId(k))) {
      ends.emplace_back(graph_.tensor(t).to.index(), traits_of(graph_.tensor(t)));
    }
    return ends;
  }

  /// All that a kernel costs, in an order of its own.
  [[nodiscard]] auto traits(std::size_t k) const {
    const Kernel& kernel = graph_.kernels()[k];
    const Communication own = kernel.communication.value_or(Communication{});
    const Communication second = kernel.second_communication.value_or(Communication{});
    const Attention attention = kernel.attention.value_or(Attention{});
    // A kernel whose weight is another's stores none; whose it is costs nothing.
    const auto& pins = problem_.execution.pins;
    return std::tuple(
        attention.keys, attention.window, attention.causal, kernel.element_flops, kernel.matrices,
        kernel.parameters, kernel.tokens, kernel.weight_of.has_value(), kernel.kind, kernel.mode,
        kernel.phase, kernel.tiled, kernel.outer, kernel.m, kernel.k, kernel.n,
        kernel.communication.has_value(), own.type, own.bytes.in_base_units(),
        kernel.memory.in_base_units(), kernel.repeat, kernel.skip_weight, kernel.spread,
        kernel.second_communication.has_value(), second.type, second.bytes.in_base_units(),
        kernel.sharded_memory.in_base_units(), sharding_[k], pins.empty() ? std::nullopt : pins[k]);
  }

  /// Kernels of one colour are alike and have neighbours of the same colours, as
  /// far as a few rounds tell; exchanges are verified in any case.
  void colour() {
    const std::size_t count = graph_.kernel_count();
    colours_.assign(count, 0);
    std::map<decltype(traits(0)), std::uint32_t> kinds;
    for (std::size_t k = 0; k < count; ++k) {
      const auto number = static_cast<std::uint32_t>(kinds.size());
      colours_[k] = kinds.try_emplace(traits(k), number).first->second;
    }
    std::size_t colours = kinds.size();
    for (int round = 0; round < kRounds; ++round) {
      using Signature = std::tuple<std::uint32_t, std::vector<End>, std::vector<End>>;
      std::map<Signature, std::uint32_t> seen;
      Colours next(count);
      deadline_.check();
      for (std::size_t k = 0; k < count; ++k) {
        Signature signature{colours_[k], recoloured(inputs(k)), recoloured(outputs(k))};
        const auto number = static_cast<std::uint32_t>(seen.size());
        next[k] = seen.try_emplace(std::move(signature), number).first->second;
      }
      colours_ = std::move(next);
      if (seen.size() == colours) return;
      colours = seen.size();
    }
  }

  [[nodiscard]] std::vector<End> recoloured(std::vector<End> ends) const {
    for (End& end : ends) std::get<0>(end) = colours_[std::get<0>(end)];
    std::sort(ends.begin(), ends.end());
    return ends;
  }

  /// The exchange of a and b with all that it entails, if that leaves the graph
  /// as it is.
  [[nodiscard]] std::optional<Exchange> exchange_of(std::size_t a, std::size_t b) const {
    Exchange exchange;
    std::vector<std::pair<std::size_t, std::size_t>> waiting{{a, b}};
    while (!waiting.empty()) {
      const auto [x, y] = waiting.back();
      waiting.pop_back();
      const auto known = exchange.find(x);
      if (known != exchange.end()) {
        if (known->second != y) return std::nullopt;
        continue;
      }
      if (exchange.contains(y)) return std::nullopt;
      exchange[x] = y;
      exchange[y] = x;
      if (!pair_up(inputs(x), inputs(y), waiting) || !pair_up(outputs(x), outputs(y), waiting)) {
        return std::nullopt;
      }
    }
    if (!leaves_graph(exchange)) return std::nullopt;
    return exchange;
  }

  /// Neighbours that both have stay; the others are exchanged in the order of
  /// the list.
  [[nodiscard]] bool pair_up(std::vector<End> x, std::vector<End> y,
                             std::vector<std::pair<std::size_t, std::size_t>>& waiting) const {
    std::sort(x.begin(), x.end());
    std::sort(y.begin(), y.end());
    std::vector<End> only_x;
    std::vector<End> only_y;
    std::set_difference(x.begin(), x.end(), y.begin(), y.end(), std::back_inserter(only_x));
    std::set_difference(y.begin(), y.end(), x.begin(), x.end(), std::back_inserter(only_y));
    if (only_x.size() != only_y.size()) return false;
    for (std::size_t i = 0; i < only_x.size(); ++i) {
      const auto [from, of_x] = only_x[i];
      const auto [to, of_y] = only_y[i];
      if (colours_[from] != colours_[to] || of_x != of_y) return false;
      waiting.emplace_back(from, to);
    }
    return true;
  }

  [[nodiscard]] bool leaves_graph(const Exchange& exchange) const {
    const auto image = [&](std::vector<End> ends) {
      for (End& end : ends) {
        const auto moved = exchange.find(std::get<0>(end));
        if (moved != exchange.end()) std::get<0>(end) = moved->second;
      }
      std::sort(ends.begin(), ends.end());
      return ends;
    };
    const auto sorted = [](std::vector<End> ends) {
      std::sort(ends.begin(), ends.end());
      return ends;
    };
    return std::all_of(exchange.begin(), exchange.end(), [&](const auto& pair) {
      const auto [x, y] = pair;
      return traits(x) == traits(y) && image(inputs(x)) == sorted(inputs(y)) &&
             image(outputs(x)) == sorted(outputs(y));
    });
  }

  const Problem& problem_;
  const DataflowGraph& graph_;
  const LoopSets& sharding_;
  const Deadline& deadline_;
  Colours colours_;
};

/// Of each exchange the first kernel that is moved and its partner.
std::vector<std::pair<std::size_t, std::size_t>> leads(
    const std::set<SymmetryFinder::Exchange>& exchanges) {
  std::set<std::pair<std::size_t, std::size_t>> found;
  for (const auto& exchange : exchanges) found.insert(*exchange.begin());
  return {found.begin(), found.end()};
}

}  // namespace

std::vector<std::pair<std::size_t, std::size_t>> exchangeable_kernels(const Problem& problem,
                                                                      const LoopSets& sharding,
                                                                      const Deadline& deadline) {
  return leads(SymmetryFinder(problem, sharding, deadline).exchanges());
}

Symmetry find_symmetry(const Problem& problem, const LoopSets& sharding, const Deadline& deadline) {
  const DataflowGraph& graph = problem.workload.graph;
  std::vector<std::size_t> place(graph.kernel_count());  // in the topological order
  for (std::size_t i = 0; i < place.size(); ++i) place[graph.topological_order()[i].index()] = i;
  const auto exchanges = SymmetryFinder(problem, sharding, deadline).exchanges();
  Symmetry symmetry;
  for (const auto& exchange : exchanges) {
    auto& pairs = symmetry.exchanges.emplace_back();
    for (const auto& [u, v] : exchange) {
      if (u < v) pairs.emplace_back(u, v);
    }
  }
  for (const auto& [u, v] : leads(exchanges)) {
    // The search numbers kernels topologically and wants tensors to ascend.
    if (place[u] < place[v]) symmetry.order.emplace_back(u, v);
  }
  return symmetry;
}

}  // namespace dfsearch
