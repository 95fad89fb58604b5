#pragma once
// What number of a config alone would have to change so that some plan fits.

#include "base/deadline.hpp"
#include "engine/training/find_plan.hpp"
#include "io/config/load_config.hpp"

namespace dfsearch {

/// Adds to what is known of a config of which no plan fits the memory, the chips, the sequence and
/// the batch with which some plan does: each the nearest to what is given that was found in a
/// second.
void find_enough_numbers(const TrainingConfig& config, const Deadline& deadline,
                         training::NearestMisfit& nearest);

}  // namespace dfsearch
