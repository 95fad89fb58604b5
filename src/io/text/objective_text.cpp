#include "io/text/objective_text.hpp"

#include "base/units_text.hpp"

namespace dfsearch {

std::string objective_text(Objective objective, Score score) {
  const double value = score.in_base_units();
  switch (objective) {
    case Objective::StepTime:
    case Objective::Bottleneck:
      break;
    case Objective::CostEfficiency:
      return to_text(DollarSeconds(value));
    case Objective::PowerEfficiency:
      return to_text(Joules(value));
  }
  return to_text(Seconds(value));
}

const char* worse_word(Objective objective) {
  return objective == Objective::StepTime ? "slower" : "worse";
}

}  // namespace dfsearch
