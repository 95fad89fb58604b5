#pragma once
// The judge of the search for executions: every combination of values, asked one by one whether it
// is legal, and costed by the model.  Written from docs/calculon.md, section 7, without the
// enumerations of the engine.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "engine/calculon/execution_space.hpp"
#include "model/calculon/evaluate.hpp"

namespace dfsearch::test {

using calculon::Communication;
using calculon::Execution;
using calculon::ExecutionChoices;
using calculon::Overlap;
using calculon::Recompute;
using calculon::Task;

struct FoundPlainly {
  Execution execution;
  Seconds cost{};
};

struct PlainSpace {
  std::int64_t candidates = 0;
  std::int64_t feasible = 0;
  /// The best of each parallelism, the best first; the first in the order of ties.
  std::vector<FoundPlainly> best;
};

inline bool is_before(const FoundPlainly& a, const FoundPlainly& b) {
  if (!(a.cost == b.cost)) return a.cost < b.cost;
  return calculon::decisions_of(a.execution) < calculon::decisions_of(b.execution);
}

/// Whether the value is the one that is given, if one is.
template <class T>
bool agrees(const std::optional<T>& given, const T& value) {
  return !given || *given == value;
}

inline bool degrees_are_legal(const Task& task, const Execution& e) {
  const auto& model = task.transformer;
  const auto& choices = task.choices;
  if (e.tensor * e.pipeline * e.data != task.machine.chips) return false;
  if (model.hidden % e.tensor != 0 || model.heads % e.tensor != 0) return false;
  if (!choices.pipeline && model.layers % e.pipeline != 0) return false;
  return agrees(choices.tensor, e.tensor) && agrees(choices.pipeline, e.pipeline) &&
         agrees(choices.data, e.data);
}

/// The batch for a data degree; 0: none.
inline std::int64_t batch_of(const Task& task, std::int64_t data) {
  if (task.choices.global_batch) {
    return *task.choices.global_batch % data == 0 ? *task.choices.global_batch : 0;
  }
  std::int64_t batch = *task.choices.maximum_batch;
  while (batch % data != 0) --batch;
  return batch;
}

inline bool schedule_is_legal(const Task& task, const Execution& e) {
  const auto& choices = task.choices;
  const std::int64_t blocks = (task.transformer.layers + e.pipeline - 1) / e.pipeline;
  if ((e.global_batch / e.data) % e.micro_batch != 0 || blocks % e.chunks != 0) return false;
  if (e.pipeline == 1 && e.chunks > 1) return false;
  if (!choices.micro_batch && e.micro_batch * task.transformer.sequence % e.tensor != 0) {
    return false;
  }
  return agrees(choices.micro_batch, e.micro_batch) && agrees(choices.chunks, e.chunks);
}

inline bool shape_is_legal(const Task& task, const Execution& e) {
  const auto& choices = task.choices;
  const bool training = task.transformer.training;
  const bool whole_rows = e.micro_batch * task.transformer.sequence % e.tensor == 0;
  if (e.recompute != Recompute::None && !training) return false;
  if (e.communication != Communication::AllReduce && !whole_rows) return false;
  if (e.redo &&
      (e.communication != Communication::ReduceScatter || e.recompute == Recompute::Full)) {
    return false;
  }
  if (e.overlap != Overlap::None && e.tensor == 1) return false;
  if ((e.sharding || e.data_overlap) && e.data == 1) return false;
  if (e.data_overlap && !training) return false;
  // Without an effect they are not tried, but may be given.
  if (!training && ((e.redo && !choices.redo) || (e.sharding && !choices.sharding))) return false;
  return agrees(choices.recompute, e.recompute) && agrees(choices.communication, e.communication) &&
         agrees(choices.overlap, e.overlap) && agrees(choices.redo, e.redo) &&
         agrees(choices.sharding, e.sharding) && agrees(choices.data_overlap, e.data_overlap);
}

inline bool offload_is_legal(const Task& task, const Execution& e) {
  if (task.choices.offload) return *task.choices.offload == e.offload;
  if (!task.machine.second_memory()) return !e.offload.any();
  if (e.offload.optimizer && !task.transformer.training) return false;
  return !(e.offload.activations && e.recompute == Recompute::Full);
}

inline bool placement_is_legal(const Task& task, const Execution& e) {
  if (task.choices.networks) return *task.choices.networks == e.networks;
  return (e.tensor > 1 || e.networks[0] == 0) && (e.pipeline > 1 || e.networks[1] == 0) &&
         (e.data > 1 || e.networks[2] == 0);
}

class PlainEnumeration {
 public:
  explicit PlainEnumeration(const Task& task) : task_(task) {}

  PlainSpace run() {
    const std::int64_t chips = task_.machine.chips;
    Execution e;
    e.fused = task_.choices.fused;
    for (e.tensor = 1; e.tensor <= chips; ++e.tensor) {
      for (e.pipeline = 1; e.pipeline <= chips; ++e.pipeline) {
        e.data = std::max<std::int64_t>(1, chips / e.tensor / e.pipeline);
        if (!degrees_are_legal(task_, e)) continue;
        if (!task_.choices.global_batch && e.data > *task_.choices.maximum_batch) continue;
        e.global_batch = batch_of(task_, e.data);
        if (e.global_batch > 0) try_schedules(e);
      }
    }
    std::sort(space_.best.begin(), space_.best.end(), is_before);
    return space_;
  }

 private:
  void try_schedules(Execution e) {
    best_.reset();
    for (e.micro_batch = 1; e.micro_batch <= e.global_batch; ++e.micro_batch) {
      for (e.chunks = 1; e.chunks <= task_.transformer.layers; ++e.chunks) {
        if (schedule_is_legal(task_, e)) try_shapes(e);
      }
    }
    if (best_) space_.best.push_back(*best_);
  }

  void try_shapes(Execution e) {
    // The digits of a number, one for each decision.
    for (int code = 0; code < 3 * 3 * 3 * 64; ++code) {
      e.recompute = static_cast<Recompute>(code % 3);
      e.communication = static_cast<Communication>(code / 3 % 3);
      e.overlap = static_cast<Overlap>(code / 9 % 3);
      e.redo = code / 27 % 2 > 0;
      e.sharding = code / 54 % 2 > 0;
      e.data_overlap = code / 108 % 2 > 0;
      e.offload = {.weights = code / 216 % 2 > 0,
                   .activations = code / 432 % 2 > 0,
                   .optimizer = code / 864 % 2 > 0};
      if (shape_is_legal(task_, e) && offload_is_legal(task_, e)) try_placements(e);
    }
  }

  void try_placements(Execution e) {
    const std::size_t count = task_.machine.network.size();
    for (std::size_t code = 0; code < count * count * count; ++code) {
      e.networks = {code % count, code / count % count, code / count / count};
      if (!placement_is_legal(task_, e)) continue;
      ++space_.candidates;
      const auto verdict = evaluate(task_.transformer, task_.machine, e);
      const auto* cost = std::get_if<calculon::Cost>(&verdict);
      if (cost == nullptr) continue;
      ++space_.feasible;
      const FoundPlainly found{.execution = e, .cost = cost->step_time};
      if (!best_ || is_before(found, *best_)) best_ = found;
    }
  }

  const Task& task_;
  PlainSpace space_;
  std::optional<FoundPlainly> best_;
};

}  // namespace dfsearch::test
