// A limit is taken away and the least of its quantity is looked for, which is enough and the least
// that is: all deployments that keep the other limits have no less of it.  Memory and requests in
// flight are such quantities as well.  A rate changes the waits, so there it is bisection.

#include "engine/serving/remedies.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "model/serving/steady_state.hpp"

namespace dfsearch::serving {
namespace {

constexpr double kNone = 0.0;

/// A limit, its value, how it is taken away, and the quantity that is then to be least.
struct Row {
  Broken limit;
  Objective objective;
  double (*given)(const Task&);
  void (*lift)(Task&);
};

double seconds(const std::optional<Seconds>& limit) {
  return limit ? limit->in_base_units() : kNone;
}

double most_memory(const Task& task) {
  double most = 0.0;
  for (const Pool& pool : task.pools) {
    most = std::max(most, pool.machine.memory[0].capacity.in_base_units());
  }
  return std::isfinite(most) ? most : kNone;
}

/// Changes all pools in proportion, the largest to this number of bytes.
void put_memory(Task& task, double bytes) {
  const double most = most_memory(task);
  for (Pool& pool : task.pools) {
    Bytes& capacity = pool.machine.memory[0].capacity;
    const double own = capacity.in_base_units();
    capacity = Bytes(own == most ? bytes : own / most * bytes);
  }
}

const Row kRows[] = {
    {Broken::Tpot, Objective::Interactivity, [](const Task& t) { return seconds(t.limits.tpot); },
     [](Task& t) { t.limits.tpot.reset(); }},
    {Broken::Ttft, Objective::Ttft, [](const Task& t) { return seconds(t.limits.ttft); },
     [](Task& t) { t.limits.ttft.reset(); }},
    {Broken::E2e, Objective::E2e, [](const Task& t) { return seconds(t.limits.e2e); },
     [](Task& t) { t.limits.e2e.reset(); }},
    {Broken::Cost, Objective::Cost, [](const Task& t) { return t.limits.cost.value_or(kNone); },
     [](Task& t) { t.limits.cost.reset(); }},
    // The loop stays closed.
    {Broken::Concurrency, Objective::InFlight,
     [](const Task& t) { return t.concurrency.value_or(kNone); },
     [](Task& t) { t.concurrency = std::numeric_limits<double>::max(); }}};

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
  double enough = std::floor(given * kMost * best->value);
  while (!fits(enough)) ++enough;
  while (fits(enough - 1.0)) --enough;
  if (enough <= given) return std::nullopt;  // the memory is not what is missing
  return Remedy{Broken::Memory, given, enough, best->deployment};
}

/// A rate that can be served, where one nearer to the given rate by a millionth cannot.
std::optional<Remedy> rate_remedy(const Task& task, const LeastOf& least_of) {
  constexpr double kPrecision = 1e-6;
  if (!task.rate) return std::nullopt;
  Task other = task;
  other.rate.reset();
  auto best = least_of(other, Objective::Throughput);
  if (!best) return std::nullopt;
  double served = best->figures.capacity, not_served = *task.rate;
  while (std::abs(served - not_served) > kPrecision * std::min(served, not_served)) {
    other.rate = std::sqrt(served) * std::sqrt(not_served);
    auto found = least_of(other, Objective::Chips);
    (found ? served : not_served) = *other.rate;
    if (found) best = std::move(found);
  }
  return Remedy{Broken::Rate, *task.rate, served, best->deployment};
}

}  // namespace

void add_remedies(const Task& task, const LeastOf& least_of, std::vector<Remedy>& remedies) {
  for (const Row& row : kRows) {
    const double given = row.given(task);
    if (given == kNone) continue;
    Task without = task;
    row.lift(without);
    const auto best = least_of(without, row.objective);
    // A queue without end is no remedy.
    if (!best || !std::isfinite(best->value)) continue;
    remedies.push_back({row.limit, given, best->value, best->deployment});
  }
  if (auto remedy = rate_remedy(task, least_of)) remedies.push_back(*remedy);
  if (auto remedy = memory_remedy(task, least_of)) remedies.push_back(*remedy);
}

}  // namespace dfsearch::serving
