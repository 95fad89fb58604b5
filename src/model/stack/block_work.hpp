#pragma once
// The work of one chip for a micro-batch in a layer, or at an end of the model, on a measured chip
// with the software of a stack (docs/truth.md, sections 1 to 3).

#include <array>
#include <cstdint>

#include "base/units.hpp"
#include "graph/workloads/blocks/form_counts.hpp"
#include "graph/workloads/llm/transformer.hpp"
#include "model/memory/layer_memory.hpp"
#include "model/stack/expert_layer.hpp"
#include "model/stack/kernel_times.hpp"
#include "model/stack/link_times.hpp"
#include "model/stack/stack.hpp"

namespace dfsearch::stack {

/// A micro-batch and how chips share it.
struct Division {
  std::int64_t sequence = 1;  ///< tokens of a sample
  std::int64_t encoded = 1;   ///< tokens of a sample in the encoder, if a layer reads its output
  std::int64_t samples = 1;
  std::int64_t tensor = 1;
  std::int64_t context = 1;
  std::int64_t expert = 1;         ///< ranks that divide the experts, tensor ranks included
  bool experts_whole = true;       ///< tensor ranks do not divide the weights of an expert
  bool sequence_parallel = false;  ///< tensor ranks divide norms and sums

  [[nodiscard]] double tokens() const;
};

/// The work of kernels, apart from its time.
struct Operations {
  double low = 0.0;     ///< FLOP of linear layers, in the precision of the setup
  double others = 0.0;  ///< FLOP in 16 bits
  double moved = 0.0;   ///< bytes to and from memory

  Operations& operator+=(const Operations& other) {
    low += other.low;
    others += other.others;
    moved += other.moved;
    return *this;
  }
  [[nodiscard]] Operations times(double factor) const {
    return {factor * low, factor * others, factor * moved};
  }
};

/// Times and work of kernels in one direction.
struct PassWork {
  Seconds products{};
  Seconds attention{};
  Seconds elementwise{};  ///< casts and other memory-bound kernels included
  Seconds scans{};        ///< blocks with a state, and scores of indexes
  Operations all;
  Operations attending;  ///< the part of `all` that is attention

  [[nodiscard]] Seconds total() const { return products + attention + elementwise + scans; }
  PassWork& operator+=(const PassWork& other);
};

struct BlockWork {
  bool is_layer = false;
  PassWork forward, backward;
  // Exchanges among tensor ranks: the bytes of a sum and of a gather, the numbers of sums and of
  // gathers, and the passes of a sum.
  Bytes tensor_whole{}, tensor_gathered{};
  double tensor_sums = 0.0;  ///< in each direction
  double tensor_gathers_forward = 0.0, tensor_gathers_backward = 0.0;
  Passes tensor_passes = Passes::One;
  Bytes ring{};        ///< keys and values of all context ranks: once forward, twice backward
  Bytes dispatched{};  ///< bytes of tokens of a chip: to the experts and back in each pass
  Bytes shifted{};     ///< bytes of a chip that scans exchange from tokens to heads in each pass
  HostTimes host;
  // Elements of weights of a chip.
  double parameters = 0.0, expert_parameters = 0.0;
  /// Elements that are trained: all, or adapters alone.
  double trained_parameters = 0.0, trained_expert_parameters = 0.0;
  /// Times of modules in the forward pass, without the exchanges of experts.
  std::array<Seconds, memory::kModules> module_forward{};
  std::array<Operations, memory::kModules> module_operations{};
  memory::LayerMemory memory;
};

/// The work of a layer with an MLP or with experts.  With `lora`, all weights but adapters are
/// frozen.
BlockWork layer_work(const Setup& setup, const Transformer& model, const Division& division,
                     bool of_experts, const memory::Lora* lora = nullptr);
/// The work of a layer of a model with several kinds of layers, without adapters.
BlockWork layer_work(const Setup& setup, const LayerForm& form, const Division& division);
/// The work of the look-up of the embedding, and of norm, head and loss.
BlockWork first_work(const Setup& setup, const Transformer& model, const Division& division,
                     const memory::Lora* lora = nullptr);
BlockWork last_work(const Setup& setup, const Transformer& model, const Division& division,
                    const memory::Lora* lora = nullptr);

}  // namespace dfsearch::stack
