#pragma once
// The files that pages are made of, as they were when the program was built.

#include <string_view>

namespace dfsearch::page_assets {

std::string_view frame();        ///< page.html, with @names@ where the others go
std::string_view style();        ///< page.css
std::string_view library();      ///< echarts.min.js
std::string_view common();       ///< page.js, chart_tools.js
std::string_view run();          ///< the scripts of the page of a run, one behind the other
std::string_view study();        ///< those of a study
std::string_view predictions();  ///< those of a table of runs
std::string_view comparison();   ///< those of several results

}  // namespace dfsearch::page_assets
