#pragma once
// A rule for deployments: by it the search lists them, and a given one is judged.

#include <cstdint>

#include "model/ruled_out.hpp"
#include "model/serving/deployment.hpp"

namespace dfsearch::serving {

/// The greatest batch and chunk that is searched.
inline constexpr std::int64_t kMostTokens = 1 << 16;

enum class Side : std::uint8_t { Aggregated, Prefill, Decode };

/// The choices of a side, every one with a value.
RoleChoices choices_of(const Task& task, Side side);

/// True if the model, the network and the chips of its pool have room for each role.
bool has_room(const Task& task, const Deployment& deployment);

/// True if the pools have enough chips for both sides, and both have one precision.
bool holds(const Task& task, const Role& prefill, const Role& decode);

/// The decisions that the choices, the pools, the model, its network or the framework do not allow.
/// Limits are left to `evaluate` of the model.
RuledOut ruled_out(const Task& task, const Deployment& deployment);

}  // namespace dfsearch::serving
