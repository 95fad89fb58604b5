#pragma once
// What holds of every config that loads.

#include "io/config/load_config.hpp"

namespace dfsearch::fuzz {

/// It can be described, and its graph reads back to the same workload from YAML and from JSON.
/// Throws Finding.
void check_config(const Config& config);

/// A short search for executions ends, and what it finds is whole; Finding otherwise.
void check_task(const calculon::Task& task);

/// The same of plans, of which a config that loads has some.
void check_task(const training::Task& task);

/// The same of deployments.
void check_task(const serving::Task& task);

}  // namespace dfsearch::fuzz
