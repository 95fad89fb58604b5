#pragma once
// The machine of a setup of DFModel and what it costs.

#include "io/dfmodel/complaints.hpp"
#include "model/machine/machine.hpp"

namespace dfsearch {

// Of the schema, compiled by protoc.
namespace dfmodel {
class Cost;
class System;
}  // namespace dfmodel

void export_system(const Machine& system, dfmodel::System& setup, Complaints& complaints);
void export_cost(const Machine& system, dfmodel::Cost& setup, Complaints& complaints);

}  // namespace dfsearch
