#pragma once
// What a tenth more of each quantity of the machine brings, exactly: the same question asked of
// other machines.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/solve/question.hpp"

namespace dfsearch {

struct WhatIfMore {
  std::string_view more;           ///< of which quantity
  std::optional<Score> objective;  ///< of the best answer found; nothing: none was
  bool is_proved = false;
};

/// Throws InputError for a machine that is derived from budgets and for deployments: their results
/// say what more of each brings.
void check_what_if(const AnyConfig& config);

/// One search for each quantity that counts in the config, with what is left of the limits and
/// without the listeners of the options.
std::vector<WhatIfMore> what_if(const AnyConfig& config, const SolveOptions& options);

/// A line for each quantity; `objective` is that of the answer.
std::string what_if_text(const std::vector<WhatIfMore>& rows, Score objective);
/// Adds them to a result as its last key, `what_if`.
void add_what_if(AnswerJson& answer, const std::vector<WhatIfMore>& rows);

}  // namespace dfsearch
