// State spaces, delta rules, linear attention and short convolutions as kernels.
//
// A block is a product IN, a convolution, a scan and a product OUT.  The scan takes a sequence in
// chunks, so that it is made of matrix products (Dao, Gu: "Transformers are SSMs", 2024, section 6;
// Yang, Kautz, Hatamizadeh: "Gated Delta Networks", 2024).  Its first kernel has the products among
// the tokens of a chunk; the kernel SCAN has the products with the values and the state.  The state
// stays on the chip from tile to tile.  The FLOP equal those of counts_of().

#include "graph/workloads/llm/scan_writer.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/counts.hpp"

namespace dfsearch {
namespace {

using ValueId = ValueGraph::ValueId;
using Node = ValueGraph::Node;

constexpr std::int64_t kGatedNorm = 9, kGatedNormBackward = 19;

/// Products of `rows` x `depth` elements for each token and head.
struct Products {
  std::int64_t heads = 1, rows = 1, depth = 1;
};

/// The work of a scan on a token.
struct ScanWork {
  Products in_chunk{.heads = 0};   ///< among the tokens of a chunk; no heads: none
  std::int64_t inverse = 0;        ///< FLOP of a head for the inverse of a triangle
  Products scan{.heads = 0};       ///< with values and the state; no heads: none
  std::int64_t element_flops = 0;  ///< FLOP of an output element, if no matrix products
  std::int64_t decode_flops = 0;   ///< FLOP of an output element in a decode pass
};

ScanWork delta_rule(std::int64_t heads, std::int64_t k, std::int64_t v) {
  constexpr std::int64_t c = kDeltaChunk;
  return {.in_chunk = {heads, c, 3 * k},
          .inverse = 2 * c * c / 3,
          .scan = {heads, v, 2 * c + 3 * k},
          .decode_flops = 7 * k};
}

ScanWork work_of(const Block& b) {
  switch (b.kind) {
    case BlockKind::Mamba1:
      return {.scan = {1, b.inner, 1}, .element_flops = 9 * b.state, .decode_flops = 9 * b.state};
    case BlockKind::Mamba2:
      return {.in_chunk = {b.groups, b.chunk, b.state},
              .scan = {b.heads, b.dim, b.chunk + 2 * b.state},
              .decode_flops = 5 * b.state};
    case BlockKind::Deltanet:
      return delta_rule(b.v_heads, b.k_dim, b.v_dim);
    case BlockKind::Kda:
      return delta_rule(b.heads, b.dim, b.dim);
    case BlockKind::Lightning:
      return {.scan = {b.heads, b.dim, 2 * b.chunk + 2 * b.dim}, .decode_flops = 4 * b.dim};
    default:
      return {};
  }
}

class ScanWriter {
 public:
  ScanWriter(ValueGraph& graph, LayerWriter& layer, const Block& block, std::int64_t hidden)
      : graph_(graph),
        layer_(layer),
        block_(block),
        hidden_(hidden),
        counts_(counts_of(block, hidden)),
        work_(work_of(block)) {}

  ValueId write(ValueId normed) {
    const Linear& first = counts_.linears.front();
    const Linear& last = counts_.linears.back();
    const std::int64_t width = first.out * first.copies, inner = last.in;
    const ValueId in = product("IN", 1, width, first.in, normed, first.bias);
    ValueId mixed = in;
    std::int64_t channels = width;
    if (block_.conv > 1) {
      channels = static_cast<std::int64_t>(counts_.conv_state) / (block_.conv - 1);
      mixed = convolution(in, channels);
    }
    further_products(normed, mixed, inner);
    // Gates are the last rows of IN or, if IN has no such rows, the output of the last further
    // product.
    std::vector<ValueId> gates;
    if (block_.kind == BlockKind::Shortconv) return out(last, mixed);
    if (width >= channels + inner) {
      gates.push_back(graph_.part(in, inner));
    } else {
      gates.push_back(made_.back());
      made_.pop_back();
    }
    const ValueId scanned = scan(mixed, channels, inner);
    Kernel norm = layer_.elementwise("GATE_NORM", 1, inner, kGatedNorm);
    norm.coupled = block_.kind == BlockKind::Lightning ? 1 : 0;  // others: over heads or groups
    gates.insert(gates.begin(), scanned);
    return out(last, element(norm, gates, kGatedNormBackward));
  }

 private:
  ValueId product(const std::string& name, std::int64_t outer, std::int64_t m, std::int64_t k,
                  ValueId of, bool bias) {
    return layer_.weight_gemm(name, outer, m, k, of, bias ? outer * m : 0);
  }

  ValueId out(const Linear& last, ValueId of) {
    return product("OUT", 1, last.out, last.in, of, last.bias);
  }

  /// An elementwise kernel, whose backward kernel reads its inputs again.
  ValueId element(Kernel kernel, const std::vector<ValueId>& inputs, std::int64_t backward_flops,
                  std::optional<Kernel> reversed = std::nullopt) {
    Node node{.kernel = std::move(kernel), .inputs = {}, .saved = inputs};
    node.reversed = std::move(reversed);
    node.kernel.kind = inputs.size() > 1 ? KernelKind::Elementwise2 : KernelKind::Elementwise;
    node.backward_flops = backward_flops;
    node.backward_coupled = node.kernel.coupled;
    for (const ValueId v : inputs) {
      node.inputs.push_back({.value = v, .operand = node.inputs.empty() ? 1 : 2});
    }
    return graph_.add(std::move(node));
  }

  /// A kernel of products without a weight; its backward kernel does twice the products.
  ValueId products(const std::string& name, const Products& of,
                   const std::vector<ValueId>& inputs) {
    Kernel kernel = layer_.elementwise(name, of.heads, of.rows, 0);
    kernel.mode = Mode::Systolic;
    kernel.k = of.depth;
    Kernel back = kernel;
    back.k *= 2;
    return element(kernel, inputs, 0, back);
  }

  ValueId convolution(ValueId in, std::int64_t channels) {
    const bool has_gates = block_.kind == BlockKind::Shortconv;
    const std::int64_t flops = 2 * block_.conv + (has_gates ? 2 : 0);
    Kernel kernel = layer_.elementwise("CONV", 1, channels, flops);
    const bool bias = has_gates ? block_.bias != 0 : block_.conv_bias != 0;
    kernel.parameters = channels * (block_.conv + (bias ? 1 : 0));
    if (layer_.decodes()) {
      kernel.sharded_memory = 2.0 * layer_.word() * counts_.conv_state * number(kernel.n);
    }
    const bool is_part = !has_gates && channels < graph_.rows(in);
    return element(kernel, {is_part ? graph_.part(in, channels) : in}, 2 * flops);
  }

  /// The matrices other than the first and the last: steps, decays and gates, some through latents.
  void further_products(ValueId normed, ValueId mixed, std::int64_t inner) {
    ValueId from = normed;
    const std::int64_t heads = std::max<std::int64_t>(work_.scan.heads, 1);
    for (std::size_t i = 1; i + 1 < counts_.linears.size(); ++i) {
      const Linear& linear = counts_.linears[i];
      const std::int64_t rows = linear.out * linear.copies;
      const std::string name = "IN_" + std::to_string(i + 1);
      if (linear.role == LinearRole::Latent) {
        from = product(name, 1, rows, linear.in, normed, linear.bias);
      } else if (linear.role == LinearRole::Steps) {
        const ValueId steps = product(name, 1, rows, inner, mixed, linear.bias);
        from = graph_.part(steps, block_.dt_rank);
        made_.push_back(graph_.part(steps, rows - block_.dt_rank));
      } else {
        const bool is_of_heads = rows % heads == 0;
        made_.push_back(product(name, is_of_heads ? heads : 1, is_of_heads ? rows / heads : rows,
                                linear.in, linear.in == hidden_ ? normed : from, linear.bias));
      }
    }
  }

  ValueId scan(ValueId mixed, std::int64_t channels, std::int64_t inner) {
    std::vector<ValueId> inputs{graph_.part(mixed, inner)};
    const bool decodes = layer_.decodes();
    if (channels > inner) {
      const ValueId rest = graph_.part(mixed, channels - inner);
      if (work_.in_chunk.heads > 0 && !decodes) inputs.push_back(in_chunk(rest));
      inputs.push_back(rest);
    }
    inputs.insert(inputs.end(), made_.begin(), made_.end());
    if (work_.element_flops == 0 && !decodes) return products("SCAN", work_.scan, inputs);
    const std::int64_t flops = decodes ? work_.decode_flops : work_.element_flops;
    Kernel kernel = layer_.elementwise("SCAN", work_.scan.heads, work_.scan.rows, flops);
    if (decodes) kernel.sharded_memory = 2.0 * kStateWord * counts_.state * number(kernel.n);
    return element(kernel, inputs, 2 * flops);
  }

  ValueId in_chunk(ValueId keys) {
    const std::int64_t rows = work_.in_chunk.heads * work_.in_chunk.rows;
    const ValueId value = graph_.part(products("IN_CHUNK", work_.in_chunk, {keys}), rows);
    if (work_.inverse == 0) return value;
    // The inverse counts as elementwise work; its output is a triangular matrix.
    Kernel inverse = layer_.elementwise("INVERSE", work_.in_chunk.heads, work_.inverse, 0);
    Kernel back = inverse;
    back.m *= 2;
    return graph_.part(element(inverse, {value}, 0, back), rows);
  }

  ValueGraph& graph_;
  LayerWriter& layer_;
  const Block& block_;
  std::int64_t hidden_;
  BlockCounts counts_;
  ScanWork work_;
  std::vector<ValueId> made_;  // outputs of further products, inputs of the scan
};

}  // namespace

bool has_scan_kernels(const Block& block) {
  return block.linears.empty() &&
         (block.kind == BlockKind::Shortconv || work_of(block).scan.heads > 0);
}

ValueId scan_kernels(ValueGraph& graph, LayerWriter& layer, const Block& block, std::int64_t hidden,
                     ValueId normed) {
  return ScanWriter(graph, layer, block, hidden).write(normed);
}

}  // namespace dfsearch
