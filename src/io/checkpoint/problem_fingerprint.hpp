#pragma once
// Fingerprints, which match a checkpoint or another file with its problem.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "io/text/yaml_tree.hpp"
#include "model/problem.hpp"
#include "technology/derive.hpp"

namespace dfsearch {

/// A hash for each section of a config.  It covers values, not their text, without limits and
/// threads.  Equal problems have equal hashes; different problems have equal ones with a
/// probability of 2^-64.
using Fingerprint = std::vector<std::pair<std::string, std::uint64_t>>;

Fingerprint fingerprint_of(const Problem& problem);
/// Fingerprint of the technology and budget that chips are derived from.
Fingerprint fingerprint_of(const ChipDesign& design);

/// A hash for each section except `search` of a config whose files are merged.  It covers keys and
/// values as written, but not the order of keys.  Configs with different hashes may still be the
/// same problem: `1 s` and `1000 ms`.
std::vector<std::pair<std::string, std::uint64_t>> fingerprint_of(const YamlNode& config);

}  // namespace dfsearch
