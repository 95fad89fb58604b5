#pragma once
// A part of a model on one chip, whose kernels are fused (docs/training.md, section 5): a mapping
// problem of that chip alone for each pass, and the part's profile with their mappings.
//
// Each pass is a problem of its own, since a step counts passes differently: a forward pass that is
// run again counts twice, and some passes hide more of the exchanges than others.  A step never
// falls if a pass takes longer, so the least time of each pass gives the least step.  If gradients
// of weights wait, as with ZB-H1, they form a pass apart from all other gradients.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "model/evaluate.hpp"
#include "model/mapping.hpp"
#include "model/problem.hpp"
#include "model/training/block.hpp"
#include "model/training/profile.hpp"

namespace dfsearch::training {

enum class FusedKind : std::uint8_t { Forward, Backward, InputGradient, WeightGradient };
inline constexpr std::array kFusedKinds = {FusedKind::Forward, FusedKind::Backward,
                                           FusedKind::InputGradient, FusedKind::WeightGradient};

/// Whether a plan with this schedule has passes of this kind.
bool has(Schedule schedule, FusedKind kind);
/// "forward", "backward", "input gradients", "weight gradients".
const char* name_of(FusedKind kind);

/// The work of a chip in one pass of a part for a micro-batch.
struct FusedPass {
  /// One layer, one sample and one chip with unlimited memory.  The kernels have the extents of one
  /// chip; their explicit traffic is weights, results, and values of other passes and parts.  The
  /// graph is empty if the part has no kernels in this pass.
  Problem problem;
  Seconds compute{};  ///< compute time of all samples, for any fusion
  Bytes moved{};      ///< traffic of explicit reads and writes, for any fusion

  [[nodiscard]] bool is_empty() const { return problem.workload.graph.kernel_count() == 0; }
};

struct FusedPart {
  std::array<FusedPass, kFusedKinds.size()> passes;
  double samples = 1.0;  ///< of a micro-batch
  BlockProfile profile;  ///< profile if kernels run one by one
};

/// Mappings of the problems; nothing for a pass whose kernels run one by one.
using PartFusion = std::array<std::optional<Mapping>, kFusedKinds.size()>;
/// How the parts of a plan are fused, by Part.
using Fusions = std::array<PartFusion, kParts.size()>;

/// Degrees, layouts and micro-batch are as in `profile`.
FusedPart fused_part(const Task& task, const Block& block, const BlockLayouts& layouts,
                     const Degrees& degrees, std::int64_t micro_batch);

/// A lower bound: no fusion takes less in any pass of the schedule.  If gradients of weights do not
/// wait, no other schedule has a smaller sum of all passes (docs/search.md, section 15).
BlockProfile fused_floor(const FusedPart& part, Schedule schedule);

/// The time and work of a pass whose kernels run one by one.
WorkTime one_by_one(const FusedPart& part, FusedKind kind);

/// The profile with these mappings; throws InternalError if a mapping does not fit.
BlockProfile fused(const FusedPart& part, const PartFusion& fusion, Schedule schedule);

struct FusedSummary {
  struct Partition {
    std::vector<std::string> kernels;
    Seconds time{};  ///< of a micro-batch
    Bottleneck bound_by = Bottleneck::Compute;
    Bytes sram{};
  };
  const char* part = "layer";  ///< or "expert_layer", "full_layer", "first", "last"
  FusedKind kind = FusedKind::Forward;
  Seconds time{};                     ///< of a micro-batch
  std::int64_t tile = 0;              ///< tokens
  std::vector<Partition> partitions;  ///< empty: kernels run one by one
};

/// "layer", "expert_layer", "first" or "last"; if layers alternate, "full_layer" replaces
/// "expert_layer".
const char* name_of(Part part, const Transformer& model);

/// All passes of the parts that the model has; empty if the task runs kernels one by one.
std::vector<FusedSummary> fused_summary(const Task& task, const Plan& plan, const Fusions& fusions);

}  // namespace dfsearch::training
