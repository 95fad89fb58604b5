#pragma once
// The files of the pages, as they were when the program was built.

#include <string_view>

namespace dfsearch::page_assets {

std::string_view frame();        ///< page.html, with @names@ in place of the other files
std::string_view style();        ///< page.css
std::string_view library();      ///< echarts.min.js
std::string_view common();       ///< page.js, chart_tools.js
std::string_view run();          ///< the scripts of the page of a run, one after the other
std::string_view study();        ///< the scripts of the page of a study
std::string_view predictions();  ///< the scripts of a table of runs
std::string_view comparison();   ///< the scripts of a comparison of results

}  // namespace dfsearch::page_assets
