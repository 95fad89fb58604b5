#pragma once
// The gain from a tenth more of each quantity of the machine, exactly: the same question for other
// machines.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/solve/question.hpp"

namespace dfsearch {

struct WhatIfMore {
  std::string_view more;  ///< name of the raised quantity, or of the switch of software
  bool is_switch = false;
  std::optional<Score> objective;  ///< of the best answer found; nothing: none was
  bool is_proved = false;
};

/// Throws InputError for a machine that is derived from budgets and for deployments: their results
/// contain the gain from more of each.
void check_what_if(const AnyConfig& config);

/// Runs one search for each quantity that counts in the config, and for each other value of the
/// switches of its software, with the rest of the limits and without the listeners of the options.
std::vector<WhatIfMore> what_if(const AnyConfig& config, const SolveOptions& options);

/// A line for each quantity and switch; `objective` belongs to the answer.
std::string what_if_text(const std::vector<WhatIfMore>& rows, Score objective);
/// Adds the rows to a result as its last key, `what_if`.
void add_what_if(AnswerJson& answer, const std::vector<WhatIfMore>& rows);

}  // namespace dfsearch
