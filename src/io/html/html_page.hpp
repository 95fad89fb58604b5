#pragma once
// A page as one file (docs/pages.md).

#include <string>
#include <string_view>

#include "io/text/json_text.hpp"
#include "io/text/parse_json.hpp"

namespace dfsearch {

/// A page with the frame, style, library, scripts and data.  No part of the data can end the
/// element it stands in.  Only the scripts make text of the data visible.
std::string html_page(std::string_view scripts, const Json& data);

}  // namespace dfsearch
