#pragma once
// A deployment and its figures.

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>

#include "model/serving/task.hpp"

namespace dfsearch::serving {

constexpr double real(std::int64_t count) { return static_cast<double>(count); }

/// Functions that never fall in exact arithmetic may fall by this share by rounding: they are sums
/// of at most some hundred terms, each rounded to one part in 2^53.
inline constexpr double kRounding = 1e-12;

/// The division of the model over the `chips()` chips of a replica.
struct Structure {
  std::size_t pool = 0;
  std::int64_t tensor = 1;
  std::int64_t pipeline = 1;
  std::int64_t attention_data = 1;  ///< ranks of `tensor` chips with requests of their own
  std::int64_t expert = 1;          ///< ways that experts are spread over the chips of a stage
  std::size_t precision = 0;        ///< index into the precisions of the task, equal for both sides
  std::int64_t redundant_experts = 0;  ///< additional copies of experts
  std::int64_t sub_batches = 1;        ///< 2: one computes while the other is on the network

  [[nodiscard]] std::int64_t stage_chips() const { return tensor * attention_data; }
  [[nodiscard]] std::int64_t chips() const { return stage_chips() * pipeline; }
  friend auto operator<=>(const Structure&, const Structure&) = default;
};

/// Equal replicas that serve one role.
struct Role {
  Structure structure;
  std::int64_t replicas = 1;
  std::int64_t chunk = 0;  ///< tokens of prefill in a mixed iteration, for Aggregated
  std::int64_t batch = 1;  ///< requests of each rank and micro-batch
  std::int64_t depth = 0;  ///< drafted levels, for roles that decode

  [[nodiscard]] std::int64_t chips() const { return replicas * structure.chips(); }
  friend auto operator<=>(const Role&, const Role&) = default;
};

/// Deployments compare in the order of preference among equally good ones.
struct Deployment {
  Mode mode = Mode::Aggregated;
  Role prefill;  ///< for Disaggregated
  Role decode;   ///< all replicas for Aggregated

  friend auto operator<=>(const Deployment&, const Deployment&) = default;
};

/// The limits that a deployment may break.
enum class Broken : std::uint8_t { Prefill, Rate, Memory, Tpot, Ttft, E2e, Cost };
inline constexpr std::size_t kBroken = 7;
constexpr auto words(Broken) {
  return named<Broken>("prefill", "rate", "memory", "tpot", "ttft", "e2e", "cost");
}

/// Limits, in the order in which they were found to be broken.
class BrokenLimits {
 public:
  void add(Broken limit) { limits_[count_++] = limit; }
  [[nodiscard]] bool empty() const { return count_ == 0; }
  [[nodiscard]] const Broken* begin() const { return limits_.data(); }
  [[nodiscard]] const Broken* end() const { return limits_.data() + count_; }
  [[nodiscard]] bool has(Broken limit) const { return std::find(begin(), end(), limit) != end(); }
  friend bool operator==(const BrokenLimits&, const BrokenLimits&) = default;

 private:
  std::array<Broken, kBroken> limits_{};
  std::size_t count_ = 0;
};

/// Times in seconds, sizes in bytes, rates a second; figures of the other mode are 0.
struct Figures {
  double ttft = 0.0;
  double ttft_99 = 0.0;  ///< approximate TTFT of the 99th percentile; only `evaluate` computes it
  double tpot = 0.0;
  double e2e = 0.0;
  double iteration = 0.0;        ///< time of a pass through all stages, without prefill
  double mixed_iteration = 0.0;  ///< the same with a chunk of prefill
  double mixed_share = 0.0;
  double tokens_per_step = 1.0;  ///< tokens that a pass with speculation yields
  double prefill_pass = 0.0;
  double prefill_capacity = 0.0;
  double decode_capacity = 0.0;
  double transfer_capacity = 0.0;
  double transfer = 0.0;  ///< time to send a cache from pool to pool
  double capacity = 0.0;
  double requests_per_s = 0.0;  ///< the capacity, or the requested rate
  double in_flight = 0.0;
  double running = 0.0;   ///< requests of a micro-batch that decode in an iteration without prefill
  double makespan = 0.0;  ///< of a job: until its last request is answered
  double memory = 0.0;    ///< of the fullest chip that decodes
  double memory_prefill = 0.0;
  double fullness = 0.0;  ///< memory of the fullest chip / usable memory
  std::int64_t chips = 0;
  double tokens_per_s = 0.0;
  double dollars_per_mtoken = 0.0;
  double dollars_per_mtoken_total = 0.0;  ///< of input and output
  double joule_per_token = 0.0;
  double edp = 0.0;     ///< joules of a request times its time end to end
  Energy energy;        ///< for a token, in pools whose energies count; has their lowest clock
  BrokenLimits broken;  ///< empty if the deployment is feasible

  [[nodiscard]] double tokens_per_s_per_chip() const {
    return tokens_per_s / static_cast<double>(chips);
  }
  [[nodiscard]] double tokens_per_s_per_user() const { return 1.0 / tpot; }
  [[nodiscard]] bool feasible() const { return broken.empty(); }
};

/// Whether a time breaks a limit.
inline bool above(double seconds, const std::optional<Seconds>& limit) {
  return limit && seconds > limit->in_base_units();
}

/// The value of the objective for these figures, above 0.  Less is better, so a rate counts as
/// seconds for each token.
double value_of(Objective objective, FrontAxis axis, const Figures& figures);

}  // namespace dfsearch::serving
