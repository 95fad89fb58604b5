// The least assignment of layouts against all assignments, on small random graphs with their
// backward kernels, by rules, conversions and costs that are written once more.

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "model/training/layouts.hpp"
#include "support/plain_layouts.hpp"
#include "support/random_piece.hpp"

namespace dfsearch::training {
namespace {

using test::Assignment;
using test::Criterion;
using test::kIllegal;
using test::PlainCosts;
using test::PlainRule;
using test::PlainRules;
using test::plus;

char letter(ValueLayout layout) { return "RFTXP"[static_cast<std::size_t>(layout)]; }

/// The costs of the criterion as the program wants them.
LayoutCosts costs_of(const DataflowGraph& graph, const AxisRules& axis, Criterion criterion,
                     const PlainCosts& plain) {
  if (criterion == Criterion::Sent) return least_sent(graph, axis);
  if (criterion == Criterion::Kept) return least_kept(graph, axis);
  if (criterion == Criterion::Front) return sent_and_kept(graph, axis);
  return {.kernel =
              [&plain](KernelId k, const LayoutRule& rule) {
                return plain.kernel(k.index(), {.inputs = "", .output = letter(rule.output)});
              },
          .conversion =
              [&graph, &plain](const Conversion& c) {
                const bool is_end = c.consumer == c.producer ||
                                    graph.kernel(c.consumer).name == "INPUT" ||
                                    graph.kernel(c.consumer).name == "GRADIENT";
                return plain.drawn_step(letter(c.from), letter(c.to),
                                        is_end ? c.producer.index() + 1000
                                               : c.value * 2 + static_cast<std::size_t>(c.phase));
              },
          .kept = [&plain](std::size_t v,
                           ValueLayout layout) { return plain.drawn_kept(v, letter(layout)); }};
}

/// The rules of all kernels; rules of one weight are chosen together.
struct Choices {
  std::vector<std::vector<PlainRule>> rules;
  std::vector<std::size_t> owner;
  double count = 1.0;
};

Choices choices_of(const DataflowGraph& graph, const AxisRules& axis) {
  Choices choices;
  const PlainRules table(graph, axis);
  for (std::size_t k = 0; k < graph.kernel_count(); ++k) {
    choices.rules.push_back(table.of(KernelId(k)));
    const auto& weight_of = graph.kernels()[k].weight_of;
    choices.owner.push_back(weight_of ? weight_of->index() : k);
    if (!weight_of) choices.count *= static_cast<double>(choices.rules.back().size());
  }
  return choices;
}

template <class Try>
void for_each_assignment(const Choices& choices, const Try& attempt) {
  const std::size_t kernels = choices.rules.size();
  std::vector<std::size_t> chosen(kernels, 0);
  for (;;) {
    Assignment rules;
    for (std::size_t k = 0; k < kernels; ++k) {
      rules.push_back(&choices.rules[k][chosen[choices.owner[k]]]);
    }
    attempt(rules);
    std::size_t k = kernels;
    while (k > 0 &&
           (choices.owner[k - 1] != k - 1 || ++chosen[k - 1] == choices.rules[k - 1].size())) {
      chosen[--k] = 0;
    }
    if (k == 0) return;
  }
}

LayoutCost tried_all(const Choices& choices, const PlainCosts& costs) {
  LayoutCost best = kIllegal;
  for_each_assignment(choices,
                      [&](const Assignment& rules) { best = std::min(best, costs.of(rules)); });
  return best;
}

/// The costs that no other dominates in the first two criteria, each with its least third.
std::vector<LayoutCost> front_of_all(const Choices& choices, const PlainCosts& costs) {
  std::vector<LayoutCost> front;
  for_each_assignment(choices, [&](const Assignment& rules) {
    for (const LayoutCost& cost : costs.all_of(rules)) {
      if (!(cost[0] + cost[1] < test::kNever)) continue;
      const auto precedes = [](const LayoutCost& a, const LayoutCost& b) {
        if (a[0] == b[0] && a[1] == b[1]) return a[2] <= b[2];
        return a[0] <= b[0] && a[1] <= b[1];
      };
      const auto is_beaten = [&](const LayoutCost& other) { return precedes(other, cost); };
      if (std::any_of(front.begin(), front.end(), is_beaten)) continue;
      std::erase_if(front, [&](const LayoutCost& other) { return precedes(cost, other); });
      front.push_back(cost);
    }
  });
  std::sort(front.begin(), front.end());
  return front;
}

/// The rules that were found, in the table; a rule that is not there is a failure.
Assignment found_in(const Choices& choices, const AxisLayout& layout) {
  Assignment rules;
  for (std::size_t k = 0; k < choices.rules.size(); ++k) {
    std::string inputs, parts;
    for (const ValueLayout input : layout.rules[k].inputs) inputs += letter(input);
    for (const ValueLayout part : layout.rules[k].parts) parts += letter(part);
    const auto same = [&](const PlainRule& rule) {
      return rule.inputs == inputs && rule.parts == parts &&
             (parts.empty() ? rule.output == letter(layout.rules[k].output) : true);
    };
    const auto found = std::find_if(choices.rules[k].begin(), choices.rules[k].end(), same);
    REQUIRE(found != choices.rules[k].end());
    rules.push_back(&*found);
  }
  return rules;
}

/// The cost of the listed conversions and kept values.
LayoutCost listed(const DataflowGraph& graph, const AxisLayout& layout, const LayoutCosts& costs) {
  LayoutCost sum{};
  for (std::size_t k = 0; costs.kernel && k < layout.rules.size(); ++k) {
    sum = plus(sum, costs.kernel(KernelId(k), layout.rules[k]));
  }
  for (const Conversion& conversion : layout.conversions) {
    sum = plus(sum, costs.conversion(conversion));
  }
  for (std::size_t v = 0; v < graph.values().size(); ++v) {
    bool is_read = false;
    for (const TensorId t : graph.values()[v]) {
      const Tensor& tensor = graph.tensor(t);
      is_read |= graph.kernel(tensor.from).phase == Phase::Forward &&
                 graph.kernel(tensor.to).phase == Phase::Backward;
    }
    if (is_read) sum = plus(sum, costs.kept(v, layout.kept[v]));
  }
  return sum;
}

void compare_with_all(std::uint64_t first, std::uint64_t last, double most, int least_graphs) {
  int graphs = 0, with_attention = 0;
  for (std::uint64_t seed = first; seed < last; ++seed) {
    CAPTURE(seed);
    const DataflowGraph graph = test::RandomPiece(seed).make();
    AxisRules axis{.axis = seed % 5 == 4 ? Axis::Context : Axis::Tensor,
                   .chips = seed % 3 == 0 ? 4 : 2,
                   .replicated_weights = seed % 7 == 0,
                   .heads = seed % 11 == 0 ? 1 : 4,
                   .kv_heads = 2};
    const Choices choices = choices_of(graph, axis);
    if (choices.count > most) continue;
    ++graphs;
    for (const Kernel& kernel : graph.kernels()) with_attention += kernel.name == "ATTENTION_bwd";
    for (const Criterion criterion : {Criterion::Sent, Criterion::Kept, Criterion::Random}) {
      CAPTURE(static_cast<int>(criterion));
      const PlainCosts plain(graph, axis, criterion, seed);
      const LayoutCosts costs = costs_of(graph, axis, criterion, plain);
      const AxisLayout best = least_layout(graph, axis, costs);
      const LayoutCost least = tried_all(choices, plain);
      CHECK(plain.of(found_in(choices, best)) == least);
      CHECK(listed(graph, best, costs) == least);
    }
  }
  CHECK(graphs >= least_graphs);
  CHECK(with_attention >= least_graphs / 50);
}

void compare_fronts(std::uint64_t first, std::uint64_t last, double most, int least_graphs) {
  int graphs = 0;
  std::size_t longest = 0;
  for (std::uint64_t seed = first; seed < last; ++seed) {
    CAPTURE(seed);
    const DataflowGraph graph = test::RandomPiece(seed).make();
    const AxisRules axis{.axis = Axis::Tensor,
                         .chips = seed % 3 == 0 ? 4 : 2,
                         .replicated_weights = seed % 7 == 0,
                         .heads = seed % 11 == 0 ? 1 : 4,
                         .kv_heads = 2};
    const Choices choices = choices_of(graph, axis);
    if (choices.count > most) continue;
    ++graphs;
    const PlainCosts plain(graph, axis, Criterion::Front, seed);
    const LayoutCosts costs = sent_and_kept(graph, axis);
    const std::vector<FrontLayout> found = layout_front(graph, axis, costs);
    const std::vector<LayoutCost> expected = front_of_all(choices, plain);
    REQUIRE(found.size() == expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      CAPTURE(i);
      CHECK(found[i].cost == expected[i]);
      CHECK(listed(graph, found[i].layout, costs) == expected[i]);
      const std::vector<LayoutCost> possible = plain.all_of(found_in(choices, found[i].layout));
      CHECK(std::find(possible.begin(), possible.end(), expected[i]) != possible.end());
    }
    longest = std::max(longest, found.size());
  }
  CHECK(graphs >= least_graphs);
  CHECK(longest >= 3);
}

}  // namespace

TEST_CASE("the front of layouts is that of all assignments") {
  compare_fronts(0, 200, 2000.0, 100);
}

TEST_CASE("the front of layouts is that of all assignments, for many graphs" *
          doctest::test_suite("slow")) {
  compare_fronts(1000, 2500, 10000.0, 700);
}

TEST_CASE("the least layouts are those of all assignments") {
  compare_with_all(0, 200, 2000.0, 100);
}

TEST_CASE("the least layouts are those of all assignments, for many graphs" *
          doctest::test_suite("slow")) {
  compare_with_all(1000, 4000, 30000.0, 1500);
}

}  // namespace dfsearch::training
