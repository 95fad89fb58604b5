#pragma once
// The objective of a search, for people.

#include <string>

#include "base/units.hpp"
#include "model/problem.hpp"

namespace dfsearch {

/// "78.99 s", "1.403 G$ s", "40.39 MJ".
std::string objective_text(Objective objective, Score score);

/// The word for a mapping that is not the best: "slower" or "worse".
const char* worse_word(Objective objective);

}  // namespace dfsearch
