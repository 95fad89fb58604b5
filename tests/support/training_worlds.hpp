#pragma once
// Training steps for tests: published models on machines of any size, and small random worlds.

#include <cstdint>

#include "model/training/task.hpp"

namespace dfsearch::test {

/// Shapes as they are published.
Transformer llama3_8b();
Transformer llama3_70b();
Transformer llama3_405b();
Transformer mixtral_8x7b();
Transformer deepseek_v3();
/// Of Megatron: hidden, heads, layers; the rest follows.
Transformer megatron(std::int64_t hidden, std::int64_t heads, std::int64_t layers);

/// A step of the model on chips with plenty of memory, a dimension of 8 and one for the rest.
training::Task training_task(const Transformer& model, std::int64_t sequence, std::int64_t chips);

/// A small model, machine and batch with a few hundred plans at most, and choices that may leave
/// none.  The same for the same seed on every machine.
training::Task random_training_task(std::uint64_t seed);

}  // namespace dfsearch::test
