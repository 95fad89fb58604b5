#pragma once
// Keys of the memory of training: states of a weight, the loss, recomputation, and adapters
// (docs/truth.md, section 5).

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/words.hpp"

namespace dfsearch::memory {

/// Bytes of an element of a trained weight.  Ranks may divide each of these states by itself.
struct States {
  double weight = 2.0;
  double gradient = 4.0;
  double master = 4.0;
  double moments = 8.0;
  double step = 0.0;    ///< further bytes while the optimizer works
  double buffer = 0.0;  ///< further bytes of a gradient if replicas divide the optimizer

  friend bool operator==(const States&, const States&) = default;
};

/// Whether gradients stay from step to step, or the first backward pass of a step allocates them.
enum class Gradients : std::uint8_t { Kept, Made };
constexpr auto words(Gradients) { return named<Gradients>("kept", "made"); }

/// How the loss is computed.  A chunked loss keeps logits of 16 bits; a fused linear loss keeps no
/// logits.
enum class LossKind : std::uint8_t {
  Whole,
  Fused,
  Te,
  Parallel,
  Compiled,
  Foak,
  Chunked,
  FusedLinear
};
constexpr auto words(LossKind) {
  return named<LossKind>("whole", "fused", "te", "parallel", "compiled", "foak", "chunked",
                         "fused_linear");
}

inline constexpr std::size_t kLossKinds = words(LossKind{}).size();

struct Loss {
  LossKind kind = LossKind::Whole;
  std::int64_t chunk = 1024;  ///< tokens of a chunk of the loss

  friend bool operator==(const Loss&, const Loss&) = default;
};

/// A part of a layer whose values may be computed again by itself.
enum class Module : std::uint8_t { CoreAttention, Mlp, Norms, ExpertActivation, Experts, LatentUp };
constexpr auto words(Module) {
  return named<Module>("core_attn", "mlp", "layernorm", "moe_act", "moe", "mla_up_proj");
}
inline constexpr std::size_t kModules = words(Module{}).size();

/// The values that the backward pass computes again: none, a set of modules with a bit for
/// each, a whole layer from its input, or half of a layer without its attention.
enum class Recompute : std::uint8_t {
  None = 0,
  Selective = 1,  ///< the module core_attn, such as the scores of attention that is not fused
  Full = 1 << kModules,
  EverySecondProduct,
  Unknown,  ///< counts as Full, but as None at the high level of memory
};
constexpr Recompute listed(Module module) {
  return static_cast<Recompute>(1U << static_cast<unsigned>(module));
}
constexpr bool is_listed(Recompute recompute) {
  return recompute != Recompute::None && recompute < Recompute::Full;
}
/// The union of two sets of modules.
constexpr Recompute operator|(Recompute a, Recompute b) {
  return static_cast<Recompute>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
constexpr bool has(Recompute recompute, Module module) {
  return is_listed(recompute) &&
         (static_cast<unsigned>(recompute) >> static_cast<unsigned>(module)) % 2 == 1;
}
/// Sets of several modules have no word here; the set of core attention alone has two words.
constexpr auto words(Recompute) {
  return named<Recompute>({{"none", Recompute::None},
                           {"selective", Recompute::Selective},
                           {"full", Recompute::Full},
                           {"op_sac", Recompute::EverySecondProduct},
                           {"unknown", Recompute::Unknown},
                           {"core_attn", listed(Module::CoreAttention)},
                           {"mlp", listed(Module::Mlp)},
                           {"layernorm", listed(Module::Norms)},
                           {"moe_act", listed(Module::ExpertActivation)},
                           {"moe", listed(Module::Experts)},
                           {"mla_up_proj", listed(Module::LatentUp)}});
}
/// The name, or the names of all modules of a set.
std::vector<std::string> names_of(Recompute recompute);
/// These names, joined by `+`.
const char* name_of(Recompute recompute);
/// The recomputation with this name, which may list several modules.
std::optional<Recompute> recompute_of(std::string_view name);

/// Linears whose outputs adapters are added to.
enum class Target : std::uint8_t { Query, Key, Value, Output, Gate, Up, Down, All };
constexpr auto words(Target) {
  return named<Target>("q", "k", "v", "o", "gate", "up", "down", "all");
}

/// The format of frozen linears; embedding and head stay in 16 bits.
enum class Frozen : std::uint8_t { SixteenBits, Nf4, Nf4Single, Gptq4 };
constexpr auto words(Frozen) { return named<Frozen>("w2", "nf4", "nf4_single", "gptq4"); }
/// Bytes of an element.  Formats of 4 bits have scales: of blocks of 64, which are quantized again
/// (nf4) or not (nf4_single), or of groups of 128 (gptq4).
constexpr double bytes_of(Frozen frozen) {
  constexpr std::array kBytes = {2.0, 0.5 + 1.0 / 64.0 + 4.0 / 16384.0, 0.5625, 0.5195};
  return kBytes[static_cast<std::size_t>(frozen)];
}

/// Adapters of low rank on linears that are frozen.
struct Lora {
  std::int64_t rank = 16;
  std::vector<Target> targets{Target::All};
  Frozen frozen = Frozen::SixteenBits;
  double adapter_bytes = 4.0;  ///< of an element; its gradient has the same, its moments twice

  [[nodiscard]] bool has(Target target) const {
    return std::any_of(targets.begin(), targets.end(),
                       [&](Target each) { return each == target || each == Target::All; });
  }
  friend bool operator==(const Lora&, const Lora&) = default;
};

}  // namespace dfsearch::memory
