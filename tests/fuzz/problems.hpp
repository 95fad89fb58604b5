#pragma once
// The problems that mappings, checkpoints and solutions are read for.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "model/mapping.hpp"
#include "model/problem.hpp"

namespace dfsearch::fuzz {

inline constexpr std::array<std::string_view, 4> kProblems = {"given", "free", "training",
                                                              "copies"};

/// A problem (a config under problems/) and an optimal mapping of it.
struct Example {
  Problem problem;
  Mapping mapping;
};

/// The problem at this place of kProblems, read and solved once.
const Example& example(std::size_t number);

/// The problem that the first byte of an input chooses: a letter from `a` on in what
/// people write, any byte in what a fuzzer makes of it.
const Example& example_for(char first_byte);

/// What else it chooses: how many answers a search looks for, 3 from the fifth letter
/// on.
std::int64_t answers_for(char first_byte);

}  // namespace dfsearch::fuzz
