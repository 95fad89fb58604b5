// Which layouts among tensor ranks a plan may take.

#include "model/training/layout_shelf.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "support/published_models.hpp"
#include "support/training_worlds.hpp"

namespace dfsearch::training {
namespace {

struct Sums {
  double sent = 0.0, kept = 0.0;
};

Sums sums_of(const DataflowGraph& graph, const AxisRules& axis, const AxisLayout& layout) {
  const LayoutCosts costs = sent_and_kept(graph, axis);
  Sums sums;
  for (const Conversion& conversion : layout.conversions) {
    sums.sent += costs.conversion(conversion)[0];
  }
  for (std::size_t v = 0; v < graph.values().size(); ++v) {
    bool is_read = false;
    for (const TensorId t : graph.values()[v]) {
      is_read |= graph.kernel(graph.tensor(t).from).phase == Phase::Forward &&
                 graph.kernel(graph.tensor(t).to).phase == Phase::Backward;
    }
    if (is_read) sums.kept += costs.kept(v, layout.kept[v])[1];
  }
  return sums;
}

/// For every layout of the whole front there is one that keeps no more, and sends at most
/// `most_times` the bytes.
void check_front(const Transformer& model, std::int64_t chips, double most_times, bool is_whole) {
  const Task task = test::training_task(model, 4096, 1024);
  const Blocks blocks = blocks_of(task);
  LayoutShelf shelf(task, blocks);
  const DataflowGraph& graph = blocks[shelf.most_layers()]->graph();
  const AxisRules axis{
      .axis = Axis::Tensor, .chips = chips, .heads = model.heads, .kv_heads = model.kv_heads};
  const auto whole = layout_front(graph, axis, sent_and_kept(graph, axis));
  Degrees degrees;
  degrees[Role::Tensor] = chips;
  const std::vector<TensorLayout> layouts = shelf.tensor_layouts(degrees);
  REQUIRE(layouts.size() >= 3);
  CHECK(layouts[0] == TensorLayout::LeastSent);
  CHECK(layouts[1] == TensorLayout::LeastKept);
  CHECK((layouts.size() == whole.size() + 2) == is_whole);
  std::vector<Sums> members;
  for (std::size_t i = 2; i < layouts.size(); ++i) {
    CHECK(place_in_front(layouts[i]) == static_cast<int>(i) - 1);
    const auto found = shelf.layouts(shelf.most_layers(), degrees, layouts[i]);
    members.push_back(sums_of(graph, axis, *found.tensor));
  }
  for (const FrontLayout& one : whole) {
    bool is_covered = false;
    for (const Sums& member : members) {
      is_covered |= member.kept <= one.cost[1] && member.sent <= one.cost[0] * most_times;
    }
    CHECK(is_covered);
  }
}

}  // namespace

TEST_CASE("plans choose among all of a front that is short") {
  check_front(test::llama3_8b(), 8, 1.0, true);
  check_front(test::llama3_8b(), 16, 1.0, true);
  check_front(test::mixtral_8x7b(), 8, 1.0, true);
}

TEST_CASE("of a long front those stay that keep no more and send little more") {
  check_front(test::deepseek_v3(), 8, 1.125, false);
}

// The layers without experts are few there, and take what the others hand on.
TEST_CASE("what the parts of a model hand each other fits, with each layout") {
  const Task task = test::training_task(test::deepseek_v3(), 4096, 1024);
  const Blocks blocks = blocks_of(task);
  LayoutShelf shelf(task, blocks);
  CHECK(shelf.most_layers() == Part::OtherLayer);
  Degrees degrees;
  degrees[Role::Tensor] = 8;
  const auto output = [&](Part part, TensorLayout layout, const char* name) {
    const DataflowGraph& graph = blocks[part]->graph();
    const AxisLayout& found = *shelf.layouts(part, degrees, layout).tensor;
    for (std::size_t k = 0; k < graph.kernel_count(); ++k) {
      if (graph.kernels()[k].name == name) return found.rules[k].output;
    }
    return ValueLayout::Partial;
  };
  for (const TensorLayout layout : shelf.tensor_layouts(degrees)) {
    for (const char* name : {"INPUT", "GRADIENT"}) {
      CHECK(output(Part::Layer, layout, name) == output(Part::OtherLayer, layout, name));
    }
    CHECK(output(Part::Last, layout, "INPUT") == output(Part::Layer, layout, "INPUT"));
    CHECK(output(Part::First, layout, "GRADIENT") == output(Part::Layer, layout, "GRADIENT"));
  }
}

}  // namespace dfsearch::training
