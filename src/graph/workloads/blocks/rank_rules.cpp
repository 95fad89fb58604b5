// Tensor, context and pipeline ranks divide layers of several kinds by rules of Megatron-LM and
// vLLM (docs/truth.md, section 1; docs/serving.md, section 3).

#include <fmt/format.h>

#include "graph/workloads/blocks/mixed_layers.hpp"

namespace dfsearch {
namespace {

/// The rule of a block with a state that tensor and context ranks break; empty if they break none.
std::string misfit_of(const Block& block, std::int64_t t, std::int64_t c, Runner runner) {
  const std::string name = name_of(block.kind);
  const auto heads = [&](std::int64_t count, const char* of) -> std::string {
    if (count % t != 0) {
      return fmt::format("{}: {} {} do not divide over {} tensor ranks", name, count, of, t);
    }
    if (c > 1 && count / t % c != 0) {
      return fmt::format("{}: {} {} of a tensor rank do not divide over {} context ranks", name,
                         count / t, of, c);
    }
    return "";
  };
  switch (block.kind) {
    case BlockKind::Mamba2: {
      const bool repeats = runner == Runner::Serving && block.groups == 1;
      if (!repeats && block.groups % t != 0) {
        return fmt::format("{}: {} groups do not divide over {} tensor ranks", name, block.groups,
                           t);
      }
      return heads(block.heads, "heads");
    }
    case BlockKind::Deltanet:
      if (const std::string text = heads(block.k_heads, "heads of keys"); !text.empty()) {
        return text;
      }
      return heads(block.v_heads, "heads of values");
    case BlockKind::Kda:
    case BlockKind::Lightning:
      return heads(block.heads, "heads");
    case BlockKind::Mamba1:
      if (block.inner % t != 0) return heads(block.inner, "channels");
      break;
    case BlockKind::Shortconv:
      return "";
    default:
      if (t > 1) return name + ": its states do not divide over tensor ranks";
  }
  return c > 1 ? name + ": no software divides its tokens over context ranks" : "";
}

}  // namespace

std::string MixedLayers::misfit(std::int64_t tensor, std::int64_t context, Runner runner) const {
  for (const LayerForm& form : forms) {
    if (form.has_attention && form.view.heads % tensor != 0) {
      return fmt::format("{}: {} heads do not divide over {} tensor ranks",
                         form.view.latent     ? "mla"
                         : form.is_compressed ? "compressed"
                                              : "attention",
                         form.view.heads, tensor);
    }
    if (form.is_compressed && form.groups % tensor != 0) {
      return fmt::format("compressed: {} groups of outputs do not divide over {} tensor ranks",
                         form.groups, tensor);
    }
    if (form.cross && form.cross->heads % tensor != 0) {
      return fmt::format("attention to an encoder: {} heads do not divide over {} tensor ranks",
                         form.cross->heads, tensor);
    }
    if (context > 1 && (form.is_compressed || form.encodes || form.cross)) {
      return fmt::format("{}: no rule divides its tokens over context ranks",
                         form.is_compressed ? "compressed"
                         : form.encodes     ? "encoder"
                                            : "attention to an encoder");
    }
    for (const Block& scan : form.scans) {
      std::string text = misfit_of(scan, tensor, context, runner);
      if (!text.empty()) return text;
    }
  }
  return "";
}

std::string MixedLayers::unsplit() const {
  for (const LayerForm& form : forms) {
    if (form.encodes || form.cross) {
      return "an encoder: its output reaches the layers of one pipeline stage alone";
    }
    if (!form.makes_keys) {
      return "attention: keys and values of another layer stay in its pipeline stage";
    }
  }
  return "";
}

}  // namespace dfsearch
