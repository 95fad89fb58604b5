#pragma once
// Which problem a file belongs to.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "model/problem.hpp"
#include "technology/derive.hpp"

namespace dfsearch {

/// One number for each section of a config, made from its values, not from its
/// text; limits and threads are no part of it.  Problems with different numbers
/// are different; different problems have different numbers but for an accident
/// of 1 in 2^64.
using Fingerprint = std::vector<std::pair<std::string, std::uint64_t>>;

Fingerprint fingerprint_of(const Problem& problem);
/// Of what chips are derived from.
Fingerprint fingerprint_of(const ChipDesign& design);

}  // namespace dfsearch
