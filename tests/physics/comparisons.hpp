#pragma once
// Checks that compare two answers: more of anything is never slower, what is pinned is never
// faster than what is free, and what means nothing changes nothing.

#include <vector>

#include "physics/answer.hpp"

namespace dfsearch::test {

/// Never slower with more memory, bandwidth, SRAM, cores and so on.
const std::vector<NamedCheck>& growth_checks();
/// The best answer is no better than with its own decisions pinned, and none that is pinned to
/// something else is better.
const std::vector<NamedCheck>& pin_checks();
/// Configs that mean the same have the same best step.
const std::vector<NamedCheck>& neutral_checks();

}  // namespace dfsearch::test
