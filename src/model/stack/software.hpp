#pragma once
// Switches of the software that runs a plan, as recipes set them: the switches alone may double the
// time of a plan (docs/truth.md, section 11).  They are input, and never searched.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/words.hpp"

namespace dfsearch::stack {

/// A part of a step that CUDA graphs replay, so that its kernels need no host.
enum class GraphScope : std::uint8_t { None, Layer, FullIteration, Attention, Router, Preprocess };
constexpr auto words(GraphScope) {
  return named<GraphScope>("none", "layer", "full_iteration", "attn", "moe_router",
                           "moe_preprocess");
}

/// The exchange of tokens among ranks of experts: NCCL's all-to-all of a row for each expert, or
/// kernels that send a row once to each chip or domain (DeepSeek's DeepEP, NVIDIA's HybridEP).
enum class Dispatcher : std::uint8_t { AllToAll, DeepEp, HybridEp };
constexpr auto words(Dispatcher) { return named<Dispatcher>("alltoall", "deepep", "hybridep"); }

/// The launches of the products of experts.
enum class Grouped : std::uint8_t {
  EachExpert,  ///< Transformer Engine: a product and a cast for each expert
  Fused,       ///< one kernel for all experts
};
constexpr auto words(Grouped) { return named<Grouped>("te", "fused"); }

/// The loads of the experts.
enum class Balance : std::uint8_t {
  Forced,   ///< equal, as benchmarks route
  Natural,  ///< as the router chooses: the fullest chip sets the pace
  Dropped,  ///< rows beyond a capacity are dropped, and others padded to it
};
constexpr auto words(Balance) { return named<Balance>("forced", "natural", "dropped"); }

/// Learned sinks of attention, whose gradient needs kernels of its own unless it is fused.
enum class Sinks : std::uint8_t { Part, Regressed, Fused };
constexpr auto words(Sinks) { return named<Sinks>("part", "regressed", "fused"); }

/// How new weights reach all replicas from the replicas that have updated them.
enum class ParameterExchange : std::uint8_t { AllGather, Broadcast };
constexpr auto words(ParameterExchange) {
  return named<ParameterExchange>("all_gather", "broadcast");
}

struct Software {
  std::vector<GraphScope> graphs;  ///< empty: left out
  std::optional<Dispatcher> dispatcher;
  std::optional<bool> expert_overlap;  ///< exchanges overlap the other pass of another micro-batch
  std::optional<Grouped> grouped;
  Balance balance = Balance::Forced;
  /// Kernels of tensor ranks that exchange as they multiply.  Left out: they are used unless the
  /// model has experts or multiplies in 4 bits.
  std::optional<bool> user_buffers;
  std::optional<Sinks> sinks;
  bool permute_fusion = true;         ///< of the rows that an all-to-all sends
  std::int64_t recompute_layers = 0;  ///< layers of each chunk that are recomputed whole
  std::int64_t offload_layers = 0;    ///< layers whose activations go to the memory of the host
  std::int64_t mtp = 0;               ///< layers of multi-token prediction, each with a head
  std::int64_t shard_group = 0;       ///< replicas that divide states among them; 0: all
  ParameterExchange parameter_exchange = ParameterExchange::AllGather;

  [[nodiscard]] bool replays(GraphScope scope) const {
    return std::find(graphs.begin(), graphs.end(), scope) != graphs.end();
  }
  /// Whether switches that decide the time of experts are left out.
  [[nodiscard]] bool is_open() const { return graphs.empty() || !dispatcher; }

  friend bool operator==(const Software&, const Software&) = default;
};

/// The switches that times of layers depend on, all decided.
struct Switches {
  bool replays_layers = false;  ///< the host issues no single kernel of a layer
  bool replays_attention = false, replays_router = false;
  Dispatcher dispatcher = Dispatcher::AllToAll;
  bool expert_overlap = false;
  Grouped grouped = Grouped::EachExpert;
};

/// Takes switches that `given` leaves out from `open`, and switches that both leave out from the
/// defaults of Switches.
inline Switches switches_of(const Software& given, const Software& open) {
  const Software& graphs = given.graphs.empty() ? open : given;
  Switches all{.replays_layers =
                   graphs.replays(GraphScope::Layer) || graphs.replays(GraphScope::FullIteration),
               .replays_attention = graphs.replays(GraphScope::Attention),
               .replays_router = graphs.replays(GraphScope::Router)};
  all.dispatcher = given.dispatcher.value_or(open.dispatcher.value_or(all.dispatcher));
  all.expert_overlap = given.expert_overlap.value_or(open.expert_overlap.value_or(false));
  all.grouped = given.grouped.value_or(open.grouped.value_or(all.grouped));
  return all;
}

}  // namespace dfsearch::stack
