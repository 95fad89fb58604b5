// Totals of a model: sums over kinds of layers, times their numbers.
//
// Sums are of doubles, which are exact below 2^53; readers refuse larger models.

#include "graph/workloads/blocks/model_shape.hpp"

#include <algorithm>

#include "base/counts.hpp"

namespace dfsearch {
namespace {

double matrix(const Linear& linear) { return number(linear.in) * number(linear.out); }

/// MatrixElements of matrices: stored, used by a token with biases, used in products.
struct MatrixElements {
  double stored = 0.0, active = 0.0, products = 0.0;

  void add(const std::vector<Linear>& linears) {
    for (const Linear& linear : linears) {
      const double biased = matrix(linear) + (linear.bias ? number(linear.out) : 0.0);
      stored += number(linear.copies) * biased;
      active += number(linear.used) * biased;
      products += number(linear.used) * matrix(linear);
    }
  }
};

void add_block(const Block& block, std::int64_t hidden, double layers, double owned, double s,
               ShapeCounts& sum) {
  const BlockCounts counts = counts_of(block, hidden);
  MatrixElements elements;
  elements.add(counts.linears);
  sum.parameters += owned * (elements.stored + counts.vectors);
  sum.active += owned * (elements.active + counts.vectors);
  sum.matmul += layers * elements.products;
  for (const Pairs& pairs : counts.attention) {
    sum.attention_flop += layers * pairs.flop * keys_seen(pairs.sight, s);
  }
  for (const Pairs& pairs : counts.index) {
    sum.index_flop += layers * pairs.flop * keys_seen(pairs.sight, s);
  }
  sum.cache += layers * counts.cache;
  sum.window_cache += layers * counts.window_cache;
  sum.conv_state += layers * counts.conv_state;
  sum.state += layers * counts.state;
  sum.scan_flop += layers * counts.scan;
  sum.scan_flop_useful += layers * counts.scan_useful;
  sum.scan_elementwise += layers * counts.scan_elementwise;
  sum.kept += layers * counts.kept;
}

void add_stack(const Stack& stack, double s, ShapeCounts& sum) {
  MatrixElements beside;
  beside.add(stack.linears);
  const double embedding = number(stack.vocabulary) * number(stack.embedding);
  const double head = stack.has_head ? embedding : 0.0;
  const double ends = embedding + (stack.tied ? 0.0 : head) + stack.vectors + stack.tables +
                      number(stack.positions) * number(stack.position_width);
  sum.parameters += beside.stored + ends;
  sum.active += beside.active + ends;
  sum.matmul += beside.products + head;
  for (std::size_t kind = 0; kind < stack.kinds.size(); ++kind) {
    const LayerKind& layer = stack.kinds[kind];
    const auto layers =
        static_cast<double>(std::count(stack.layers.begin(), stack.layers.end(), kind));
    const double owned = layer.owns ? layers : 0.0;
    const double vectors = number(layer.norms) * number(stack.norm) + number(layer.vectors);
    sum.parameters += owned * vectors;
    sum.active += owned * vectors;
    for (const Block& block : layer.blocks) {
      add_block(block, stack.hidden, layers, owned, s, sum);
    }
  }
}

}  // namespace

std::string LayerKind::text() const {
  std::string text = encodes ? "encoder " : "";
  const std::size_t before = text.size();
  bool windowed = false;
  for (const Block& block : blocks) {
    windowed =
        windowed || block.window > 0 || (block.kind == BlockKind::Attention && block.chunk > 0);
    if (block.kind == BlockKind::Extra) continue;
    text += (text.size() == before ? "" : "+") + std::string(name_of(block.kind));
  }
  return windowed ? text + " w" : text;
}

std::string Stack::text() const {
  std::vector<std::string> names;
  for (const LayerKind& kind : kinds) names.push_back(kind.text());
  std::string text;
  for (std::size_t begin = 0, end = 0; begin < layers.size(); begin = end) {
    while (end < layers.size() && names[layers[end]] == names[layers[begin]]) ++end;
    text +=
        (text.empty() ? "" : " ") + std::to_string(end - begin) + "x(" + names[layers[begin]] + ")";
  }
  return text;
}

ShapeCounts counts_of(const ModelShape& model, std::int64_t sequence) {
  ShapeCounts sum;
  const double s = number(sequence);
  for (const Stack& stack : model.stacks) add_stack(stack, s, sum);
  ShapeCounts beside;
  add_stack(model.prediction, s, beside);
  sum.prediction = beside.parameters;
  return sum;
}

}  // namespace dfsearch
