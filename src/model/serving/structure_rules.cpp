// Rules for the degrees of a structure: each degree divides a part of the model, of the chips or of
// their network.  The search and the messages use the same list of rules.

#include <fmt/format.h>

#include <string>
#include <utility>

#include "graph/workloads/blocks/mixed_layers.hpp"
#include "model/serving/pass.hpp"

namespace dfsearch::serving {
namespace {

/// Returns true if all rules hold.  Otherwise calls `say` with a function that returns the text of
/// the first broken rule.
template <class Say>
bool keeps_rules(const Task& task, const Structure& s, const Say& say) {
  const Transformer& model = task.model;
  const Pool& pool = task.pools[s.pool];
  const std::int64_t stage = s.stage_chips();
  const Links links(pool);
  const auto refuse = [&](const auto& text) {
    say(text);
    return false;
  };
  if (model.mixed) {
    std::string text = model.mixed->misfit(s.tensor, 1, Runner::Serving);
    if (!text.empty()) return refuse([&] { return "tensor: " + text; });
  } else if (model.heads % s.tensor != 0) {
    return refuse([&] {
      return fmt::format("tensor: {} does not divide the heads, {}", s.tensor, model.heads);
    });
  }
  if (const std::string text = model.mixed && s.pipeline > 1 ? model.mixed->unsplit() : "";
      !text.empty()) {
    return refuse([&] { return "pipeline: " + text; });
  }
  if (s.pipeline > model.layers) {
    return refuse([&] {
      return fmt::format("pipeline: {} is more than the layers, {}", s.pipeline, model.layers);
    });
  }
  if (s.expert > 1 && !model.experts) {
    return refuse([&] { return fmt::format("expert: {} needs a model with experts", s.expert); });
  }
  if (s.redundant_experts > 0 && s.expert == 1) {
    return refuse([&] {
      return fmt::format("redundant_experts: {} needs 'expert' above 1", s.redundant_experts);
    });
  }
  if (s.sub_batches > 1 && (!model.experts || s.attention_data == 1)) {
    return refuse([&] {
      return fmt::format("sub_batches: {} needs experts and 'attention_data' above 1",
                         s.sub_batches);
    });
  }
  if (s.sub_batches > 1 && pool.execution.style == Style::Dataflow) {
    return refuse([&] {
      return fmt::format("sub_batches: {} of fused kernels, beside which the network works already",
                         s.sub_batches);
    });
  }
  if (s.expert > 1 && (model.experts->count + s.redundant_experts) % s.expert != 0) {
    return refuse([&] {
      const std::int64_t count = model.experts->count, most = (count + s.expert - 1) / s.expert;
      return fmt::format(
          "expert: {} does not divide the experts, {}{}; redundant_experts: {} would ({} = {} x "
          "{})",
          s.expert, count,
          s.redundant_experts > 0 ? fmt::format(" and {} copies", s.redundant_experts) : "",
          most * s.expert - count, most * s.expert, most, s.expert);
    });
  }
  if (stage % s.expert != 0) {
    return refuse([&] {
      return fmt::format(
          "expert: {} does not divide the chips of a stage, tensor times attention_data, {}",
          s.expert, stage);
    });
  }
  for (const auto& [group, of] :
       {std::pair(s.tensor, "tensor"), std::pair(stage, "a stage"), std::pair(s.expert, "expert"),
        std::pair(stage / s.expert, "each expert")}) {
    if (links.holds(group)) continue;
    return refuse([&, group = group, of = of] {
      return fmt::format(
          "{}: a group of {} chips does not fill the dimensions of the network of {}", of, group,
          pool.name);
    });
  }
  return true;
}

}  // namespace

bool legal(const Task& task, const Structure& structure) {
  return keeps_rules(task, structure, [](const auto&) {});
}

std::string misfit(const Task& task, const Structure& structure) {
  std::string text;
  keeps_rules(task, structure, [&](const auto& make) { text = make(); });
  return text;
}

bool has_room(const Task& task, const Role& role) {
  const Structure& s = role.structure;
  const std::int64_t chips = task.pools[s.pool].chips;
  for (const std::int64_t count :
       {s.tensor, s.pipeline, s.attention_data, s.expert, role.replicas}) {
    if (count < 1 || count > chips) return false;
  }
  // The product is computed in doubles, since it may exceed 64 bits.
  const double all =
      real(s.tensor) * real(s.pipeline) * real(s.attention_data) * real(role.replicas);
  return role.batch >= 1 && all <= real(chips) && legal(task, s);
}

}  // namespace dfsearch::serving
