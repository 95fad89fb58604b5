#pragma once
// Checkpoints of a search as files.

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "design/split_space.hpp"
#include "engine/answer/search_state.hpp"
#include "engine/plan/step_search.hpp"
#include "io/text/yaml_tree.hpp"
#include "model/problem.hpp"
#include "technology/derive.hpp"

namespace dfsearch {

// Which problem a file belongs to.

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

/// The state as bytes, with the fingerprint of the problem.
std::string checkpoint_bytes(const Problem& problem, const SearchState& state);

/// Reads them back.  Throws InputError, naming the file, if they are no
/// checkpoint, damaged, of another version of dfsearch or of another problem.
SearchState load_checkpoint(const std::filesystem::path& file, const Problem& problem);
SearchState parse_checkpoint(const std::string& bytes, const std::string& name,
                             const Problem& problem);

/// Fingerprint of the problem and of the technology that its chips are derived from.
Fingerprint fingerprint_of(const Problem& problem, const ChipDesign& design);

/// The state as bytes.
std::string checkpoint_bytes(const Problem& problem, const ChipDesign& design,
                             const SplitState& state);

/// Reads them back; every box and split is within the grid.  Throws InputError, naming the file, if
/// they are no checkpoint, damaged, of another version of dfsearch or of another problem.
SplitState parse_checkpoint(const std::string& bytes, const std::string& name,
                            const Problem& problem, const ChipDesign& design);
SplitState load_checkpoint(const std::filesystem::path& file, const Problem& problem,
                           const ChipDesign& design);

/// The state as bytes; `problem` is the fingerprint of the config.
std::string checkpoint_bytes(const StepState& state, const Fingerprint& problem);

/// Reads them back.  Throws InputError, naming the file, if they are no checkpoint, damaged, of
/// another version of dfsearch or of another config.
StepState parse_step_checkpoint(const std::string& bytes, const std::string& name,
                                const Fingerprint& problem);
StepState load_step_checkpoint(const std::filesystem::path& file, const Fingerprint& problem);

}  // namespace dfsearch
