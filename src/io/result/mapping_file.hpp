#pragma once
// Mapping files -> Mapping (docs/results.md).

#include <filesystem>
#include <string>

#include "base/error.hpp"
#include "model/mapping.hpp"
#include "model/problem.hpp"

namespace dfsearch {

/// The config rules the mapping out by a decision that it fixes.
class RuledOutMapping : public InputError {
 public:
  using InputError::InputError;
};

/// Reads a result (io/result/result_json.hpp), or YAML with the same keys, and checks
/// its names and degrees against the problem; whether it fits is the matter of
/// `evaluate`.  What may be left out: the network (that of the config), the
/// sharding (least bytes), micro-batch and tile if the config gives them, cores.
/// Throws one InputError with all that is wrong, `file:line:column: key: ...`, a RuledOutMapping if
/// that is all.
Mapping load_mapping(const std::filesystem::path& file, const Problem& problem);

/// The same from text; `name` stands for the file in messages.
Mapping parse_mapping(const std::string& text, const std::string& name, const Problem& problem);

}  // namespace dfsearch
