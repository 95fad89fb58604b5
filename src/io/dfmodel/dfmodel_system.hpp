#pragma once
// The machine of a DFModel setup: the messages `system` and `cost`.

#include <cstdint>
#include <string>

#include "base/words.hpp"
#include "io/dfmodel/dfmodel_text.hpp"
#include "model/machine/topology.hpp"

namespace dfsearch {

/// The topologies that DFModel has, as names of its networks call them: r_sw_sw.
inline constexpr auto kSetupTopologies = named<Topology>(
    {{"r", Topology::Ring}, {"fc", Topology::FullyConnected}, {"sw", Topology::Switch}});

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
