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
  Json facts = {};            ///< the labelled lines of the report (facts_json)
  std::string title;          ///< what the page is headed by
  std::string command;        ///< that repeats the run
  std::string config;         ///< the text of the config
  std::string whole;          ///< the config with its changes, for any folder
  std::string graph;          ///< an SVG of the graph
  std::string graph_missing;  ///< why there is none
  std::vector<SearchPoint> history;
};

/// The facts of a report: for each block of them a list of [label, value].
Json facts_json(const Sheet& sheet);

/// Reads a result from its text; `name` stands for it in messages.  Throws InputError if it is
/// none.
Json read_result(const std::string& text, const std::string& name);

/// The whole file.
std::string run_page(RunPage parts);

/// Several results side by side: the file and the JSON of each.  Throws InputError if one is none.
std::string comparison_page(const std::vector<std::pair<std::string, std::string>>& results);

/// The graph of a result for Graphviz, kernels clustered by partition if it has a mapping; empty
/// if it has no graph.  Throws InputError, with the name of the result, if the two do not fit.
std::string graph_picture(const Json& result, const std::string& name);

/// The page of a study, from the content of the three files of its folder: study.json,
/// results.ndjson and front.json.  Of more results than `most` it has the front and an even
/// selection, and says so.  Throws InputError, with the name of the file, for what is no study.
inline constexpr std::size_t kRowsOfPage = 20'000;
std::string study_page(const Json& study, const std::string& results_ndjson, const Json& front,
                       std::size_t most = kRowsOfPage);
/// Parses the files.
std::string study_page(const std::string& study_json, const std::string& results_ndjson,
                       const std::string& front_json);

/// The page of a table of runs.  `command` repeats it, `group` is what errors are grouped by at
/// first.
std::string prediction_page(const std::vector<MeasuredRun>& runs, const Predictions& predictions,
                            RunGroup group, const std::string& title, const std::string& command);

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
