#pragma once
// The section `study` of a study.

#include "io/study/study_file.hpp"
#include "io/text/input_messages.hpp"
#include "io/text/yaml_tree.hpp"

namespace dfsearch {

/// Reads the name, the goal and what is to be solved.  What is wrong goes to the messages.
void read_study_goal(const YamlEntry& section, Study& study, InputMessages& messages);

}  // namespace dfsearch
