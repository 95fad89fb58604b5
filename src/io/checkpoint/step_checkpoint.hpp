#pragma once
// Checkpoints of a search for whole steps: plans of training and Calculon's executions.

#include <filesystem>
#include <string>

#include "engine/plan/step_search.hpp"
#include "io/checkpoint/problem_fingerprint.hpp"

namespace dfsearch {

/// The state as bytes; `problem` is the fingerprint of the config.
std::string checkpoint_bytes(const StepState& state, const Fingerprint& problem);

/// Reads them back.  Throws InputError, naming the file, if they are no checkpoint, damaged, of
/// another version of dfsearch or of another config.
StepState parse_step_checkpoint(const std::string& bytes, const std::string& name,
                                const Fingerprint& problem);
StepState load_step_checkpoint(const std::filesystem::path& file, const Fingerprint& problem);

}  // namespace dfsearch
