#include "engine/serving/remedies.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/serving/deployment_space.hpp"
#include "model/serving/framework.hpp"
#include "model/serving/steady_state.hpp"

// For each limit, a search without it minimises the quantity that it limits.  The minimum is the
// least sufficient value of the limit, as no deployment that keeps the other limits has less.  This
// holds for memory as well.  A rate changes the waiting times, so a rate that can be served is
// found by bisection.

namespace dfsearch::serving {

namespace {

constexpr double kNone = 0.0;

/// A limit, the objective that stands for its quantity, and functions to read and to set its value.
struct Row {
  Broken limit;
  Objective objective;
  double (*given)(const Task&);
  void (*put)(Task&, std::optional<double>);
};

/// The row of a limit of time.
template <std::optional<Seconds> Limits::*kLimit>
constexpr Row time_row(Broken limit, Objective objective) {
  return {limit, objective,
          [](const Task& t) {
            const auto& given = t.limits.*kLimit;
            return given ? given->in_base_units() : kNone;
          },
          [](Task& t, std::optional<double> value) {
            t.limits.*kLimit = value ? std::optional(Seconds(*value)) : std::nullopt;
          }};
}

double most_memory(const Task& task) {
  double most = 0.0;
  for (const Pool& pool : task.pools) {
    most = std::max(most, pool.machine.memory[0].capacity.in_base_units());
  }
  return std::isfinite(most) ? most : kNone;
}

/// Scales the memory of all pools so that the largest has this number of bytes.
void put_memory(Task& task, double bytes) {
  const double most = most_memory(task);
  for (Pool& pool : task.pools) {
    Bytes& capacity = pool.machine.memory[0].capacity;
    const double own = capacity.in_base_units();
    capacity = Bytes(own == most ? bytes : own / most * bytes);
  }
}

const Row kRows[] = {
    time_row<&Limits::tpot>(Broken::Tpot, Objective::Interactivity),
    time_row<&Limits::ttft>(Broken::Ttft, Objective::Ttft),
    time_row<&Limits::e2e>(Broken::E2e, Objective::E2e),
    {Broken::Cost, Objective::Cost, [](const Task& t) { return t.limits.cost.value_or(kNone); },
     [](Task& t, std::optional<double> value) { t.limits.cost = value; }}};

/// The least memory in whole bytes.
std::optional<Remedy> memory_remedy(const Task& task, const LeastOf& least_of) {
  constexpr double kMost = 1024.0;
  const double given = most_memory(task);
  if (given == kNone) return std::nullopt;
  Task larger = task;
  put_memory(larger, given * kMost);
  const auto best = least_of(larger, Objective::Fullness);
  if (!best) return std::nullopt;
  const auto fits = [&](double bytes) {
    Task with = task;
    put_memory(with, bytes);
    return !evaluate(with, best->deployment).broken.has(Broken::Memory);
  };
  // A server may reserve parts of the memory that do not grow with it.
  double enough = std::floor(given * kMost * best->value), less = enough;
  for (double step = 1.0; !fits(enough); step *= 2.0) {
    less = enough;
    enough += step;
  }
  for (double step = 1.0; less == enough; step *= 2.0) {
    if (fits(enough - step)) {
      enough -= step;
      less = enough;
    } else {
      less = enough - step;
    }
  }
  while (enough - less > 1.0) {
    const double middle = std::floor((less + enough) / 2.0);
    (fits(middle) ? enough : less) = middle;
  }
  if (enough <= given) return std::nullopt;  // the memory suffices
  return Remedy{Broken::Memory, given, enough, best->deployment};
}

/// A rate that can be served; a rate that is closer to the given one by a millionth cannot be
/// served.
std::optional<Remedy> rate_remedy(const Task& task, const LeastOf& least_of) {
  constexpr double kPrecision = 1e-6;
  if (!task.rate) return std::nullopt;
  Task other = task;
  other.rate.reset();
  auto best = least_of(other, Objective::Throughput);
  if (!best) return std::nullopt;
  double served = best->figures.capacity, not_served = *task.rate;
  // If requests arrive at random, the queue may be infinite at the capacity of a closed loop.
  const auto serves = [&](double rate) {
    other.rate = rate;
    const bool waits = task.objective == Objective::Ttft || task.objective == Objective::E2e;
    const auto found = least_of(other, waits ? task.objective : Objective::Chips);
    if (found) best = found;
    return found.has_value();
  };
  constexpr double kLeast = 1e-2, kStep = 0.8;
  for (const double most = served; !serves(served); served *= kStep) {
    if (served < kLeast * most) return std::nullopt;
  }
  while (std::abs(served - not_served) > kPrecision * std::min(served, not_served)) {
    const double middle = std::sqrt(served) * std::sqrt(not_served);
    (serves(middle) ? served : not_served) = middle;
  }
  return Remedy{Broken::Rate, *task.rate, served, best->deployment};
}

}  // namespace

void put_limit(Task& task, Broken limit, double value) {
  if (limit == Broken::Memory) put_memory(task, value);
  for (const Row& row : kRows) {
    if (row.limit == limit) row.put(task, value);
  }
}

void add_remedies(const Task& task, const LeastOf& least_of, std::vector<Remedy>& remedies) {
  for (const Row& row : kRows) {
    const double given = row.given(task);
    if (given == kNone) continue;
    Task without = task;
    row.put(without, std::nullopt);
    const auto best = least_of(without, row.objective);
    // A deployment with an infinite queue is no remedy.
    const auto ends = [&](Objective objective) {
      return std::isfinite(value_of(objective, task.front, best->figures));
    };
    if (!best || !ends(row.objective) || !ends(task.objective)) continue;
    remedies.push_back({row.limit, given, best->value, best->deployment});
  }
  if (auto remedy = rate_remedy(task, least_of)) remedies.push_back(*remedy);
  if (auto remedy = memory_remedy(task, least_of)) remedies.push_back(*remedy);
}

// Lists the reasons why no deployment is legal: it draws some values of each choice, and the first
// rule that a combination breaks is a reason.

namespace {

constexpr std::size_t kMostReasons = 3;

/// The first values that a choice leaves; an open choice leaves 1, which fits best.
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

/// The rule that excludes the role from the space; empty if none does.
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
                       unsupported_features(*task.framework, role, task.speculation.kind).front());
  }
  return "";
}

/// Adds the reasons why a role has no replicas; returns false if it has some.
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
              for (const std::int64_t parts : task.sub_batches) {
                s.sub_batches = parts;
                if (is_replica()) return false;
              }
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
