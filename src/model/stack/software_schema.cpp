// The keys of a stack for the switches of its software; tables of runs have them as columns.

#include "model/stack/stack.hpp"
#include "schema/report.hpp"

namespace dfsearch {

const Schema& schema_of(Rows<stack::Software>) {
  using S = stack::Software;
  static constexpr Interval kLayers{0, 1e6};
  static constexpr Field kFields[] = {
      field<&S::graphs>("graphs", "work that CUDA graphs replay", {.preset = "that of `open`"}),
      field<&S::dispatcher>("dispatcher", "dispatcher of tokens", {.preset = "that of `open`"}),
      field<&S::expert_overlap>(
          "expert_overlap",
          "whether exchanges of experts overlap with another micro-batch (in a pipeline of chunks)",
          {.preset = "that of `open`"}),
      field<&S::grouped>("grouped", "whether products of experts are issued one by one or fused",
                         {.preset = "that of `open`"}),
      field<&S::balance>("balance", "balance of rows among experts"),
      field<&S::user_buffers>("user_buffers", "whether exchanges of tensor ranks are hidden",
                              {.preset = "true without experts and 4 bits"}),
      field<&S::sinks>("sinks", "sinks of attention, and kernels of their gradient",
                       {.preset = "none"}),
      field<&S::permute_fusion>("permute_fusion", "whether an all-to-all permutes fused"),
      field<&S::recompute_layers>("recompute_layers", "recomputed layers of each chunk",
                                  {.limits = kLayers}),
      field<&S::offload_layers>("offload_layers", "layers of a chunk with activations on the host",
                                {.limits = kLayers}),
      field<&S::mtp>("mtp", "layers of multi-token prediction, each with a head and a loss",
                     {.limits = {0, 1000}}),
      field<&S::shard_group>("shard_group",
                             "number of replicas that divide states (with ZeRO 3 also weights); "
                             "every other group of this size has copies",
                             {.limits = {0, 1e9}, .preset = "all"}),
      field<&S::parameter_exchange>("parameter_exchange",
                                    "exchange of new weights with a distributed optimizer")};
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
      field<&R::attention>("attention", "kernels of attention", {.limits = kFactor}),
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
