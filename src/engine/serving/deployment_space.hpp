#pragma once
// What a deployment may be: chains of batches of replicas that decode, and replicas that prefill.

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/deadline.hpp"
#include "model/serving/steady_state.hpp"

namespace dfsearch::serving {

/// Replicas of one structure, chunk and depth, at all batches that may keep those limits that only get
/// worse as the batch rises: the memory, the share of mixed iterations, the times.
struct Chain {
  std::unique_ptr<const Decoder> decoder;
  std::vector<std::int64_t> replicas;  ///< ascending
  std::vector<std::int64_t> batches;   ///< ascending
  Decoding at_first, at_last;          ///< both ends, if there are batches

  [[nodiscard]] Decoding at(std::size_t batch) const { return decoder->at(batches[batch]); }
  [[nodiscard]] Role role(std::size_t batch, std::int64_t count) const {
    return {.structure = decoder->structure(),
            .replicas = count,
            .chunk = decoder->chunk(),
            .batch = batches[batch],
            .depth = decoder->depth()};
  }
};

/// Replicas of one structure that prefill, at all batches that may keep the memory and the limits of
/// time.
struct PrefillChain {
  std::unique_ptr<const Prefiller> prefiller;
  std::vector<std::int64_t> replicas;  ///< ascending
  std::vector<std::int64_t> batches;   ///< ascending
  Prefilling at_first, at_last;        ///< both ends, if there are batches

  [[nodiscard]] Prefilling at(std::size_t batch) const { return prefiller->at(batches[batch]); }
  [[nodiscard]] Role role(std::size_t batch, std::int64_t count) const {
    return {.structure = prefiller->structure(), .replicas = count, .batch = batches[batch]};
  }
};

/// The choice of a role of the task: its own, else the one of all roles, else the preset.
DegreeChoice choice_of(const Task& task, const RoleChoices& role,
                       std::optional<DegreeChoice> RoleChoices::*key);

/// All that the choices of a task leave.  Refers to the task.
class DeploymentSpace {
 public:
  /// Throws Stopped.
  DeploymentSpace(const Task& task, const Deadline& deadline);

  [[nodiscard]] const Task& task() const { return task_; }
  [[nodiscard]] const Means& means() const { return means_; }
  [[nodiscard]] const std::vector<Chain>& aggregated() const { return aggregated_; }
  [[nodiscard]] const std::vector<PrefillChain>& prefillers() const { return prefillers_; }
  [[nodiscard]] const std::vector<Chain>& decoders() const { return decoders_; }
  /// Whether so many chips of these pools are there, and both are of one precision.
  [[nodiscard]] bool holds(const Role& prefill, const Role& decode) const;
  /// That the choices leave, before any limit.
  [[nodiscard]] double deployments() const { return deployments_; }
  /// How many batches of replicas each limit rules out.
  [[nodiscard]] const std::array<std::int64_t, kBroken>& cut() const { return cut_; }

 private:
  struct Structures;
  void add_chains(const std::vector<Structures>& structures, const RoleChoices& role,
                  const Deadline& deadline, std::vector<Chain>& chains);
  void add_prefillers(const std::vector<Structures>& structures, const Deadline& deadline);
  template <class AnyChain, class Breaks>
  void cut(AnyChain& chain, const std::vector<std::int64_t>& batches, const Breaks& breaks);
  [[nodiscard]] std::vector<Structures> structures_of(const RoleChoices& role,
                                                      const std::vector<std::int64_t>& chunks,
                                                      const std::vector<std::int64_t>& depths,
                                                      const Deadline& deadline) const;

  const Task& task_;
  const Means means_;
  std::vector<Chain> aggregated_, decoders_;
  std::vector<PrefillChain> prefillers_;
  double deployments_ = 0.0;
  std::array<std::int64_t, kBroken> cut_{};
};

}  // namespace dfsearch::serving
