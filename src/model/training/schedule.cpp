// A stage is idle until the first micro-batch arrives and after the last one has left.  The idle
// time is the time that all other stages take for one micro-batch.  GPipe passes the stages twice,
// each way at the pace of the slowest stage.
//
// Equal stages of F, B and W are idle for (p - 1)(F + B + W) under 1F1B and GPipe, a v-th of this
// with v chunks, and (p - 1)(F + B - W) under ZB-H1, where weight gradients fill idle time.

#include "model/training/schedule.hpp"

#include "base/counts.hpp"
#include "model/training/stages.hpp"

namespace dfsearch::training {
namespace {

/// Ratio of the idle time of DualPipe to that of 1F1B, a chosen constant (docs/truth.md, section
/// 4).
constexpr double kDualPipeBubble = 0.4;

}  // namespace

Pipeline::Pipeline(Schedule schedule, std::int64_t chunks, std::int64_t micro_batches,
                   std::int64_t stages, const PipelineTimes& times, const StageContent& all)
    : schedule_(schedule),
      micro_batches_(number(micro_batches)),
      stages_(number(stages)),
      others_((stages_ - 1.0) / stages_),
      times_(times),
      all_(all) {
  Seconds layers{};
  for (std::size_t kind = 0; kind < times.kinds(); ++kind) {
    layers += times.of_kind(kind).total() * number(all.of_kind(kind));
  }
  layers += times.hops * stages_;
  sum_ = layers + times.first.total() + times.last.total();
  // Each stage waits for its first chunk.  A round has a micro-batch for each stage, and each of
  // them waits for the shorter end.
  const Seconds shorter = std::min(times.first.total(), times.last.total());
  interleaving_ = layers * others_ / number(chunks);
  if (stages > 1) interleaving_ += shorter * stages_;
}

PassTime Pipeline::passes(const StageContent& stage) const {
  PassTime sum{.forward = times_.hops * 0.5, .backward = times_.hops * 0.5};
  const auto add = [&sum](const PassTime& block, double count) {
    sum.forward += block.forward * count;
    sum.backward += block.backward * count;
    sum.weight_gradient += block.weight_gradient * count;
  };
  for (std::size_t kind = 0; kind < times_.kinds(); ++kind) {
    add(times_.of_kind(kind), number(stage.of_kind(kind)));
  }
  if (stage.first) add(times_.first, 1.0);
  if (stage.last) add(times_.last, 1.0);
  return sum;
}

/// The idle time of ZB-H1 that is not filled.  On the stage that sets the pace, the weight
/// gradients of all micro-batches but the first fill a part of the idle time.  A stage with fewer
/// layers of a kind than average fills less.
Seconds Pipeline::unfilled(const StageContent& stage, bool layers_fill) const {
  Seconds sum = times_.hops * (stages_ - 1.0);
  const auto add = [&](const PassTime& block, double all, double own) {
    const Seconds rest = block.total() - block.weight_gradient;
    const Seconds filled = block.weight_gradient * (own * (micro_batches_ - 1.0));
    sum += std::max(rest * (all * others_) - filled,
                    positive_part(rest - block.weight_gradient) * (all * others_));
  };
  for (std::size_t kind = 0; kind < times_.kinds(); ++kind) {
    add(times_.of_kind(kind), number(all_.of_kind(kind)),
        layers_fill ? number(stage.of_kind(kind)) : 0.0);
  }
  add(times_.first, 1.0, stage.first ? 1.0 : 0.0);
  add(times_.last, 1.0, stage.last ? 1.0 : 0.0);
  return sum;
}

// docs/training.md (6)
Pipeline::Pace Pipeline::pace(const StageContent& stage,
                              const OverlappedExchanges& overlapped) const {
  const PassTime own = passes(stage);
  const Seconds forward =
      own.forward + positive_part(overlapped.forward - overlapped.forward_hidden);
  const Seconds each = std::max(
      forward + own.backward + positive_part(overlapped.backward - overlapped.backward_hidden),
      times_.link);
  switch (schedule_) {
    case Schedule::OneForwardOneBackward:
      return {.forward = sum_ + each * (micro_batches_ - 1.0)};
    case Schedule::Interleaved:
      return {.forward = each * micro_batches_ + interleaving_};
    case Schedule::GPipe:
      return {.forward = sum_ + forward * (micro_batches_ - 1.0),
              .backward = (each - forward) * (micro_batches_ - 1.0)};
    case Schedule::DualPipe:
      return {.forward = each * micro_batches_ + sum_ * (others_ * kDualPipeBubble)};
    case Schedule::ZeroBubble:
      break;
  }
  const Seconds work =
      std::max(forward + own.backward, times_.link) * micro_batches_ + unfilled(stage, true);
  if (!(overlapped.backward > Seconds{})) return {.forward = work};
  // If exchanges set the pace, the weight gradients that hide them fill no idle time.
  const Seconds longer =
      forward + own.backward + (overlapped.backward - overlapped.backward_hidden);
  return {.forward =
              std::max(work, longer * micro_batches_ +
                                 unfilled(stage, !(overlapped.backward_hidden > Seconds{})))};
}

// The exchanges of a single micro-batch overlap with the work of other stages.
Seconds Pipeline::single_stage_time(const StageContent& stage,
                                    const OverlappedExchanges& overlapped, Seconds once) const {
  const Seconds work = (passes(stage).total() + overlapped.exposed()) * micro_batches_;
  return (micro_batches_ > 1.0 ? std::max(work, pace(stage, overlapped).total()) : work) + once;
}

// docs/training.md (7)
double in_flight(Schedule schedule, std::int64_t chunks, std::int64_t micro_batches,
                 std::int64_t stages, std::int64_t stage) {
  switch (schedule) {
    case Schedule::GPipe:
      return number(micro_batches);
    case Schedule::ZeroBubble:
      return number(std::min(micro_batches, stages));
    case Schedule::DualPipe:
      return number(std::min(micro_batches, stages + 1));
    case Schedule::OneForwardOneBackward:
      return number(std::min(micro_batches, stages - stage));
    case Schedule::Interleaved:
      break;
  }
  const std::int64_t pieces = 2 * (stages - stage - 1) + (chunks - 1) * stages + 1;
  return std::min(number(pieces), number(micro_batches) * number(chunks)) / number(chunks);
}

bool is_possible(Schedule schedule, std::int64_t chunks, std::int64_t micro_batches,
                 const std::vector<std::int64_t>& layers) {
  if (schedule != Schedule::Interleaved) return chunks == 1;
  return chunks > 1 && micro_batches % static_cast<std::int64_t>(layers.size()) == 0 &&
         chunk_slots(layers, chunks);
}

bool is_possible(Schedule schedule, std::int64_t chunks, std::int64_t micro_batches,
                 std::int64_t stages, std::int64_t layers) {
  if (schedule != Schedule::Interleaved) return chunks == 1;
  return chunks > 1 && micro_batches % stages == 0 && have_chunks(layers, stages, chunks);
}

}  // namespace dfsearch::training
