#pragma once
// Pages as files.

#include <string>
#include <vector>

#include "cli/options.hpp"
#include "cli/outputs.hpp"
#include "io/html/run_page.hpp"

namespace dfsearch {

/// Of a study that has told no front yet, as a run that was killed.
inline constexpr const char* kNoFront = R"({"objective": [], "exact": false, "points": []})";

/// Writes the page of a run if one was asked for; `json` is its result.
void write_page(const CommandLine& line, const std::string& json,
                const std::vector<SearchPoint>& history, Outputs& outputs);

}  // namespace dfsearch
