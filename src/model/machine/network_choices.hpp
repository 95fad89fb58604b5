#pragma once
// The ways to use the network: degrees and strategies of its dimensions.

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/deadline.hpp"
#include "model/mapping.hpp"
#include "model/problem.hpp"

namespace dfsearch {

using NetworkChoice = std::vector<Mapping::Dimension>;  ///< innermost first

/// The degree of each strategy over all dimensions; different networks may have
/// the same degrees.
struct Parallelism {
  std::int64_t tensor = 1;
  std::int64_t pipeline = 1;
  std::int64_t data = 1;

  friend auto operator<=>(const Parallelism&, const Parallelism&) = default;
};

Parallelism parallelism_of(const NetworkChoice& network);

/// All networks of the system's shape whose degrees have the number of chips as
/// product, with the degrees and strategies that the system gives and the
/// degrees that `parallelism` allows, such that the data degree (times the
/// micro-batch, if given) divides the global batch.  They ascend, which is the order
/// of ties.  Neighbouring rings that are equal and both free appear in one order only,
/// unless kernels use the whole machine, since the order then matters.
/// Throws Stopped.
std::vector<NetworkChoice> network_choices(const Problem& problem, const Deadline& deadline = {});

/// Throws InputError if there is none.
void require_network(const std::vector<NetworkChoice>& networks);

/// The strategy of a dimension, if the workload or the system decides it.
std::optional<Strategy> given_strategy(const Problem& problem, std::size_t dimension);

/// Whether a mapping may use this network: it has the shape of the system, and its
/// degrees and strategies are as given and as `parallelism` allows.
bool allows(const Problem& problem, const NetworkChoice& network);

}  // namespace dfsearch
