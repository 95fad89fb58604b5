#pragma once
// The sections of a study file.  Mistakes go to the messages.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "io/study/study_file.hpp"
#include "io/text/input_messages.hpp"
#include "io/text/yaml_tree.hpp"

namespace dfsearch {

/// `study`: the name, the goal and the points to be solved.
void read_study_goal(const YamlEntry& section, Study& study, InputMessages& messages);

/// `axes`: adds them to the axes of the study.
void read_study_axes(const YamlEntry& section, Study& study, InputMessages& messages);
/// Checks that labels are few, different, and may be part of options and lines of text.
void check_labels(const StudyAxis& axis, InputMessages& messages);

/// `zip` and `except`, null if absent; sets the dimension of every axis.
void read_combinations(const YamlEntry* zip, const YamlEntry* except, Study& study,
                       InputMessages& messages);
/// Checks that no two axes set the same key, as the result would depend on their order.
void check_keys(const Study& study, InputMessages& messages);
/// Checks that the study has at most 1e12 points, and at least one.
void check_count(const Study& study, const Place& place, InputMessages& messages);

// The sections below need the dimensions of the axes.

void read_study_ratios(const YamlEntry& section, Study& study, InputMessages& messages);
/// `charts`: the charts at the beginning of its page (docs/pages.md).  Figures are not checked: any
/// number of a result may be drawn.
void read_study_charts(const YamlEntry& section, Study& study, InputMessages& messages);

// Parts of several sections.

/// Changes of a map like {system.memory.bandwidth: 100 GB/s}; `owner` names it in messages.
std::vector<Override> read_changes(const YamlEntry& section, const std::string& owner,
                                   InputMessages& messages);
/// The points that a map of axes selects, each axis with a label or a list of labels; mistakes are
/// reported for `key`.
study::Selection read_selection(const YamlNode& map, std::string_view key, const Study& study,
                                InputMessages& messages);
/// Calls `call` with each figure that is a key of the map; skips the key `but`.
void for_each_figure(const YamlNode& map, std::string_view but, InputMessages& messages,
                     const std::function<void(study::Figure, const YamlEntry&)>& call);

}  // namespace dfsearch
