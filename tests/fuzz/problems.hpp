#pragma once
// The problems that mappings, checkpoints and solutions are read for.
//
// The first byte of an input chooses: a letter from `a` on in what people write, any
// byte in what a fuzzer makes of it.

#include <cstddef>
#include <cstdint>

#include "model/mapping.hpp"
#include "model/problem.hpp"

namespace dfsearch::fuzz {

inline constexpr std::size_t kProblems = 4;

/// A config under problems/, read once.
const Problem& problem_for(char first_byte);

/// An optimal mapping of it, searched once.
const Mapping& mapping_for(char first_byte);

/// How many answers a search looks for: 3 from the fifth letter on.
std::int64_t answers_for(char first_byte);

}  // namespace dfsearch::fuzz
