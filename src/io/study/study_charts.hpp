#pragma once
// The section `charts` of a study: the charts that its page begins with (docs/pages.md).

#include "io/study/study_file.hpp"
#include "io/text/input_messages.hpp"
#include "io/text/yaml_tree.hpp"

namespace dfsearch {

/// Reads the charts; the axes have their dimensions.  What is wrong goes to the messages.  Figures
/// are not checked: any number of a result may be drawn.
void read_study_charts(const YamlEntry& section, Study& study, InputMessages& messages);

}  // namespace dfsearch
