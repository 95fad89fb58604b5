// Totals of a model: sums over kinds of layers, times their numbers.
//
// Sums are of doubles, which are exact below 2^53; readers refuse larger models.

// Summaries are run-length encoded in two levels: at each layer, the code takes the period that
// covers most of the following layers, and the shortest of equal ones.

#include "graph/workloads/blocks/model_shape.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <span>

#include "base/counts.hpp"

namespace dfsearch {
namespace {

double matrix(const Linear& linear) { return number(linear.in) * number(linear.out); }

/// Elements of matrices: stored, used by a token (with biases), and used in products.
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

using Names = std::span<const std::string>;

constexpr std::size_t kMostRuns = 8;
constexpr std::size_t kLongestPeriod = 32;

/// Number of times that the first `period` names repeat in a row.
std::size_t repeats(Names names, std::size_t period) {
  std::size_t end = period;
  while (end < names.size() && names[end] == names[end - period]) ++end;
  return end / period;
}

std::string runs_of(Names names, std::size_t& runs) {
  std::string text;
  while (!names.empty()) {
    const std::size_t run = repeats(names, 1);
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", run, names[0]);
    names = names.subspan(run);
    ++runs;
  }
  return text;
}

std::string totals_of(const std::vector<std::string>& names) {
  std::string text;
  for (auto name = names.begin(); name != names.end(); ++name) {
    if (std::find(names.begin(), name, *name) != name) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ",
                        std::count(names.begin(), names.end(), *name), *name);
  }
  return text + " in an order of their own";
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

std::string layer_summary(const Stack& stack) {
  std::vector<std::string> names;
  for (const std::uint16_t kind : stack.layers) names.push_back(stack.kinds[kind].text());
  std::string text;
  std::size_t runs = 0;
  for (Names rest = names; !rest.empty();) {
    std::size_t period = 1, covered = repeats(rest, 1);
    for (std::size_t p = 2; p <= std::min(rest.size() / 2, kLongestPeriod); ++p) {
      const std::size_t times = repeats(rest, p);
      if (times < 2 || times * p <= covered) continue;
      period = p;
      covered = times * p;
    }
    if (!text.empty()) text += ", ";
    text += period == 1
                ? runs_of(rest.first(covered), runs)
                : fmt::format("{} x ({})", covered / period, runs_of(rest.first(period), runs));
    rest = rest.subspan(covered);
  }
  return runs <= kMostRuns ? text : totals_of(names);
}

}  // namespace dfsearch
