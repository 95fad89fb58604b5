#include "model/training/switch_times.hpp"

#include <variant>

#include "base/error.hpp"
#include "model/training/block.hpp"
#include "model/training/evaluate.hpp"

namespace dfsearch::training {
namespace {

using stack::Dispatcher;
using stack::GraphScope;
using stack::Grouped;
using stack::Software;

const SwitchValue kSwitchValues[] = {
    {"graphs", "none", "graphs: none", [](Software& s) { s.graphs = {GraphScope::None}; }},
    {"graphs", "moe_router", "graphs: moe_router",
     [](Software& s) {
       s.graphs = {GraphScope::Router, GraphScope::Preprocess};
     }},
    {"graphs", "full_iteration", "graphs: full_iteration",
     [](Software& s) { s.graphs = {GraphScope::FullIteration}; }},
    {"dispatcher", "alltoall", "dispatcher: alltoall",
     [](Software& s) { s.dispatcher = Dispatcher::AllToAll; }},
    {"dispatcher", "deepep", "dispatcher: deepep",
     [](Software& s) { s.dispatcher = Dispatcher::DeepEp; }},
    {"dispatcher", "hybridep", "dispatcher: hybridep",
     [](Software& s) { s.dispatcher = Dispatcher::HybridEp; }},
    {"expert_overlap", "false", "expert_overlap: false",
     [](Software& s) { s.expert_overlap = false; }},
    {"expert_overlap", "true", "expert_overlap: true",
     [](Software& s) { s.expert_overlap = true; }},
    {"grouped", "te", "grouped: te", [](Software& s) { s.grouped = Grouped::EachExpert; }},
    {"grouped", "fused", "grouped: fused", [](Software& s) { s.grouped = Grouped::Fused; }}};

bool is_same(const stack::Switches& a, const stack::Switches& b) {
  return a.replays_layers == b.replays_layers && a.replays_attention == b.replays_attention &&
         a.replays_router == b.replays_router && a.dispatcher == b.dispatcher &&
         a.expert_overlap == b.expert_overlap && a.grouped == b.grouped;
}

}  // namespace

std::vector<SwitchValue> other_switch_values(const Task& task) {
  std::vector<SwitchValue> others;
  if (!task.stack || !task.model.experts) return others;
  const stack::Switches now = task.stack->switches(true);
  for (const SwitchValue& value : kSwitchValues) {
    stack::Setup changed = *task.stack;
    value.set(changed.stack.software);
    if (!is_same(changed.switches(true), now)) others.push_back(value);
  }
  return others;
}

std::vector<SwitchTime> switch_times(const Task& task, const LeanOptions& assumed,
                                     const Plan& plan) {
  std::vector<SwitchTime> times;
  const std::vector<SwitchValue> values = other_switch_values(task);
  if (values.empty()) return times;
  const Blocks blocks = blocks_of(task);
  Task changed = with(assumed, task);
  changed.decide = memory::Level::Low;  // the level at which every plan of a search fits
  for (const SwitchValue& value : values) {
    changed.stack->stack.software = task.stack->stack.software;
    value.set(changed.stack->stack.software);
    const auto verdict = evaluate(changed, blocks, plan);
    const Cost* cost = std::get_if<Cost>(&verdict);
    if (cost == nullptr) throw InternalError("a change of switches changes the memory of a plan");
    times.push_back({.to = value, .step = cost->step_time});
  }
  return times;
}

}  // namespace dfsearch::training
