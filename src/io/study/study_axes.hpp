#pragma once
// The section `axes` of a study, each axis by itself.

#include <string>
#include <vector>

#include "io/study/study_file.hpp"
#include "io/text/input_messages.hpp"
#include "io/text/yaml_tree.hpp"

namespace dfsearch {

/// Adds the axes to those of the study.  What is wrong goes to the messages.
void read_study_axes(const YamlEntry& section, Study& study, InputMessages& messages);

/// What a map like {system.memory.bandwidth: 100 GB/s} sets; `owner` names it in messages.
std::vector<Override> read_changes(const YamlEntry& section, const std::string& owner,
                                   InputMessages& messages);

/// Labels are few enough, different, and such that options and lines of text may hold them.
void check_labels(const StudyAxis& axis, InputMessages& messages);

}  // namespace dfsearch
