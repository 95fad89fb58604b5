#pragma once
// A page as one file (docs/pages.md).

#include <string>
#include <string_view>

#include "io/text/json_text.hpp"
#include "io/text/parse_json.hpp"

namespace dfsearch {

/// The frame with style, library, the scripts of the page, and the data, of which nothing can end
/// the element it stands in.  The scripts alone make text of the data visible.
std::string html_page(std::string_view scripts, const Json& data);

}  // namespace dfsearch
