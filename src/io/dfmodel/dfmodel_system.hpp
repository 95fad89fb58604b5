#pragma once
// The machine of a DFModel setup: the messages `system` and `cost`.

#include <cstdint>
#include <string>

#include "io/dfmodel/dfmodel_text.hpp"

namespace dfsearch {

struct SetupSystem {
  std::string yaml;  ///< the section `system:`
  std::size_t dimensions = 0;
  std::int64_t chips = 1;
  std::int64_t data_degree = 1;  ///< as far as it is given
};

/// `copies`: of the workload on the machine; DFModel's degrees are those of one.
SetupSystem read_setup_system(const SetupNode& section, std::int64_t copies);

/// The sections `price:` and `power:` for a network of so many dimensions.
std::string setup_cost_yaml(const SetupNode& cost, std::size_t dimensions);

}  // namespace dfsearch
