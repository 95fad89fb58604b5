#pragma once
// A page as one file (docs/pages.md).

#include <string>
#include <string_view>

#include "io/text/json_text.hpp"

namespace dfsearch {

/// The frame with style, library, the scripts of the page, and the data, of which nothing can end
/// the element it stands in.  The scripts alone make text of the data visible.
std::string html_page(std::string_view scripts, const Json& data);

/// JSON that came from outside.  `name` stands for it in the InputError that is thrown for
/// text that is no JSON object, or is nested too deep to be one of ours.
Json parse_json_object(const std::string& text, const std::string& name);

}  // namespace dfsearch
