#pragma once
// Machines and transformers of published runs of Calculon, and small random worlds.

#include <cstdint>
#include <string>

#include "model/calculon/execution.hpp"

namespace dfsearch::test {

/// "A": A100 with 80 GiB, "H": H100; both with a second memory and groups of 8 chips.
Machine calculon_machine(char name, std::int64_t chips);

/// "22B", "175B", "530B" or "1T".
calculon::ModelShape megatron(const std::string& name);

/// A transformer and a machine.
struct CalculonWorld {
  calculon::ModelShape transformer;
  Machine machine;
};

/// At most 64 chips, at most 12 layers; memories of about the size that executions need.
CalculonWorld random_calculon_world(std::uint32_t seed);

}  // namespace dfsearch::test
