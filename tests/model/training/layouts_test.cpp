// The schemes of docs/training.md, section 2, come out as optima over the rules.

#include "model/training/layouts.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "graph/workloads/llm/transformer_graph.hpp"
#include "support/published_models.hpp"

namespace dfsearch::training {
namespace {

constexpr ValueLayout R = ValueLayout::Replicated;
constexpr ValueLayout F = ValueLayout::Features;
constexpr ValueLayout T = ValueLayout::Tokens;
constexpr ValueLayout X = ValueLayout::Experts;

constexpr std::int64_t kTokens = 2048;

double number(std::int64_t value) { return static_cast<double>(value); }

KernelId id(const DataflowGraph& graph, const std::string& name) {
  for (std::size_t k = 0; k < graph.kernel_count(); ++k) {
    if (graph.kernels()[k].name == name) return KernelId(k);
  }
  FAIL("no kernel ", name);
  return {};
}

/// The value that a kernel hands on.
std::size_t value_of(const DataflowGraph& graph, const std::string& name) {
  for (std::size_t v = 0; v < graph.values().size(); ++v) {
    if (graph.tensor(graph.values()[v].front()).from == id(graph, name)) return v;
  }
  FAIL("no value of ", name);
  return 0;
}

double sent(const AxisLayout& layout, Phase phase, std::int64_t chips) {
  double sum = 0.0;
  for (const Conversion& conversion : layout.conversions) {
    if (conversion.phase == phase) sum += sent_elements(conversion, chips);
  }
  return sum;
}

AxisRules tensor_axis(const Transformer& model, std::int64_t chips) {
  return {.axis = Axis::Tensor, .chips = chips, .heads = model.heads, .kv_heads = model.kv_heads};
}

/// (n-1)/n of `rows` rows of all tokens.
double all_gather(double rows, std::int64_t chips) {
  return number(chips - 1) / number(chips) * number(kTokens) * rows;
}
double all_to_all(double rows, std::int64_t chips) {
  return all_gather(rows, chips) / number(chips);
}

struct SentBytes {
  double forward, backward;
};

void check_sent(const AxisLayout& layout, std::int64_t chips, const SentBytes& expected) {
  CHECK(sent(layout, Phase::Forward, chips) == doctest::Approx(expected.forward).epsilon(1e-12));
  CHECK(sent(layout, Phase::Backward, chips) == doctest::Approx(expected.backward).epsilon(1e-12));
}

Transformer llama3_70b() { return test::llama(8192, 80, 64, 28672, 128256); }

}  // namespace

TEST_CASE("least bytes on the tensor axis are those of Megatron's tensor parallelism") {
  for (const Transformer& model :
       {test::gpt(12288, 96, 96, 50257), test::llama3_8b(), llama3_70b()}) {
    CAPTURE(model.hidden);
    const DataflowGraph graph = transformer_training_graph(model, {.tokens = kTokens});
    for (const std::int64_t t : {2, 4, 8, 16}) {
      CAPTURE(t);
      const AxisRules axis = tensor_axis(model, t);
      const AxisLayout best = least_layout(graph, axis, least_sent(graph, axis));
      const double unit = all_gather(number(model.hidden), t);
      check_sent(best, t, {.forward = 4.0 * unit, .backward = 4.0 * unit});
      CHECK(best.conversions.size() == 4);
      for (const Conversion& conversion : best.conversions) {
        CHECK(conversion.exchange == Exchange::AllReduce);
      }
      for (const char* name : {"Q", "K", "V", "UP"}) {
        CHECK(best.rules[id(graph, name).index()].output == F);
      }
      for (const char* name : {"PROJ", "DOWN"}) {
        CHECK(best.rules[id(graph, name).index()].inputs == std::vector{F});
      }
    }
  }
}

// The weighted sum of routed rows is linear: summands of rows become summands of tokens, which are
// fewer.
TEST_CASE("neither dropout, unfused attention nor experts take more than that") {
  Transformer dropping = test::gpt(12288, 96, 96, 50257);
  dropping.dropout = true;
  for (const Transformer& model : {dropping, test::mixtral_8x7b()}) {
    CAPTURE(model.hidden);
    for (const bool fused : {true, false}) {
      const DataflowGraph graph =
          transformer_training_graph(model, {.tokens = kTokens, .fused = fused});
      const AxisRules axis = tensor_axis(model, 8);
      const double unit = all_gather(number(model.hidden), 8);
      check_sent(least_layout(graph, axis, least_sent(graph, axis)), 8,
                 {.forward = 4.0 * unit, .backward = 4.0 * unit});
    }
  }
}

TEST_CASE("least memory on the tensor axis is that of sequence parallelism") {
  for (const Transformer& model :
       {test::gpt(12288, 96, 96, 50257), test::llama3_8b(), test::gpt(20480, 105, 128, 51200)}) {
    CAPTURE(model.hidden);
    const DataflowGraph graph = transformer_training_graph(model, {.tokens = kTokens});
    for (const std::int64_t t : {2, 4, 8}) {
      CAPTURE(t);
      const AxisRules axis = tensor_axis(model, t);
      const AxisLayout best = least_layout(graph, axis, least_kept(graph, axis));
      const double unit = all_gather(number(model.hidden), t);
      check_sent(best, t, {.forward = 4.0 * unit, .backward = 6.0 * unit});
      for (const char* name : {"NORM_1", "ADD_1", "NORM_2", "ADD_2", "NORM_1_bwd", "NORM_2_bwd"}) {
        CAPTURE(name);
        CHECK(best.rules[id(graph, name).index()].output == T);
      }
      for (const char* name : {"INPUT", "NORM_1", "ADD_1", "NORM_2"}) {
        CHECK(best.kept[value_of(graph, name)] == T);
      }
    }
  }
}

// Each norm whose output is kept whole is not gathered again, and the other way round.
TEST_CASE("between tensor and sequence parallelism one of the two norms is gathered again") {
  for (const Transformer& model : {test::gpt(12288, 96, 96, 50257), test::llama3_8b()}) {
    CAPTURE(model.hidden);
    const DataflowGraph graph = transformer_training_graph(model, {.tokens = kTokens});
    for (const std::int64_t t : {2, 4, 8}) {
      CAPTURE(t);
      const AxisRules axis = tensor_axis(model, t);
      const LayoutCosts costs = sent_and_kept(graph, axis);
      const auto front = layout_front(graph, axis, costs);
      REQUIRE(front.size() == 3);
      const double unit = all_gather(number(model.hidden), t);
      double kept[3] = {};
      for (std::size_t i = 0; i < 3; ++i) {
        CAPTURE(i);
        check_sent(front[i].layout, t,
                   {.forward = 4.0 * unit, .backward = (4.0 + static_cast<double>(i)) * unit});
        for (std::size_t v = 0; v < graph.values().size(); ++v) {
          const KernelId from = graph.tensor(graph.values()[v].front()).from;
          bool is_read = false;
          for (const TensorId tensor : graph.values()[v]) {
            is_read |= graph.kernel(from).phase == Phase::Forward &&
                       graph.kernel(graph.tensor(tensor).to).phase == Phase::Backward;
          }
          if (is_read) kept[i] += costs.kept(v, front[i].layout.kept[v])[1] / number(t);
        }
      }
      CHECK(kept[0] - kept[1] == doctest::Approx(unit).epsilon(1e-12));
      CHECK(kept[1] - kept[2] == doctest::Approx(unit).epsilon(1e-12));
      CHECK(front[2].layout.kept[value_of(graph, "NORM_1")] == T);
      CHECK(front[2].layout.kept[value_of(graph, "NORM_2")] == T);
    }
  }
}

// Keys and values of 8 heads beside 64 of queries are so short that it is cheaper to add up what
// Q, K and V make of a part of their input than to gather this input twice.
TEST_CASE("with few heads of keys less is sent than sequence parallelism sends") {
  const Transformer model = llama3_70b();
  const DataflowGraph graph = transformer_training_graph(model, {.tokens = kTokens});
  const AxisRules axis = tensor_axis(model, 8);
  const AxisLayout best = least_layout(graph, axis, least_kept(graph, axis));
  const double unit = all_gather(8192.0, 8);
  const double input = all_to_all(8192.0, 8);
  const double heads = unit + 2.0 * all_gather(8.0 * 128.0, 8);
  check_sent(best, 8,
             {.forward = input + heads + 3.0 * unit, .backward = heads + input + 4.0 * unit});
  CHECK(best.rules[id(graph, "Q").index()].divided == Loop::K);
}

TEST_CASE("on the context axis keys and values are gathered, and their gradients scattered") {
  const Transformer model = test::llama3_8b();
  const DataflowGraph graph = transformer_training_graph(model, {.tokens = kTokens});
  for (const std::int64_t c : {2, 4, 16}) {
    CAPTURE(c);
    const AxisRules axis{.axis = Axis::Context, .chips = c};
    const double keys_values = all_gather(8.0 * (128.0 + 128.0), c);
    check_sent(least_layout(graph, axis, least_kept(graph, axis)), c,
               {.forward = keys_values, .backward = 2.0 * keys_values});
    // Gathered ones that are kept need not be gathered again.
    check_sent(least_layout(graph, axis, least_sent(graph, axis)), c,
               {.forward = keys_values, .backward = keys_values});
  }
}

TEST_CASE("on the context axis latents are gathered instead of what is made of them") {
  const Transformer model = test::deepseek_v3();
  const DataflowGraph graph = transformer_training_graph(model, {.tokens = kTokens});
  const AxisRules axis{.axis = Axis::Context, .chips = 8};
  const double latents = all_gather(512.0 + 64.0, 8);
  check_sent(least_layout(graph, axis, least_sent(graph, axis)), 8,
             {.forward = latents, .backward = latents});
}

// Backward attention wants the output by heads, the gradient of the weight behind it by tokens,
// and one of the two is kept.
TEST_CASE("on the context axis heads are exchanged for tokens where that is less") {
  const auto check = [](const Transformer& model, std::int64_t c, bool is_less) {
    CAPTURE(model.hidden);
    CAPTURE(c);
    const DataflowGraph graph = transformer_training_graph(model, {.tokens = kTokens});
    const AxisRules axis{
        .axis = Axis::Context, .chips = c, .heads = model.heads, .kv_heads = model.kv_heads};
    const double rows = number(model.heads * model.head_dim);
    const double shared = number(2 * model.kv_heads * model.head_dim);
    const double heads = 2.0 * all_to_all(rows, c) + all_to_all(shared, c);
    CHECK((c <= model.kv_heads && heads < all_gather(shared, c)) == is_less);
    const AxisLayout best = least_layout(graph, axis, least_sent(graph, axis));
    if (is_less) check_sent(best, c, {.forward = heads, .backward = heads + all_to_all(rows, c)});
    CHECK((best.rules[id(graph, "ATTENTION").index()].divided == Loop::Outer) == is_less);
  };
  check(test::gpt(12288, 96, 96, 50257), 4, true);
  check(test::gpt(12288, 96, 96, 50257), 16, true);
  check(test::llama3_8b(), 8, true);
  check(test::llama3_8b(), 4, false);
  check(test::llama3_8b(), 16, false);  // it has 8 heads of keys
}

TEST_CASE("on the expert axis tokens go to their experts and back") {
  const Transformer model = test::mixtral_8x7b();
  const DataflowGraph graph = transformer_training_graph(model, {.tokens = kTokens});
  for (const std::int64_t e : {2, 4, 8}) {
    CAPTURE(e);
    const AxisRules axis{.axis = Axis::Expert, .chips = e};
    const AxisLayout best = least_layout(graph, axis, least_sent(graph, axis));
    // Each chip has a sample of its own, and every token goes to two experts.
    const double there_and_back = 2.0 * all_gather(2.0 * 4096.0, e);
    check_sent(best, e,
               {.forward = there_and_back / number(e), .backward = there_and_back / number(e)});
    CHECK(best.conversions.size() == 4);
    CHECK(best.rules[id(graph, "EXPERT_UP").index()].output == X);
    CHECK(best.rules[id(graph, "NORM_2").index()].output == T);
  }
}

TEST_CASE("the ends of the model take the layout that layers hand on") {
  const Transformer model = test::llama3_8b();
  AxisRules axis = tensor_axis(model, 8);
  const DataflowGraph first = transformer_first_graph(model, {.tokens = kTokens}, true);
  const DataflowGraph last = transformer_last_graph(model, {.tokens = kTokens}, true);
  const double unit = all_gather(4096.0, 8);
  axis.input = axis.gradient = R;
  check_sent(least_layout(first, axis, least_sent(first, axis)), 8,
             {.forward = 2.0 * unit, .backward = 0.0});
  check_sent(least_layout(last, axis, least_sent(last, axis)), 8,
             {.forward = 0.0, .backward = 2.0 * unit});
  axis.input = axis.gradient = T;
  check_sent(least_layout(first, axis, least_sent(first, axis)), 8,
             {.forward = unit, .backward = unit});
  const AxisLayout ending = least_layout(last, axis, least_sent(last, axis));
  check_sent(ending, 8, {.forward = unit, .backward = unit});
  CHECK(ending.rules[id(last, "LOSS").index()].inputs == std::vector{F});
}

}  // namespace dfsearch::training
