#pragma once
// Pages as files.

#include <filesystem>
#include <string>
#include <vector>

#include "cli/options.hpp"
#include "cli/outputs.hpp"
#include "io/html/run_page.hpp"

namespace dfsearch {

/// Writes the page of a run; `json` is its result.
void write_page(const CommandLine& line, const Json& json, const Sheet& sheet,
                const std::vector<SearchPoint>& history, Outputs& outputs);

/// A page that lists the results, studies and pages below a folder; its links are relative to the
/// place of `output`, or to the folder if that is "-".  Throws InputError if there are none.
std::string folder_page(const std::filesystem::path& folder, const std::string& output);

}  // namespace dfsearch
