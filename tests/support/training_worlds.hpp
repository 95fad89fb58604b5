#pragma once
// Training steps for tests: any model on machines of any size, and small random worlds.

#include <array>
#include <cstdint>

#include "model/training/task.hpp"

namespace dfsearch::test {

/// The values that plans without a stack may compute again.
inline constexpr std::array kRecomputes = {
    training::Recompute::None, training::Recompute::Selective, training::Recompute::Full};

/// A step of the model on chips with plenty of memory, a dimension of 8 and one for the rest.
training::Task training_task(const Transformer& model, std::int64_t sequence, std::int64_t chips);

/// A small model, machine and batch with a few hundred plans at most, and choices that may leave
/// none.  The same for the same seed on every machine.
training::Task random_training_task(std::uint64_t seed);
/// A random task whose chips, or all but a switch outside, are on a mesh or torus.
training::Task random_task_on_mesh(std::uint64_t seed);

/// A chip and software with every kind of constant, of round numbers.
stack::Setup round_setup();
/// A random task with a stack that is small enough for its memory and links to matter.
training::Task random_task_with_stack(std::uint64_t seed);

}  // namespace dfsearch::test
