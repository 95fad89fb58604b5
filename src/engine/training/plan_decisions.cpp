#include "engine/training/plan_decisions.hpp"

#include <cstdint>

namespace dfsearch::training {
namespace {

constexpr std::int64_t kPlaceDigits = kRoles.size() + 1;
constexpr std::int64_t kFills = kMeshFills.size();
constexpr std::size_t kDimensionDecisions = kRoles.size() + 1;

/// The place of a division on a mesh as digits: the roles from the outermost to the innermost, and
/// the fill of the mesh last; 0 without a mesh.
std::int64_t place_number(const Division& division) {
  std::int64_t number = 0;
  for (auto role = division.order.rbegin(); role != division.order.rend(); ++role) {
    number = number * kPlaceDigits + static_cast<std::int64_t>(*role) + 1;
  }
  return kFills * number + static_cast<std::int64_t>(division.fill);
}

void set_place(std::int64_t number, Division& division) {
  division.fill = static_cast<MeshFill>(number % kFills);
  for (number /= kFills; number > 0; number /= kPlaceDigits) {
    const std::int64_t digit = number % kPlaceDigits;
    if (digit > 0) division.order.push_back(static_cast<Role>(digit - 1));
  }
}

}  // namespace

Decisions first_of(const Plan& plan, std::size_t count) {
  Decisions decisions = decisions_of(plan);
  decisions.resize(count);
  return decisions;
}

Decisions decisions_of(const Plan& plan) {
  Decisions decisions;
  decisions.reserve(shape_decisions() + plan.layers.size() +
                    kDimensionDecisions * plan.network.size());
  for (const Role role : kRoles) decisions.push_back(plan.degrees[role]);
  decisions.push_back(plan.micro_batch);
  for (const Decision& decision : training::decisions()) decisions.push_back(decision.get(plan));
  decisions.insert(decisions.end(), plan.layers.begin(), plan.layers.end());
  for (const Division& dimension : plan.network) {
    for (const Role role : kRoles) decisions.push_back(dimension[role]);
    decisions.push_back(place_number(dimension));
  }
  return decisions;
}

Plan plan_of(const Decisions& decisions, const Task& task) {
  Plan plan;
  std::size_t next = 0;
  const auto take = [&](auto value) {
    using Value = decltype(value);
    return next < decisions.size() ? static_cast<Value>(decisions[next++]) : value;
  };
  for (const Role role : kRoles) plan.degrees[role] = take(plan.degrees[role]);
  plan.micro_batch = take(plan.micro_batch);
  for (const Decision& decision : training::decisions()) {
    decision.set(plan, take(decision.get(plan)));
  }
  if (next == decisions.size()) return plan;
  const std::size_t dimensions = task.machine.network.size();
  const std::size_t of_network = kDimensionDecisions * dimensions;
  while (next + of_network < decisions.size()) plan.layers.push_back(decisions[next++]);
  plan.network.resize(dimensions);
  for (Division& dimension : plan.network) {
    for (const Role role : kRoles) dimension[role] = take(dimension[role]);
    set_place(take(std::int64_t{}), dimension);
  }
  return plan;
}

}  // namespace dfsearch::training
