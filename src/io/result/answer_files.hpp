#pragma once
// Answers in files: results of a search, or YAML with their keys (docs/results.md,
// docs/serving.md).  The functions throw one InputError with all mistakes,
// `file:line:column: key: ...`.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "design/split_space.hpp"
#include "engine/serving/find_deployment.hpp"
#include "model/mapping.hpp"
#include "model/problem.hpp"
#include "model/ruled_out.hpp"

namespace dfsearch {

/// Thrown if the config fixes a decision and so rules the mapping out.
class RuledOutMapping : public InputError {
 public:
  using InputError::InputError;
};

/// Checks names and degrees against the problem; `evaluate` checks whether it fits.  The file may
/// omit the network, micro-batch and tile, if the config gives them, the sharding (then that of
/// least bytes), and cores.  Throws a RuledOutMapping if the only mistakes are such decisions.
Mapping load_mapping(const std::filesystem::path& file, const Problem& problem);
/// Reads a mapping from text; `name` is the file in messages.
Mapping parse_mapping(const std::string& text, const std::string& name, const Problem& problem);

/// The key `split` of a result, which has each share that the budget leaves open.  Returns nothing
/// and adds reasons if the search has no such split.
std::optional<GridPoint> load_split(const std::filesystem::path& file, const ChipDesign& design,
                                    RuledOut& reasons);

/// The `best` of a result, all points of its `front`, or a map with the keys of a deployment; at
/// least one.  Degrees that are left out are 1.
std::vector<serving::Deployment> load_deployments(const std::filesystem::path& file,
                                                  const serving::Task& task);
/// The `fleet` of a result, without figures.
std::vector<serving::FleetMember> load_fleet(const std::filesystem::path& file,
                                             const serving::Fleet& fleet);

}  // namespace dfsearch
