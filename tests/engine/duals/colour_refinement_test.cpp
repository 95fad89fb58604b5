// Kernels that look alike or may be exchanged, against their costs and tensors.

#include "engine/duals/column_generation.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>
#include <vector>

#include "support/alike_problem.hpp"
#include "support/expert_problem.hpp"
#include "support/open_point.hpp"
#include "support/random_problem.hpp"
#include "support/symmetric_problem.hpp"

namespace dfsearch {
namespace {

Problem classed_world(std::uint64_t seed) {
  switch (seed % 4) {
    case 0:
      return test::alike_problem(seed);
    case 1:
      return test::random_problem(seed, {.assignments = 1e9});
    case 2:
      return test::symmetric_problem(seed);
    default:
      return test::expert_problem(seed);
  }
}

/// Whether the kernels cost the same, where they are.
bool cost_the_same(const KernelCosts& a, const KernelCosts& b) {
  return a.compute == b.compute && a.network == b.network &&
         a.explicit_memory == b.explicit_memory && a.weight == b.weight &&
         a.backward == b.backward && a.repeats == b.repeats && a.lonely == b.lonely &&
         a.escapes == b.escapes;
}

/// Costs of the kernel's tensors.
using Ends = std::vector<std::tuple<bool, Ticks, Bytes>>;
Ends ends(const FusionTables& tables, std::size_t p) {
  Ends ends;
  const auto add = [&](std::span<const Arc> arcs, bool is_input) {
    for (const Arc& arc : arcs) {
      if (arc.transfer == 0 && arc.streamed == Bytes{}) continue;  // an order
      ends.emplace_back(is_input, arc.transfer, arc.streamed);
    }
  };
  add(tables.inputs(p), true);
  add(tables.outputs(p), false);
  std::sort(ends.begin(), ends.end());
  return ends;
}

std::vector<std::uint32_t> class_of(const KernelClasses& classes, std::size_t size) {
  std::vector<std::uint32_t> of(size, ~std::uint32_t{0});
  for (std::size_t c = 0; c < classes.size(); ++c) {
    REQUIRE(!classes[c].empty());
    REQUIRE(std::is_sorted(classes[c].begin(), classes[c].end()));
    for (const std::size_t p : classes[c]) {
      REQUIRE(of[p] == ~std::uint32_t{0});  // it is in no other
      of[p] = static_cast<std::uint32_t>(c);
    }
  }
  REQUIRE(std::find(of.begin(), of.end(), ~std::uint32_t{0}) == of.end());
  return of;
}

}  // namespace

TEST_CASE("kernels that look alike cost the same, and those that may be exchanged look alike") {
  int alike = 0;
  int exchanged = 0;
  int mostly = 0;
  int told_apart = 0;  // by their neighbours
  for (std::uint64_t seed = 0; seed < 2400; ++seed) {
    CAPTURE(seed);
    const Problem problem = classed_world(seed);
    const auto context = test::open_point(problem, seed);
    const FusionTables& tables = context->tables;
    const auto colours = kernel_colours(tables);
    REQUIRE(colours.size() == tables.size());
    const KernelClasses by_colour = kernels_by(colours);
    REQUIRE(class_of(by_colour, tables.size()) == colours);
    REQUIRE(are_mostly_alike(tables) == (4 * by_colour.size() <= tables.size()));
    mostly += are_mostly_alike(tables);

    for (const KernelPairs& exchange : tables.order().exchanges()) {
      for (const auto& [a, b] : exchange) {
        REQUIRE(a != b);
        REQUIRE(colours[a] == colours[b]);
        ++exchanged;
      }
    }
    for (std::size_t a = 0; a < tables.size(); ++a) {
      for (std::size_t b = a + 1; b < tables.size(); ++b) {
        const bool same =
            cost_the_same(tables.kernel(a), tables.kernel(b)) && ends(tables, a) == ends(tables, b);
        if (colours[a] == colours[b]) {
          REQUIRE(same);
          ++alike;
        }
        told_apart += same && colours[a] != colours[b];
      }
    }
  }
  CHECK(alike > 5'000);
  CHECK(exchanged > 500);
  CHECK(mostly > 200);
  CHECK(told_apart > 1'000);
}

}  // namespace dfsearch
