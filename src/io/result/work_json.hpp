#pragma once
// What a plan of training does for a micro-batch, part by part.

#include "io/text/json_text.hpp"
#include "model/training/evaluate.hpp"

namespace dfsearch {

/// The key `work` of a result (docs/results.md); null with a stack, whose exchanges are counted
/// otherwise.
Json work_json(const training::Task& task, const training::Plan& plan,
               const training::Fusions& fusions);

}  // namespace dfsearch
