// The keys of a stack for the switches of its software, which are columns of tables of runs too.

#include "model/stack/stack.hpp"
#include "schema/report.hpp"

namespace dfsearch {

const Schema& schema_of(Rows<stack::Software>) {
  using S = stack::Software;
  static constexpr Interval kLayers{0, 1e6};
  static constexpr Field kFields[] = {
      field<&S::graphs>("graphs", "what CUDA graphs replay", {.preset = "that of `open`"}),
      field<&S::dispatcher>("dispatcher", "of tokens to experts", {.preset = "that of `open`"}),
      field<&S::expert_overlap>(
          "expert_overlap",
          "whether the exchanges of experts run beside the other pass of another micro-batch; in a "
          "pipeline with more than one chunk",
          {.preset = "that of `open`"}),
      field<&S::grouped>("grouped", "products of experts, issued one by one or as one kernel",
                         {.preset = "that of `open`"}),
      field<&S::balance>("balance", "of rows among experts"),
      field<&S::user_buffers>("user_buffers", "whether exchanges of tensor ranks are hidden at all",
                              {.preset = "true, but with experts or 4 bits"}),
      field<&S::sinks>("sinks", "of attention, and whether their gradient is fused",
                       {.preset = "none"}),
      field<&S::permute_fusion>("permute_fusion", "of the rows that an all-to-all sends"),
      field<&S::recompute_layers>("recompute_layers", "of each chunk, whole", {.limits = kLayers}),
      field<&S::offload_layers>("offload_layers", "whose activations go to the memory of the host",
                                {.limits = kLayers}),
      field<&S::mtp>("mtp", "layers of multi-token prediction, each with a head and a loss",
                     {.limits = {0, 1000}}),
      field<&S::shard_group>("shard_group",
                             "replicas that divide states, and with ZeRO 3 weights, among them; "
                             "the others have the same again",
                             {.limits = {0, 1e9}, .preset = "all"}),
      field<&S::parameter_exchange>("parameter_exchange",
                                    "of new weights with a distributed optimizer")};
  return schema<S, kFields>("software of a stack");
}

const Schema& schema_of(Rows<stack::OpenSwitches>) {
  using O = stack::OpenSwitches;
  static constexpr Field kFields[] = {
      field<&O::low>("low", "switches of the fastest software", {.preset = "none"}),
      field<&O::typical>("typical", "switches that decide the answer", {.preset = "none"}),
      field<&O::high>("high", "switches of the slowest software", {.preset = "none"}),
      field<&O::release>("release", "range of whole steps, in place of the release of `ranges`",
                         {.limits = {1e-3, 1e3}, .preset = "that of `ranges`"})};
  return schema<O, kFields>("open switches", [](void* object, Report& report) {
    stack::check_constants(schema_of<O>(), object, report);
    const auto& open = *static_cast<const O*>(object);
    for (const stack::Software* const end : {&open.low, &open.typical, &open.high}) {
      stack::Software others = *end;
      others.graphs.clear();
      others.dispatcher.reset();
      others.expert_overlap.reset();
      others.grouped.reset();
      if (others == stack::Software()) continue;
      report.at({end},
                "expected graphs, dispatcher, expert_overlap or grouped; a stack leaves no other "
                "switch open, 'software' has them");
    }
  });
}

const Schema& schema_of(Rows<stack::Ranges>) {
  using R = stack::Ranges;
  using stack::kFactor;
  static constexpr Field kFields[] = {
      field<&R::compute>("compute", "matrix products", {.limits = kFactor}),
      field<&R::attention>("attention", "its core", {.limits = kFactor}),
      field<&R::elementwise>("elementwise", "passes over memory", {.limits = kFactor}),
      field<&R::host>("host", "times of the host", {.limits = kFactor}),
      field<&R::links>("links", "exchanges", {.limits = kFactor}),
      field<&R::scans>("scans", "blocks with a state, and scores of indexes", {.limits = kFactor}),
      field<&R::release>("release", "whole steps, by the release of the software",
                         {.limits = kFactor})};
  return schema<R, kFields>("ranges", [](void* object, Report& report) {
    stack::check_constants(schema_of<R>(), object, report);
  });
}

}  // namespace dfsearch
