#pragma once
// The rules for deployments, and their space: chains, each of replicas of one structure at all
// batches, that decode or prefill.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/deadline.hpp"
#include "model/ruled_out.hpp"
#include "model/serving/deployment.hpp"
#include "model/serving/steady_state.hpp"

namespace dfsearch::serving {

/// Replicas of one structure, chunk and depth, at all batches that may keep the limits on memory,
/// on the share of mixed iterations and on times.  A limit counts only if its quantity, or a bound
/// on it, never falls with the batch.
struct Chain {
  std::unique_ptr<const Decoder> decoder;
  std::vector<std::int64_t> replicas;     ///< ascending
  std::span<const std::int64_t> batches;  ///< ascending
  Decoding at_first, at_last;             ///< both ends, if there are batches
  double least_tpot = 0.0;                ///< for any load, if times depend on the load: (24f)
  double least_ttft = 0.0;

  [[nodiscard]] Decoding at(std::size_t batch) const { return decoder->at(batches[batch]); }
  [[nodiscard]] Role role(std::size_t batch, std::int64_t count) const {
    return {.structure = decoder->structure(),
            .replicas = count,
            .chunk = decoder->chunk(),
            .batch = batches[batch],
            .depth = decoder->depth()};
  }
};

/// Replicas of one structure that prefill, at all batches that may keep the memory and the limits
/// of time.
struct PrefillChain {
  std::unique_ptr<const Prefiller> prefiller;
  std::vector<std::int64_t> replicas;     ///< ascending
  std::span<const std::int64_t> batches;  ///< ascending
  Prefilling at_first, at_last;           ///< both ends, if there are batches

  [[nodiscard]] Prefilling at(std::size_t batch) const { return prefiller->at(batches[batch]); }
  [[nodiscard]] Role role(std::size_t batch, std::int64_t count) const {
    return {.structure = prefiller->structure(), .replicas = count, .batch = batches[batch]};
  }
};

/// The choice of a role of the task: its own, else the one of all roles, else the preset.
DegreeChoice choice_of(const Task& task, const RoleChoices& role,
                       std::optional<DegreeChoice> RoleChoices::*key);

enum class Side : std::uint8_t { Aggregated, Prefill, Decode };

/// The deployments that the choices of a task leave.  Refers to the task.
class DeploymentSpace {
 public:
  /// Throws Stopped.
  DeploymentSpace(const Task& task, const Deadline& deadline);

  [[nodiscard]] const Task& task() const { return task_; }
  [[nodiscard]] const Means& means() const { return means_; }
  [[nodiscard]] const std::vector<Chain>& aggregated() const { return aggregated_; }
  [[nodiscard]] const std::vector<PrefillChain>& prefillers() const { return prefillers_; }
  [[nodiscard]] const std::vector<Chain>& decoders() const { return decoders_; }
  /// Whether the pools have enough chips for both roles, and both roles have the same precision.
  [[nodiscard]] bool holds(const Role& prefill, const Role& decode) const;
  /// The number of deployments that the choices leave, before any limit.
  [[nodiscard]] double deployments() const { return deployments_; }
  /// Number of batches of replicas that each limit rules out.
  [[nodiscard]] const std::array<std::int64_t, kBroken>& cut() const { return cut_; }

 private:
  struct Structures;
  void add_chains(const std::vector<Structures>& structures, Side side, const Deadline& deadline,
                  std::vector<Chain>& chains);
  void add_prefillers(const std::vector<Structures>& structures, const Deadline& deadline);
  template <class AnyChain, class Breaks>
  void cut(AnyChain& chain, std::span<const std::int64_t> batches, const Breaks& breaks);
  [[nodiscard]] std::vector<Structures> structures_of(const RoleChoices& role,
                                                      const std::vector<std::int64_t>& chunks,
                                                      const std::vector<std::int64_t>& depths,
                                                      const Deadline& deadline) const;

  const Task& task_;
  const Means means_;
  std::array<std::vector<std::int64_t>, 3> batches_;  // by Side; chains refer to them
  std::vector<Chain> aggregated_, decoders_;
  std::vector<PrefillChain> prefillers_;
  double deployments_ = 0.0;
  std::array<std::int64_t, kBroken> cut_{};
};

/// The greatest batch and chunk that is searched.
inline constexpr std::int64_t kMostTokens = 1 << 16;

/// The choices of a side, defaults included.
RoleChoices choices_of(const Task& task, Side side);

/// True if the model, the network and the chips of its pool allow the degrees of each role.
bool has_room(const Task& task, const Deployment& deployment);

/// True if the pools have enough chips for both sides, and both sides have the same precision.
bool holds(const Task& task, const Role& prefill, const Role& decode);

/// The decisions that the choices, the pools, the model, its network or the framework do not allow.
/// `evaluate` checks the limits.
RuledOut ruled_out(const Task& task, const Deployment& deployment);

/// Numbers of replicas that an answer may have: x replicas prefill, at least `least_x`, and y
/// replicas decode, at least `least_y`.  The sum x * cost_x + y * cost_y is at most `most`, at most
/// x * most_x and at most y * most_y.  If x is 0, as for Aggregated, the limits on x do not apply.
struct CountWindow {
  double least_x = 0.0, least_y = 0.0;
  double cost_x = 0.0, cost_y = 1.0;
  double most = std::numeric_limits<double>::infinity();
  double most_x = std::numeric_limits<double>::infinity();
  double most_y = std::numeric_limits<double>::infinity();

  /// The least and the greatest y for this x.
  [[nodiscard]] std::pair<double, double> range_of_y(double x) const;
};

/// Deployments of a chain, alone or beside a chain that prefills, with batches of one interval of
/// each chain.  Refers to the space.
class DeploymentBox {
 public:
  /// All batches of chains that have some; `prefill` is null for Aggregated.
  DeploymentBox(const DeploymentSpace& space, const Chain& chain, const PrefillChain* prefill);

  [[nodiscard]] bool is_single() const { return low_ == high_ && first_ == last_; }
  [[nodiscard]] const Structure& decode() const { return chain_->decoder->structure(); }
  /// Null for Aggregated.
  [[nodiscard]] const Structure* prefill() const {
    return prefill_ ? &prefill_->prefiller->structure() : nullptr;
  }
  /// The figures at the least batches of both sides.
  [[nodiscard]] const Decoding& at_low() const { return at_low_; }
  [[nodiscard]] const Prefilling& at_first() const { return at_first_; }
  /// Bounds of all batches, for any number of replicas.
  [[nodiscard]] Decoding decoding() const { return chain_->decoder->between(at_low_, at_high_); }
  /// Bounds of all batches of `replicas` replicas.
  [[nodiscard]] Decoding decoding(std::int64_t replicas) const {
    const Decoder& decoder = *chain_->decoder;
    if (!decoder.is_loaded()) return decoding();
    const Decoding low = decoder.at(chain_->batches[low_], replicas);
    return low_ == high_ ? low : decoder.between(low, decoder.at(chain_->batches[high_], replicas));
  }
  /// Lower bounds on the time per token and on the time to the first token.
  [[nodiscard]] double least_tpot() const {
    const bool shared = chain_->decoder->is_loaded() || (prefill_ && space_->task().concurrency);
    return shared ? chain_->least_tpot : chain_->decoder->least_tpot(at_low_);
  }
  [[nodiscard]] double least_ttft() const {
    return chain_->decoder->is_loaded() ? chain_->least_ttft : chain_->decoder->least_ttft(at_low_);
  }
  [[nodiscard]] Prefilling prefilling() const {
    return prefill_ ? prefill_->prefiller->between(at_first_, at_last_) : Prefilling{};
  }
  /// The number of pairs of counts, including pairs that do not fit the pools.
  [[nodiscard]] double counts() const {
    const double before = prefill_ ? static_cast<double>(prefill_->replicas.size()) : 1.0;
    return before * static_cast<double>(chain_->replicas.size());
  }
  /// Calls `visit` with each pair of counts in a window (replicas that prefill, 0 for Aggregated,
  /// and replicas that decode), and with a bound on the figures of such deployments.  `window_of`
  /// is called anew for each number of replicas that prefill.
  template <class WindowOf, class Visit>
  void each_count(const WindowOf& window_of, const Visit& visit) const {
    const Decoding decoding = this->decoding();
    const Prefilling prefilling = this->prefilling();
    const bool is_loaded = chain_->decoder->is_loaded();
    const auto each_y = [&](std::int64_t x) {
      const CountWindow window = window_of();
      if (x > 0 && static_cast<double>(x) < window.least_x) return;
      const auto [least, most] = window.range_of_y(static_cast<double>(x));
      const std::vector<std::int64_t>& counts = chain_->replicas;
      auto y = std::partition_point(counts.begin(), counts.end(), [&, least = least](auto count) {
        return static_cast<double>(count) < least;
      });
      for (; y != counts.end() && static_cast<double>(*y) <= most; ++y) {
        if (x > 0 && !space_->holds(prefill_->role(first_, x), chain_->role(low_, *y))) break;
        visit(x, *y, figures(x, prefilling, *y, is_loaded ? this->decoding(*y) : decoding));
      }
    };
    if (!prefill_) return each_y(0);
    for (const std::int64_t x : prefill_->replicas) each_y(x);
  }
  /// The bound that `each_count` passes, for two counts.
  [[nodiscard]] Figures figures(std::int64_t prefillers, std::int64_t decoders) const {
    return figures(prefillers, prefilling(), decoders, decoding(decoders));
  }
  /// The first deployment of the box with these counts, in the order of ties.
  [[nodiscard]] Deployment deployment(std::int64_t prefillers, std::int64_t decoders) const;
  /// The box divided at the middle batch of the side whose times differ more: the lower batches,
  /// then the upper batches.  Requires that is_single() is false.
  [[nodiscard]] std::pair<DeploymentBox, DeploymentBox> halves() const;

 private:
  [[nodiscard]] Figures figures(std::int64_t prefillers, const Prefilling& prefilling,
                                std::int64_t decoders, const Decoding& decoding) const {
    const Task& task = space_->task();
    const Decoders after{*chain_->decoder, decoders, decoding};
    if (!prefill_) return aggregated(task, space_->means(), after);
    return disaggregated(task, space_->means(), {*prefill(), prefillers, prefilling}, after, move_);
  }

  const DeploymentSpace* space_;
  const Chain* chain_;
  const PrefillChain* prefill_;
  std::size_t low_ = 0, high_ = 0;  // batches that decode
  Decoding at_low_, at_high_;
  std::size_t first_ = 0, last_ = 0;  // batches that prefill
  Prefilling at_first_, at_last_;
  Handover move_;
};

}  // namespace dfsearch::serving
