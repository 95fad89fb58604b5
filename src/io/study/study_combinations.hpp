#pragma once
// What involves several axes of a study: which walk together, what is left out, what both would set.

#include <string_view>

#include "io/study/study_file.hpp"
#include "io/text/input_messages.hpp"
#include "io/text/yaml_tree.hpp"

namespace dfsearch {

/// Reads `zip` and `except`, each null if it is not there, and gives every axis its dimension.
void read_combinations(const YamlEntry* zip, const YamlEntry* except, Study& study,
                       InputMessages& messages);

/// What a map of axes has, each with a label or a list of them; axes have their dimensions.  What is
/// wrong is reported of `key`.
study::Selection read_selection(const YamlNode& map, std::string_view key, const Study& study,
                                InputMessages& messages);

/// No two axes may set the same: it would depend on their order.
void check_keys(const Study& study, InputMessages& messages);

/// A study has at most 1e12 points, and at least one.
void check_count(const Study& study, const Place& place, InputMessages& messages);

}  // namespace dfsearch
