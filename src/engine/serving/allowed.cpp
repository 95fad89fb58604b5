#include "engine/serving/allowed.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "engine/serving/deployment_space.hpp"
#include "model/serving/framework.hpp"
#include "model/serving/pass.hpp"

namespace dfsearch::serving {
namespace {

using ChoiceOf = std::optional<DegreeChoice> RoleChoices::*;

/// A decision of a role, which is a number.
struct Decision {
  std::string_view key;
  ChoiceOf choice;
  std::int64_t (*value)(const Role&);
};
const Decision kDecisions[] = {
    {"tensor", &RoleChoices::tensor, [](const Role& r) { return r.structure.tensor; }},
    {"pipeline", &RoleChoices::pipeline, [](const Role& r) { return r.structure.pipeline; }},
    {"attention_data", &RoleChoices::attention_data,
     [](const Role& r) { return r.structure.attention_data; }},
    {"expert", &RoleChoices::expert, [](const Role& r) { return r.structure.expert; }},
    {"replicas", &RoleChoices::replicas, [](const Role& r) { return r.replicas; }},
    {"batch", &RoleChoices::batch, [](const Role& r) { return r.batch; }},
    {"chunk", &RoleChoices::chunk, [](const Role& r) { return r.chunk; }}};

/// Adds the reasons of one side; `where` is its key in a deployment with a dot, or empty.
void check_role(const Task& task, const Role& role, Side side, const std::string& where,
                RuledOut& reasons) {
  const RoleChoices choices = choices_of(task, side);
  for (const Decision& decision : kDecisions) {
    const std::int64_t value = decision.value(role);
    check_choice(where + std::string(decision.key), *(choices.*decision.choice), value, reasons);
    const bool is_tokens =
        decision.choice == &RoleChoices::batch || decision.choice == &RoleChoices::chunk;
    if (is_tokens && value > kMostTokens) {
      reasons.push_back(fmt::format("{}{}: expected at most {}, got {}", where, decision.key,
                                    kMostTokens, value));
    }
  }
  if (side != Side::Prefill) {
    check_choice(where + "depth", {.values = task.speculation.depths, .least = 0}, role.depth,
                 reasons);
  }
  const Structure& s = role.structure;
  const Pool& pool = task.pools[s.pool];
  // The product is real, since it may leave 64 bits.
  const double chips =
      real(s.tensor) * real(s.pipeline) * real(s.attention_data) * real(role.replicas);
  if (chips > real(pool.chips)) {
    reasons.push_back(
        fmt::format("{}pool: needs {:.0f} chips, the pool has {}", where, chips, pool.chips));
  } else if (!has_room(task, role)) {
    reasons.push_back(where + "tensor: the model or the network has no room for such degrees");
  } else if (task.framework) {
    for (const std::string_view lack : lacks(*task.framework, role, task.speculation.kind)) {
      reasons.push_back(fmt::format("{}{} does not run it: {}", side == Side::Prefill ? where : "",
                                    name_of(*task.framework), lack));
    }
  }
}

}  // namespace

RoleChoices choices_of(const Task& task, Side side) {
  const RoleChoices& own = side == Side::Aggregated ? task.aggregated
                           : side == Side::Prefill  ? task.prefill
                                                    : task.decode;
  RoleChoices choices;
  for (const Decision& decision : kDecisions) {
    choices.*decision.choice = choice_of(task, own, decision.choice);
  }
  if (side != Side::Aggregated) choices.chunk = DegreeChoice{.values = {0}, .least = 0};
  return choices;
}

bool has_room(const Task& task, const Deployment& deployment) {
  return has_room(task, deployment.decode) &&
         (deployment.mode == Mode::Aggregated || has_room(task, deployment.prefill));
}

bool holds(const Task& task, const Role& prefill, const Role& decode) {
  if (prefill.structure.precision != decode.structure.precision) return false;
  const std::int64_t first = task.pools[prefill.structure.pool].chips;
  const std::int64_t second = task.pools[decode.structure.pool].chips;
  if (prefill.structure.pool == decode.structure.pool) {
    return prefill.chips() + decode.chips() <= first;
  }
  return prefill.chips() <= first && decode.chips() <= second;
}

RuledOut ruled_out(const Task& task, const Deployment& deployment) {
  RuledOut reasons;
  const auto& modes = task.modes;
  if (std::find(modes.begin(), modes.end(), deployment.mode) == modes.end()) {
    add_reason("mode", name_of(modes.front()), name_of(deployment.mode), reasons);
  }
  const Role& prefill = deployment.prefill;
  const Role& decode = deployment.decode;
  if (deployment.mode == Mode::Aggregated) {
    check_role(task, decode, Side::Aggregated, "", reasons);
    return reasons;
  }
  check_role(task, prefill, Side::Prefill, "prefill.", reasons);
  check_role(task, decode, Side::Decode, "decode.", reasons);
  if (reasons.empty() && !holds(task, prefill, decode)) {
    reasons.push_back(
        fmt::format("pool: prefill and decode together need {} chips, the pool has {}",
                    prefill.chips() + decode.chips(), task.pools[decode.structure.pool].chips));
  }
  return reasons;
}

}  // namespace dfsearch::serving
