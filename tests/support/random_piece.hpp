#pragma once
// Small random graphs of the kernels of transformer layers, with their backward kernels.

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "graph/workloads/llm/value_graph.hpp"

namespace dfsearch::test {

/// Some kernels of a layer, put together at random, and what follows from them backward.
class RandomPiece {
 public:
  explicit RandomPiece(std::uint64_t seed) : random_(seed) {}

  DataflowGraph make() {
    values_.push_back({graph_.add({.kernel = elementwise("INPUT", 1, kHidden),
                                   .inputs = {},
                                   .gradient = ValueGraph::Gradient::None}),
                       Kind::Hidden});
    const std::size_t kernels = 2 + below(4);
    for (std::size_t tries = 0; tries < 200 && graph_.kernel_count() < kernels + 1; ++tries) {
      add();
    }
    graph_.add_backward(values_.back().id, false);
    return graph_.build();
  }

 private:
  enum class Kind { Hidden, Wide, Queries, Keys };
  struct Known {
    ValueGraph::ValueId id;
    Kind kind;
  };
  static constexpr std::int64_t kHidden = 8, kWide = 24, kTokens = 4;

  std::size_t below(std::size_t n) { return static_cast<std::size_t>(random_() % n); }

  static Kernel elementwise(const std::string& name, std::int64_t outer, std::int64_t m) {
    return {.name = name, .tiled = Loop::N, .outer = outer, .m = m, .n = kTokens};
  }

  bool use(const std::string& name) {
    if (std::find(used_.begin(), used_.end(), name) != used_.end()) return false;
    used_.push_back(name);
    return true;
  }

  /// A value of the kind, or nothing.
  const Known* any(Kind kind) {
    std::vector<const Known*> all;
    for (const Known& known : values_) {
      if (known.kind == kind) all.push_back(&known);
    }
    return all.empty() ? nullptr : all[below(all.size())];
  }

  void weight(const std::string& name, Kind from, Kind to, std::int64_t outer, std::int64_t m) {
    const Known* input = any(from);
    if (input == nullptr || !use(name)) return;
    const ValueGraph::ValueId of = input->id;
    const Kernel kernel{.name = name,
                        .kind = KernelKind::WeightGemm,
                        .mode = Mode::Systolic,
                        .outer = outer,
                        .m = m,
                        .k = graph_.rows(of),
                        .n = kTokens};
    values_.push_back({graph_.add({.kernel = kernel,
                                   .inputs = {{.value = of}},
                                   .gradient = ValueGraph::Gradient::Product}),
                       to});
  }

  void unary(const std::string& name, Kind kind, std::int64_t outer, std::int64_t m, bool saves) {
    const Known* input = any(kind);
    if (input == nullptr || !use(name)) return;
    const ValueGraph::ValueId of = input->id;
    ValueGraph::Node node{.kernel = elementwise(name, outer, m), .inputs = {{.value = of}}};
    if (saves) node.saved = {of};
    values_.push_back({graph_.add(std::move(node)), kind});
  }

  void binary(const std::string& name, Kind kind, std::int64_t m, bool is_sum) {
    const Known* a = any(kind);
    const Known* b = any(kind);
    if (a == nullptr || a == b || !use(name)) return;
    ValueGraph::Node node{.kernel = elementwise(name, 1, m),
                          .inputs = {{.value = a->id}, {.value = b->id, .operand = 2}}};
    node.kernel.kind = KernelKind::Elementwise2;
    if (is_sum) {
      node.gradient = ValueGraph::Gradient::Pass;
    } else {
      node.saved = {a->id, b->id};
    }
    values_.push_back({graph_.add(std::move(node)), kind});
  }

  void attention() {
    const Known* q = any(Kind::Queries);
    const Known* k = any(Kind::Keys);
    const Known* v = any(Kind::Keys);
    if (q == nullptr || k == nullptr || !use("ATTENTION")) return;
    ValueGraph::Node node{.kernel = {.name = "ATTENTION",
                                     .kind = KernelKind::Attention,
                                     .mode = Mode::Systolic,
                                     .outer = 4,
                                     .m = 2,
                                     .k = 2,
                                     .n = kTokens,
                                     .attention = Attention{.keys = kTokens}},
                          .inputs = {{.value = q->id, .operand = 1},
                                     {.value = k->id, .operand = 2},
                                     {.value = v->id, .operand = 3}},
                          .gradient = ValueGraph::Gradient::Product};
    const ValueGraph::ValueId out = graph_.add(std::move(node));
    graph_.save(out, out);
    graph_.save(out, graph_.part(out, 8));
    values_.push_back({out, Kind::Queries});
  }

  void add() {
    switch (below(15)) {
      case 0:
        return unary("NORM_1", Kind::Hidden, 1, kHidden, true);
      case 1:
        return unary("NORM_2", Kind::Hidden, 1, kHidden, true);
      case 2:
        return weight("UP", Kind::Hidden, Kind::Wide, 1, kWide);
      case 3:
        return weight("GATE", Kind::Hidden, Kind::Wide, 1, kWide);
      case 4:
        return weight("DOWN", Kind::Wide, Kind::Hidden, 1, kHidden);
      case 5:
        return weight("Q", Kind::Hidden, Kind::Queries, 4, 2);
      case 6:
        return weight("K", Kind::Hidden, Kind::Keys, 2, 2);
      case 7:
        return weight("PROJ", Kind::Queries, Kind::Hidden, 1, kHidden);
      case 8:
        return unary("ROPE_Q", Kind::Queries, 4, 2, false);
      case 9:
        return binary("ACT", Kind::Wide, kWide, false);
      case 10:
        return binary("ADD_1", Kind::Hidden, kHidden, true);
      case 11:
        return binary("ADD_2", Kind::Hidden, kHidden, true);
      default:
        if (any(Kind::Queries) == nullptr) return weight("Q", Kind::Hidden, Kind::Queries, 4, 2);
        if (any(Kind::Keys) == nullptr) return weight("K", Kind::Hidden, Kind::Keys, 2, 2);
        return attention();
    }
  }

  std::mt19937_64 random_;
  ValueGraph graph_;
  std::vector<Known> values_;
  std::vector<std::string> used_;
};

}  // namespace dfsearch::test
