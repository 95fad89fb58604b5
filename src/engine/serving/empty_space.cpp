// Lists the reasons why no deployment is legal: it draws some values of each choice, and the first
// rule that a combination breaks is a reason.

#include "engine/serving/empty_space.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/serving/deployment_space.hpp"
#include "model/serving/framework.hpp"

namespace dfsearch::serving {
namespace {

constexpr std::size_t kMostReasons = 3;

/// The first values that a choice leaves; an open one leaves 1, which fits best.
std::vector<std::int64_t> some_of(const DegreeChoice& choice) {
  constexpr std::int64_t kSome = 8;
  std::vector<std::int64_t> values = choice.values;
  if (values.empty() && choice.least == 1) return {1};
  if (values.empty()) {
    for (std::int64_t i = choice.least; i <= choice.most && i < choice.least + kSome; ++i) {
      values.push_back(i);
    }
  }
  if (values.size() > kSome) values.resize(kSome);
  return values;
}

/// Empty: it is a replica of the space.
std::string why_not(const Task& task, const Role& role) {
  const Structure& s = role.structure;
  const Pool& pool = task.pools[s.pool];
  for (const auto& [key, degree] :
       {std::pair("tensor", s.tensor), std::pair("pipeline", s.pipeline),
        std::pair("attention_data", s.attention_data), std::pair("expert", s.expert)}) {
    if (degree <= pool.chips) continue;
    return fmt::format("{}: {} is more than the chips of pool {}, {}", key, degree, pool.name,
                       pool.chips);
  }
  std::string text = misfit(task, s);
  if (!text.empty()) return text;
  // Reals hold the product, which may leave 64 bits.
  const double chips =
      real(s.tensor) * real(s.pipeline) * real(s.attention_data) * real(role.replicas);
  if (chips > real(pool.chips)) {
    return fmt::format(
        "tensor {}, pipeline {}, attention_data {} and replicas {} need {:.0f} chips, "
        "pool {} has {}",
        s.tensor, s.pipeline, s.attention_data, role.replicas, chips, pool.name, pool.chips);
  }
  if (!runs(task, role)) {
    return fmt::format("{}: {}", name_of(*task.framework),
                       lacks(*task.framework, role, task.speculation.kind).front());
  }
  return "";
}

/// Adds the reasons of a role; false: it has replicas.
bool add_reasons(const Task& task, const RoleChoices& choices, bool aggregates, bool decodes,
                 std::vector<std::string>& reasons) {
  using R = RoleChoices;
  const auto some = [&](auto key) { return some_of(choice_of(task, choices, key)); };
  const auto tensors = some(&R::tensor), pipelines = some(&R::pipeline),
             ranks = some(&R::attention_data), experts = some(&R::expert),
             counts = some(&R::replicas);
  const auto chunks = aggregates ? some(&R::chunk) : std::vector<std::int64_t>{0};
  const auto depths = decodes ? task.speculation.depths : std::vector<std::int64_t>{0};
  Role role;
  Structure& s = role.structure;
  const auto is_replica = [&] {
    for (const std::int64_t chunk : chunks) {
      for (const std::int64_t depth : depths) {
        role.chunk = chunk;
        role.depth = depth;
        const std::string reason = why_not(task, role);
        if (reason.empty()) return true;
        const bool known = std::find(reasons.begin(), reasons.end(), reason) != reasons.end();
        if (!known && reasons.size() < kMostReasons) reasons.push_back(reason);
      }
    }
    return false;
  };
  for (s.pool = 0; s.pool < task.pools.size(); ++s.pool) {
    for (std::int64_t t : tensors) {
      s.tensor = t;
      for (std::int64_t p : pipelines) {
        s.pipeline = p;
        for (std::int64_t d : ranks) {
          s.attention_data = d;
          for (std::int64_t e : experts) {
            s.expert = e;
            for (std::int64_t r : counts) {
              role.replicas = r;
              if (is_replica()) return false;
            }
          }
        }
      }
    }
  }
  return true;
}

}  // namespace

std::string why_empty(const Task& task) {
  std::vector<std::string> reasons;
  for (const Mode mode : task.modes) {
    if (mode == Mode::Aggregated) {
      add_reasons(task, task.aggregated, true, true, reasons);
      continue;
    }
    const bool prefills = !add_reasons(task, task.prefill, false, false, reasons);
    const bool decodes = !add_reasons(task, task.decode, false, true, reasons);
    if (prefills && decodes && reasons.size() < kMostReasons) {
      reasons.emplace_back(
          "replicas that prefill and replicas that decode do not fit the chips "
          "of the pools together");
    }
  }
  return fmt::format("{}", fmt::join(reasons, "; "));
}

}  // namespace dfsearch::serving
