#pragma once
// Pages: of a run, of several results, of a study, and of a table of runs (docs/pages.md).

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/predict/prediction_errors.hpp"
#include "io/report/sheet.hpp"
#include "io/text/json_text.hpp"

namespace dfsearch {

/// Incumbent and bound of a search at one time, in the unit of its objective.
struct SearchPoint {
  double time = 0.0;  ///< s
  std::int64_t nodes = 0;
  std::optional<double> incumbent;
  double lower_bound = 0.0;
};

/// Parts of a page.  All but the result may be empty; the page then names the missing ones.
struct RunPage {
  Json result;                ///< of a search or evaluation (docs/results.md)
  Json facts = {};            ///< labelled lines of the report (facts_json)
  std::string title;          ///< heading of the page
  std::string command;        ///< command that repeats the run
  std::string config;         ///< the text of the config
  std::string whole;          ///< the config with its changes, for any folder
  std::string graph;          ///< an SVG of the graph
  std::string graph_missing;  ///< reason why there is no graph
  std::vector<SearchPoint> history;
};

/// The facts of a report: for each block a list of [label, value].
Json facts_json(const Sheet& sheet);

/// Reads a result from its text; `name` is the result in messages.  Throws InputError for other
/// texts.
Json read_result(const std::string& text, const std::string& name);

/// The page of a run, a whole file.
std::string run_page(RunPage parts);

/// A page of several results, each given by its file and JSON. Throws InputError if one is no
/// result.
std::string comparison_page(const std::vector<std::pair<std::string, std::string>>& results);

/// The graph of a result for Graphviz, kernels clustered by partition if it has a mapping; empty
/// if it has no graph.  Throws InputError, with the name of the result, if the two do not fit.
std::string graph_picture(const Json& result, const std::string& name);

/// Greatest number of results on the page of a study.
inline constexpr std::size_t kRowsOfPage = 20'000;
/// The page of a study, from the content of the three files of its folder: study.json,
/// results.ndjson and front.json.  If there are more results than `most`, it has the front, an even
/// selection of the others, and a note.  Throws InputError, with the name of the file, if the files
/// are no study.
std::string study_page(const Json& study, const std::string& results_ndjson, const Json& front,
                       std::size_t most = kRowsOfPage);
/// The same page from the text of the files.
std::string study_page(const std::string& study_json, const std::string& results_ndjson,
                       const std::string& front_json);

/// The page of a table of runs.  `command` repeats it, `group` is the initial grouping of errors.
std::string prediction_page(const std::vector<MeasuredRun>& runs, const Predictions& predictions,
                            RunGroup group, const std::string& title, const std::string& command);

/// A page with the frame, style, library, scripts and data.  No text in the data can end the
/// element with the data, and only the scripts show it.
std::string html_page(std::string_view scripts, const Json& data);

}  // namespace dfsearch

/// The files of which pages are made, as of the build of the program.
namespace dfsearch::page_assets {

std::string_view frame();        ///< page.html, with @names@ in place of the other files
std::string_view style();        ///< page.css
std::string_view library();      ///< echarts.min.js
std::string_view common();       ///< page.js, chart_tools.js
std::string_view run();          ///< the scripts of the page of a run, concatenated
std::string_view study();        ///< the scripts of the page of a study
std::string_view predictions();  ///< the scripts of the page of a table of runs
std::string_view comparison();   ///< the scripts of the page of several results

}  // namespace dfsearch::page_assets
