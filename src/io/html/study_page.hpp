#pragma once
// The page of a study (docs/pages.md).

#include <string>

#include "io/text/json_text.hpp"

namespace dfsearch {

/// The whole file, from the content of the three files of a study's folder: study.json,
/// results.ndjson and front.json.  Of more than 20,000 results the page has the front and an even selection, and
/// says so.  Throws InputError, with the name of the file, for what is no study.
std::string study_page(const Json& study, const std::string& results_ndjson, const Json& front);
/// Parses the files.
std::string study_page(const std::string& study_json, const std::string& results_ndjson,
                       const std::string& front_json);

}  // namespace dfsearch
