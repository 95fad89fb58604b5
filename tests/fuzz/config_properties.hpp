#pragma once
// Properties of every config that loads.

#include "io/config/load_config.hpp"

namespace dfsearch::fuzz {

/// It can be described, and its graph reads back to the same workload from YAML and from JSON.
/// Throws Finding.
void check_config(const Config& config);

/// Checks that a short search for executions ends with a complete result; throws Finding otherwise.
void check_task(const calculon::Task& task);

/// Checks plans; a config that loads has some.
void check_task(const training::Task& task);

/// Checks deployments.
void check_task(const serving::Task& task);

}  // namespace dfsearch::fuzz
