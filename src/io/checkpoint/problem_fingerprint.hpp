#pragma once
// Which problem a file belongs to.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "io/text/yaml_tree.hpp"
#include "model/problem.hpp"
#include "technology/derive.hpp"

namespace dfsearch {

/// One number for each section of a config, made from its values, not from its text; limits and
/// threads are no part of it.  Problems with different numbers are different; different problems
/// have different numbers, except with a probability of 2^-64.
using Fingerprint = std::vector<std::pair<std::string, std::uint64_t>>;

Fingerprint fingerprint_of(const Problem& problem);
/// Fingerprint of the technology and budget that chips are derived from.
Fingerprint fingerprint_of(const ChipDesign& design);

/// One number for each section of a config whose files are in it, made from keys and values as they
/// are written; the order of keys makes no difference, and `search`, which has limits alone, is no
/// part of it.  Configs with different numbers may still be the same question: `1 s` and `1000 ms`.
std::vector<std::pair<std::string, std::uint64_t>> fingerprint_of(const YamlNode& config);

}  // namespace dfsearch
