#pragma once
// The machine of a setup of DFModel and what it costs.

#include "io/dfmodel/complaints.hpp"
#include "model/machine/system.hpp"

namespace dfsearch {

// Of the schema, compiled by protoc.
namespace dfmodel {
class Cost;
class System;
}  // namespace dfmodel

void export_system(const System& system, dfmodel::System& setup, Complaints& complaints);
void export_cost(const System& system, dfmodel::Cost& setup, Complaints& complaints);

}  // namespace dfsearch
