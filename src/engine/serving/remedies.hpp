#pragma once
// The reason why a task has no deployment, and for each limit a value with which it has one, all
// else unchanged.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/serving/find_deployment.hpp"
#include "engine/serving/incumbents.hpp"
#include "model/serving/task.hpp"

namespace dfsearch::serving {

/// The deployment with the least value of an objective, to the last bit; nothing if none keeps the
/// limits of the task.  Throws Stopped if the deadline comes before the proof.
using LeastOf = std::function<std::optional<Candidate>(const Task&, Objective)>;

/// Sets a limit; Broken::Memory scales the memory of all pools so that the largest has this value.
void put_limit(Task& task, Broken limit, double value);

/// Adds the remedies that are found before `least_of` throws.
void add_remedies(const Task& task, const LeastOf& least_of, std::vector<Remedy>& remedies);

/// Some rules that the choices break, each with its key and its numbers.  The space of the task has
/// no deployment.
std::string why_empty(const Task& task);

}  // namespace dfsearch::serving
