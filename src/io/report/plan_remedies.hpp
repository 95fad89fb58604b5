#pragma once
// What would make some plan fit where none does.

#include <string>

#include "engine/training/find_plan.hpp"
#include "io/report/sheet.hpp"
#include "model/training/task.hpp"

namespace dfsearch {

/// The lines `what helps`, `no help` and `not tried` of a report.
Sheet plan_remedy_lines(const training::Task& task, const training::NearestMisfit& nearest);

}  // namespace dfsearch
