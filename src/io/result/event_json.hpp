#pragma once
// What the events of all searches have in common, as JSON.

#include <string>
#include <string_view>

#include "engine/tree/search_stats.hpp"
#include "io/text/json_text.hpp"

namespace dfsearch {

Json event(std::string_view kind, Seconds time);
Json with_progress(std::string_view kind, const Progress& progress);
/// One line with its newline.
std::string line(const Json& json);

}  // namespace dfsearch
