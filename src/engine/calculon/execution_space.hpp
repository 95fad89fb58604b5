#pragma once
// The executions that a task leaves to the search, and lower bounds on step times of partly decided
// ones.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/units.hpp"
#include "model/calculon/block.hpp"
#include "model/calculon/execution.hpp"
#include "model/calculon/memory_use.hpp"
#include "model/calculon/step_time.hpp"

namespace dfsearch::calculon {

/// The decisions that are taken beforehand; those without a value are searched.
struct ExecutionChoices {
  std::optional<std::int64_t> tensor;
  std::optional<std::int64_t> pipeline;
  std::optional<std::int64_t> data;
  std::optional<std::int64_t> maximum_batch;  ///< the batch is the greatest multiple of the data
                                              ///< degree up to this maximum
  std::optional<std::int64_t> global_batch;   ///< or the batch itself; one of the two is set
  std::optional<std::int64_t> micro_batch;
  std::optional<std::int64_t> chunks;
  std::optional<Recompute> recompute;
  std::optional<Communication> communication;
  std::optional<Overlap> overlap;
  std::optional<bool> redo;
  std::optional<bool> data_overlap;
  std::optional<bool> sharding;
  std::optional<Offload> offload;
  std::optional<std::array<std::size_t, 3>> networks;
  bool fused = true;
};

/// The task: the best execution of a transformer on a machine.
struct Task {
  ModelShape transformer;
  Machine machine;
  ExecutionChoices choices;
};

/// The domains of the decisions, each for the decisions before it (docs/calculon.md, section 7), in
/// the order of ties.  Functions that take an Execution use only the decisions before their own.
/// Constant, any thread; the task must outlive it.
class ExecutionSpace {
 public:
  explicit ExecutionSpace(const Task& task) : task_(task) {}

  [[nodiscard]] const Task& task() const { return task_; }

  [[nodiscard]] std::vector<std::int64_t> tensor_degrees() const;
  /// The degrees that leave a data degree with a legal batch.
  [[nodiscard]] std::vector<std::int64_t> pipeline_degrees(std::int64_t tensor) const;
  /// These degrees with the remaining data degree and its batch; nothing if there is no legal
  /// batch.
  [[nodiscard]] std::optional<Execution> with_degrees(std::int64_t tensor,
                                                      std::int64_t pipeline) const;
  [[nodiscard]] std::vector<std::int64_t> chunk_counts(const Execution& execution) const;
  [[nodiscard]] std::vector<std::int64_t> micro_batches(const Execution& execution) const;
  /// All choices of recompute, sharding, communication, redo, overlap and fused.
  [[nodiscard]] std::vector<Execution> shapes(const Execution& execution) const;
  [[nodiscard]] std::vector<Offload> offloads(const Execution& execution) const;
  [[nodiscard]] std::vector<bool> data_overlaps(const Execution& execution) const;
  /// All placements, including placements that no network can serve.
  [[nodiscard]] std::vector<std::array<std::size_t, 3>> placements(
      const Execution& execution) const;
  [[nodiscard]] std::vector<std::size_t> networks(Axis axis, std::int64_t degree) const;

 private:
  [[nodiscard]] std::optional<std::int64_t> global_batch(std::int64_t data) const;
  /// The tensor degree divides the tokens of a micro-batch.
  [[nodiscard]] bool splits_evenly(const Execution& execution) const;
  /// `even`: the result of splits_evenly.
  [[nodiscard]] bool is_legal_shape(const Execution& shape, bool even) const;

  const Task& task_;
};

/// Lower bounds on the times of a block for given degrees and micro-batch (docs/search.md, section
/// 13).
struct BlockFloor {
  PassTimes forward;
  PassTimes input_gradient;
  PassTimes weight_gradient;
  Seconds hop{};  ///< a transfer to the next stage
};

/// Decided: degrees, batch, micro-batch.
BlockFloor block_floor(const ExecutionSpace& space, const Execution& execution);

/// Decided: degrees, batch, micro-batch, chunks.  Lower bound on the time of all completions.
Seconds schedule_floor(const ExecutionSpace& space, const Execution& execution,
                       const BlockFloor& block);

/// Decided: all but the networks and the overlap of data ranks.  Lower bound on the time of all
/// completions; infinite where no network can serve one of the degrees.
Seconds shape_floor(const ExecutionSpace& space, const Execution& execution,
                    const BlockMemory& memory);

}  // namespace dfsearch::calculon
