// The assembler includes the files in the object, since compiling a megabyte of string literals
// takes seconds.  This file is compiled again if one of them changes (src/io/CMakeLists.txt, which
// also passes the folders as strings).  The functions are declared in io/html/pages.hpp, which is
// not included here, as its headers take seconds to compile.

#include <string_view>

#define DFSEARCH_PAGE_FILE(file) ".incbin \"" DFSEARCH_PAGE_DIR "/" file "\"\n"

// A function `name` with the text of `files`, which are .incbin lines.  Symbols of the assembler
// are global, so they have the name of the project in front.
#define DFSEARCH_ASSET(name, files)                                                      \
  __asm__(                                                                               \
      ".pushsection .rodata\n"                                                           \
      ".global dfsearch_page_" #name                                                     \
      "\n"                                                                               \
      ".hidden dfsearch_page_" #name                                                     \
      "\n"                                                                               \
      "dfsearch_page_" #name ":\n" files ".global dfsearch_page_" #name                  \
      "_end\n"                                                                           \
      ".hidden dfsearch_page_" #name                                                     \
      "_end\n"                                                                           \
      "dfsearch_page_" #name                                                             \
      "_end:\n"                                                                          \
      ".byte 0\n"                                                                        \
      ".popsection\n");                                                                  \
  extern "C" const char dfsearch_page_##name[];                                          \
  extern "C" const char dfsearch_page_##name##_end[];                                    \
  namespace dfsearch::page_assets {                                                      \
  std::string_view name() { return {dfsearch_page_##name, dfsearch_page_##name##_end}; } \
  }

DFSEARCH_ASSET(frame, DFSEARCH_PAGE_FILE("page.html"))
DFSEARCH_ASSET(style, DFSEARCH_PAGE_FILE("page.css"))
DFSEARCH_ASSET(library, ".incbin \"" DFSEARCH_ECHARTS_DIR "/echarts.min.js\"\n")
DFSEARCH_ASSET(common, DFSEARCH_PAGE_FILE("page.js") DFSEARCH_PAGE_FILE("chart_tools.js"))
// Each script uses the ones before it.
DFSEARCH_ASSET(run,
               DFSEARCH_PAGE_FILE("blocks.js") DFSEARCH_PAGE_FILE("roofline.js")
                   DFSEARCH_PAGE_FILE("run_charts.js") DFSEARCH_PAGE_FILE("study_words.js")
                       DFSEARCH_PAGE_FILE("study_table.js") DFSEARCH_PAGE_FILE("points_chart.js")
                           DFSEARCH_PAGE_FILE("run_front.js") DFSEARCH_PAGE_FILE("run.js"))
DFSEARCH_ASSET(study,
               DFSEARCH_PAGE_FILE("study_words.js") DFSEARCH_PAGE_FILE("heat_map.js")
                   DFSEARCH_PAGE_FILE("figure_charts.js") DFSEARCH_PAGE_FILE("study_figures.js")
                       DFSEARCH_PAGE_FILE("points_chart.js") DFSEARCH_PAGE_FILE("study_charts.js")
                           DFSEARCH_PAGE_FILE("study_table.js") DFSEARCH_PAGE_FILE("study.js"))
DFSEARCH_ASSET(predictions,
               DFSEARCH_PAGE_FILE("blocks.js") DFSEARCH_PAGE_FILE("study_words.js")
                   DFSEARCH_PAGE_FILE("points_chart.js") DFSEARCH_PAGE_FILE("predictions.js"))
DFSEARCH_ASSET(comparison,
               DFSEARCH_PAGE_FILE("blocks.js") DFSEARCH_PAGE_FILE("study_words.js")
                   DFSEARCH_PAGE_FILE("roofline.js") DFSEARCH_PAGE_FILE("figure_charts.js")
                       DFSEARCH_PAGE_FILE("compare.js"))
