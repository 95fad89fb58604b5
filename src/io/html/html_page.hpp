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

/// The files that pages are made of, as they were when the program was built.
namespace dfsearch::page_assets {

std::string_view frame();        ///< page.html, with @names@ in place of the other files
std::string_view style();        ///< page.css
std::string_view library();      ///< echarts.min.js
std::string_view common();       ///< page.js, chart_tools.js
std::string_view run();          ///< the scripts of the page of a run, one behind the other
std::string_view study();        ///< the scripts of the page of a study
std::string_view predictions();  ///< the scripts of the page of a table of runs
std::string_view comparison();   ///< the scripts of the page of several results

}  // namespace dfsearch::page_assets
