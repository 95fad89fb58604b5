#include "model/training/layout_summary.hpp"

#include <algorithm>

namespace dfsearch::training {

LayoutSummary summary_of(const Block& block, const AxisLayout& layout) {
  LayoutSummary summary;
  for (std::size_t v = 0; v < block.values().size(); ++v) {
    const Block::Value& value = block.values()[v];
    if (!value.is_kept) continue;
    const std::string& name = block.graph().kernel(value.producer).name;
    if (layout.kept[v] == ValueLayout::Replicated) summary.whole.push_back(name);
    const auto is_again = [&](const Conversion& conversion) {
      return conversion.value == v && conversion.phase == Phase::Backward;
    };
    if (std::any_of(layout.conversions.begin(), layout.conversions.end(), is_again)) {
      summary.again.push_back(name);
    }
  }
  return summary;
}

}  // namespace dfsearch::training
