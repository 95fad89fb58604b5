// The page of a folder: a list of the results, studies and pages below it, with links that work on
// any file server and from disk.

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/error.hpp"
#include "base/units_text.hpp"
#include "cli/outputs.hpp"
#include "io/html/pages.hpp"
#include "io/text/files.hpp"
#include "io/text/input_messages.hpp"
#include "io/text/json_text.hpp"

namespace dfsearch {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kLargestSummarised = 4 << 20;  // bytes
constexpr std::size_t kMostListed = 2000;

std::string in_html(std::string_view text) {
  std::string out;
  for (const char c : escaped(text)) {
    const bool plain = std::string_view("&<>\"'").find(c) == std::string_view::npos;
    out += plain ? std::string(1, c) : fmt::format("&#{};", static_cast<int>(c));
  }
  return out;
}

/// A path as part of a URL: all but letters, digits and some signs as %XX.
std::string in_address(std::string_view path) {
  std::string out;
  for (const char c : path) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("/-._~").find(c) != std::string_view::npos;
    out += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

/// Summary of a result or a study; empty for other JSON.
std::string summary_of(const fs::path& file) {
  try {
    if (fs::file_size(file) > kLargestSummarised) return "large JSON";
    const Json json = parse_json_object(read_file(file), "");
    if (!json.contains("dfsearch")) return "";
    if (json.contains("study")) {
      return fmt::format("study, {} solved of {}{}", json.at("solved").dump(),
                         json.at("points").dump(),
                         json.at("complete") == true ? "" : ", not complete");
    }
    std::string words = "result, " + json.at("status").get<std::string>();
    const Json step = json.value("step_time", Json());
    if (step.is_number()) words += ", step " + to_text(Seconds(step.get<double>()));
    return words;
  } catch (const std::exception&) {
    return "";
  }
}

/// The row of the list for a file; nothing if the file is not listed.
std::optional<std::string> row_of(const fs::path& file, const std::string& name,
                                  const std::string& link) {
  const auto row = [&](const std::string& target, std::string_view more, const std::string& words) {
    return fmt::format("<tr><td><a href=\"{}\">{}</a>{}</td><td>{}</td></tr>\n", in_address(target),
                       in_html(name), more, in_html(words));
  };
  const bool is_page = file.extension() == ".html";
  if (!is_page && file.extension() != ".json") return std::nullopt;
  const std::string words = summary_of(fs::path(file).replace_extension(".json"));
  if (is_page && words.empty()) return row(link, "", "page");
  // A page is linked in the row of its result.
  if (is_page || words.empty()) return std::nullopt;
  std::error_code error;
  if (!fs::exists(fs::path(file).replace_extension(".html"), error)) return row(link, "", words);
  return row(fs::path(link).replace_extension(".html").string(),
             fmt::format(" (<a href=\"{}\">JSON</a>)", in_address(link)), words);
}

/// The files below a folder in the order of their names, without hidden ones.
std::vector<fs::path> files_below(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  const auto options = fs::directory_options::skip_permission_denied;
  for (fs::recursive_directory_iterator at(folder, options, error), end; at != end && !error;
       at.increment(error)) {
    if (at->path().filename().native().starts_with('.')) {
      at.disable_recursion_pending();
    } else if (std::error_code ignored; at->is_regular_file(ignored)) {
      files.push_back(at->path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

std::string folder_page(const fs::path& folder, const std::string& output) {
  std::string rows;
  std::size_t count = 0;
  std::error_code error;
  const fs::path from = output == "-" ? folder : fs::absolute(output, error).parent_path();
  for (const fs::path& file : files_below(folder)) {
    if (count == kMostListed) break;
    if (output != "-" && fs::equivalent(file, output, error)) continue;
    const std::optional<std::string> row =
        row_of(file, file.lexically_relative(folder).string(), fs::proximate(file, from).string());
    if (!row) continue;
    rows += *row;
    ++count;
  }
  if (count == 0) {
    throw InputError(folder.string() +
                     ": has no results, expected a folder with files that --json or --html wrote, "
                     "or that of a study");
  }
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta "
      "name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{0}</title>\n"
      "<style>\n{1}</style>\n</head>\n<body>\n<main>\n<section>\n<h1>{0}</h1>\n<table>\n"
      "<tr><th>name</th><th>content</th></tr>\n{2}</table>\n{3}</section>\n</main>\n</body>\n"
      "</html>\n",
      in_html(fs::absolute(folder, error).lexically_normal().filename().string()),
      page_assets::style(), rows,
      count == kMostListed ? "<p>There are more, which are not listed.</p>\n" : "");
}

}  // namespace dfsearch
