// Symmetry: permutations of the kernels that map the graph, with all its costs and pins, onto
// itself.
//
// Only exchanges of two disjoint sets are sought: colour refinement groups kernels that are alike,
// each pair of consecutive kernels of a group is tried, and the exchange is extended tensor by
// tensor.  The result is verified before it is used, so a wrong guess costs time only.
//
// Tested with the search against brute force in tests/engine/tables/symmetry_test.cpp.

#include "engine/tables/symmetry.hpp"

#include <algorithm>
#include <boost/container_hash/hash.hpp>
#include <compare>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>

namespace dfsearch {
namespace {

constexpr int kRoundsOfSymmetry = 32;

using Colours = std::vector<std::uint32_t>;

/// Properties of a tensor besides its ends.
using TensorTraits = std::tuple<int, std::int32_t, std::int64_t>;

TensorTraits traits_of(const Tensor& tensor) { return {tensor.operand, tensor.value, tensor.rows}; }

/// A neighbour of a kernel, and a number for the traits of the tensor between them; compared in
/// this order.
class Neighbour {
 public:
  Neighbour(std::size_t other, std::size_t traits)
      : both_(static_cast<std::uint64_t>(other) << 32U | traits) {}

  [[nodiscard]] std::size_t other() const { return both_ >> 32U; }
  [[nodiscard]] std::size_t traits() const { return both_ & 0xffffffffU; }
  friend auto operator<=>(const Neighbour&, const Neighbour&) = default;

 private:
  std::uint64_t both_;
};
using Neighbours = std::vector<Neighbour>;

struct SignatureHash {
  std::size_t operator()(const std::vector<std::uint64_t>& signature) const {
    return boost::hash_range(signature.begin(), signature.end());
  }
};

class SymmetryFinder {
 public:
  SymmetryFinder(const Problem& problem, const LoopSets& sharding, const Deadline& deadline)
      : problem_(problem),
        graph_(problem.workload.graph),
        sharding_(sharding),
        deadline_(deadline),
        inputs_(graph_.kernel_count()),
        outputs_(graph_.kernel_count()),
        partner_(graph_.kernel_count(), kNone) {
    find_ends();
    colour();
  }

  using Partners = std::map<std::size_t, std::size_t>;  // has (u, v) and (v, u)

  [[nodiscard]] std::set<Partners> exchanges() {
    std::map<std::uint32_t, std::size_t> last_of_colour;
    std::set<Partners> found;
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
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  static constexpr int kSeam = 100;  // greater than all operands

  void find_ends() {
    std::map<TensorTraits, std::size_t> numbers;
    // Seams get operands of their own, so that no tensor has the traits of a seam.
    std::vector<Tensor> all = graph_.tensors();
    for (Tensor seam : graph_.seams()) {
      seam.operand += seam.next_step ? 2 * kSeam : kSeam;
      all.push_back(seam);
    }
    for (const Tensor& tensor : all) numbers.try_emplace(traits_of(tensor), 0);
    std::size_t next = 0;
    for (auto& [traits, number] : numbers) number = next++;
    for (const Tensor& tensor : all) {
      const std::size_t traits = numbers.at(traits_of(tensor));
      inputs_[tensor.to.index()].emplace_back(tensor.from.index(), traits);
      outputs_[tensor.from.index()].emplace_back(tensor.to.index(), traits);
    }
    for (Neighbours& ends : inputs_) std::sort(ends.begin(), ends.end());
    for (Neighbours& ends : outputs_) std::sort(ends.begin(), ends.end());
  }

  /// All properties of a kernel that its costs depend on, as a tuple to compare.
  [[nodiscard]] auto traits(std::size_t k) const {
    const Kernel& kernel = graph_.kernels()[k];
    const Communication own = kernel.communication.value_or(Communication{});
    const Communication second = kernel.second_communication.value_or(Communication{});
    const Attention attention = kernel.attention.value_or(Attention{});
    // A kernel that uses another's weight stores none; which kernel owns that weight has no effect
    // on costs.
    const auto& pins = problem_.execution.pins;
    return std::tuple(attention.keys, attention.window, attention.causal, kernel.element_flops,
                      kernel.matrices, kernel.parameters, kernel.tokens, kernel.coupled,
                      kernel.weight_of.has_value(), kernel.kind, kernel.mode, kernel.phase,
                      kernel.tiled, kernel.outer, kernel.m, kernel.k, kernel.n,
                      kernel.communication.has_value(), own.type, own.bytes.in_base_units(),
                      kernel.memory.in_base_units(), kernel.repeat, kernel.steps,
                      kernel.skip_weight, kernel.spread, kernel.second_communication.has_value(),
                      second.type, second.bytes.in_base_units(), own.group, second.group,
                      kernel.sharded_memory.in_base_units(), kernel.slowness, kernel.cycle_scale,
                      sharding_[k], pins.empty() ? std::nullopt : pins[k]);
  }

  /// Refines the colours until they are stable or the rounds are over: kernels of one colour are
  /// alike, and mostly so are their neighbours.  Exchanges are verified in any case.
  void colour() {
    const std::size_t count = graph_.kernel_count();
    colours_.assign(count, 0);
    std::map<decltype(traits(0)), std::uint32_t> kinds;
    for (std::size_t k = 0; k < count; ++k) {
      const auto number = static_cast<std::uint32_t>(kinds.size());
      colours_[k] = kinds.try_emplace(traits(k), number).first->second;
    }
    std::size_t colours = kinds.size();
    std::vector<std::uint64_t> signature;
    for (int round = 0; round < kRoundsOfSymmetry; ++round) {
      std::unordered_map<std::vector<std::uint64_t>, std::uint32_t, SignatureHash> seen;
      Colours next(count);
      deadline_.check();
      for (std::size_t k = 0; k < count; ++k) {
        signature.assign({colours_[k], inputs_[k].size()});
        add_recoloured(inputs_[k], signature);
        add_recoloured(outputs_[k], signature);
        const auto number = static_cast<std::uint32_t>(seen.size());
        const auto known = seen.find(signature);
        next[k] =
            known != seen.end() ? known->second : seen.emplace(signature, number).first->second;
      }
      colours_ = std::move(next);
      if (seen.size() == colours) return;
      colours = seen.size();
    }
  }

  void add_recoloured(const Neighbours& ends, std::vector<std::uint64_t>& signature) const {
    const auto begin = static_cast<std::ptrdiff_t>(signature.size());
    for (const Neighbour& end : ends) {
      signature.push_back(std::uint64_t{colours_[end.other()]} << 32U | end.traits());
    }
    std::sort(signature.begin() + begin, signature.end());
  }

  /// The exchange of a and b and of all kernels that must be exchanged with them; nothing if it
  /// changes the graph.
  [[nodiscard]] std::optional<Partners> exchange_of(std::size_t a, std::size_t b) {
    std::optional<Partners> exchange;
    if (pair_all(a, b)) {
      exchange.emplace();
      for (const std::size_t k : moved_) exchange->emplace(k, partner_[k]);
      if (!leaves_graph(*exchange)) exchange.reset();
    }
    for (const std::size_t k : moved_) partner_[k] = kNone;
    moved_.clear();
    return exchange;
  }

  /// Fills `partner_`; returns false if a kernel would have two partners.
  bool pair_all(std::size_t a, std::size_t b) {
    waiting_.assign(1, {a, b});
    while (!waiting_.empty()) {
      const auto [x, y] = waiting_.back();
      waiting_.pop_back();
      if (partner_[x] != kNone) {
        if (partner_[x] != y) return false;
        continue;
      }
      if (partner_[y] != kNone) return false;
      partner_[x] = y;
      partner_[y] = x;
      moved_.push_back(x);
      if (y != x) moved_.push_back(y);
      if (!pair_up(inputs_[x], inputs_[y]) || !pair_up(outputs_[x], outputs_[y])) return false;
    }
    return true;
  }

  /// Pairs the neighbours of two kernels: common neighbours stay, the others are exchanged in the
  /// order of the lists.
  bool pair_up(const Neighbours& x, const Neighbours& y) {
    only_x_.clear();
    only_y_.clear();
    std::set_difference(x.begin(), x.end(), y.begin(), y.end(), std::back_inserter(only_x_));
    std::set_difference(y.begin(), y.end(), x.begin(), x.end(), std::back_inserter(only_y_));
    if (only_x_.size() != only_y_.size()) return false;
    for (std::size_t i = 0; i < only_x_.size(); ++i) {
      const Neighbour& from = only_x_[i];
      const Neighbour& to = only_y_[i];
      if (colours_[from.other()] != colours_[to.other()] || from.traits() != to.traits()) {
        return false;
      }
      waiting_.emplace_back(from.other(), to.other());
    }
    return true;
  }

  [[nodiscard]] bool leaves_graph(const Partners& exchange) const {
    const auto image = [&](const Neighbours& ends) {
      Neighbours moved;
      for (const Neighbour& end : ends) {
        const std::size_t partner = partner_[end.other()];
        moved.emplace_back(partner == kNone ? end.other() : partner, end.traits());
      }
      std::sort(moved.begin(), moved.end());
      return moved;
    };
    return std::all_of(exchange.begin(), exchange.end(), [&](const auto& pair) {
      const auto [x, y] = pair;
      return traits(x) == traits(y) && image(inputs_[x]) == inputs_[y] &&
             image(outputs_[x]) == outputs_[y];
    });
  }

  const Problem& problem_;
  const DataflowGraph& graph_;
  const LoopSets& sharding_;
  const Deadline& deadline_;
  std::vector<Neighbours> inputs_;   // of each kernel, ascending
  std::vector<Neighbours> outputs_;  // likewise
  Colours colours_;
  // State of the exchange that is tried.
  std::vector<std::size_t> partner_;
  std::vector<std::size_t> moved_;
  std::vector<std::pair<std::size_t, std::size_t>> waiting_;
  Neighbours only_x_, only_y_;  // scratch of pair_up()
};

}  // namespace

std::vector<std::pair<std::size_t, std::size_t>> exchangeable_kernels(const Problem& problem,
                                                                      const LoopSets& sharding,
                                                                      const Deadline& deadline) {
  std::set<std::pair<std::size_t, std::size_t>> leads;
  for (const auto& partners : SymmetryFinder(problem, sharding, deadline).exchanges()) {
    leads.insert(*partners.begin());
  }
  return {leads.begin(), leads.end()};
}

std::vector<Exchange> find_exchanges(const Problem& problem, const LoopSets& sharding,
                                     const Deadline& deadline) {
  std::vector<Exchange> exchanges;
  for (const auto& partners : SymmetryFinder(problem, sharding, deadline).exchanges()) {
    Exchange& exchange = exchanges.emplace_back();
    for (const auto& [u, v] : partners) {
      if (u < v) exchange.emplace_back(u, v);
    }
  }
  return exchanges;
}

}  // namespace dfsearch
