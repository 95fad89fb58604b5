// A path is taken apart before it touches the disk; then the file that was opened, and not its name,
// must be in the folder, whatever links lead to it by then.

#include "cli/served_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <ctime>
#include <optional>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/units_text.hpp"
#include "cli/page_output.hpp"
#include "io/html/page_assets.hpp"
#include "io/html/run_page.hpp"
#include "io/html/study_page.hpp"
#include "io/text/input_messages.hpp"
#include "io/text/parse_json.hpp"
#include "io/text/read_file.hpp"

namespace dfsearch {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostOfFile = std::size_t{512} << 20;
constexpr std::uintmax_t kMostToTell = 4 << 20;  // a list reads no larger results
constexpr std::size_t kMostServed = 2000;
constexpr const char* kHtmlType = "text/html; charset=utf-8";

/// What is shown, by its ending.
constexpr std::array<std::array<std::string_view, 2>, 7> kKinds = {{{".json", "JSON"},
                                                                    {".html", "page"},
                                                                    {".csv", "table"},
                                                                    {".ndjson", "rows of JSON"},
                                                                    {".yaml", "config"},
                                                                    {".yml", "config"},
                                                                    {".txt", "text"}}};

const std::array<std::string_view, 2>* shown_kind(const fs::path& file) {
  const std::string ending = file.extension().string();
  const auto* found = std::find_if(kKinds.begin(), kKinds.end(),
                                   [&](const auto& kind) { return kind[0] == ending; });
  return found == kKinds.end() ? nullptr : &*found;
}

struct Closer {
  int descriptor;
  ~Closer() { close(descriptor); }
};

http::Reply not_found() { return {.status = 404, .body = "there is nothing of this name here\n"}; }

std::string in_html(std::string_view text) {
  std::string out;
  for (const char c : escaped(text)) {
    const bool plain = std::string_view("&<>\"'").find(c) == std::string_view::npos;
    out += plain ? std::string(1, c) : fmt::format("&#{};", static_cast<int>(c));
  }
  return out;
}

/// A path of an address: all but letters, digits and some signs as %XX.
std::string in_address(std::string_view path) {
  std::string out;
  for (const char c : path) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("/-._~").find(c) != std::string_view::npos;
    out += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

/// A result or a study in a few words; empty for other JSON.
std::string summary_of(const std::string& text) {
  try {
    const Json json = parse_json_object(text, "");
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

std::string time_text_of(std::time_t time) {
  std::tm local{};
  localtime_r(&time, &local);
  std::array<char, 32> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M", &local)};
}

struct Listed {
  bool is_file = false;
  std::string name, what;
  std::time_t modified = 0;
};

std::string list_page(const std::string& path, const std::vector<Listed>& entries) {
  std::string page = fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta "
      "name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{0}</title>\n"
      "<style>\n{1}</style>\n</head>\n<body>\n<main>\n<section>\n<h1>{0}</h1>\n"
      "<table>\n<tr><th>name</th><th>what it is</th><th>changed</th></tr>\n",
      in_html(path), page_assets::style());
  if (path != "/") {
    const std::string above = path.substr(0, path.rfind('/', path.size() - 2) + 1);
    page += fmt::format("<tr><td><a href=\"{}\">..</a></td><td></td><td></td></tr>\n",
                        in_address(above));
  }
  for (const Listed& entry : entries) {
    const std::string name = entry.name + (entry.is_file ? "" : "/");
    page += fmt::format("<tr><td><a href=\"{}\">{}</a>", in_address(path + name), in_html(name));
    if (entry.is_file && name.ends_with(".json")) {
      page += fmt::format(" (<a href=\"{}?raw\">JSON</a>)", in_address(path + name));
    }
    page += fmt::format("</td><td>{}</td><td>{}</td></tr>\n", in_html(entry.what),
                        time_text_of(entry.modified));
  }
  page += "</table>\n";
  if (entries.empty()) page += "<p>There are no results here.</p>\n";
  if (entries.size() == kMostServed) page += "<p>There are more, which are not listed.</p>\n";
  return page + "</section>\n</main>\n</body>\n</html>\n";
}

}  // namespace

ServedFolder::ServedFolder(const fs::path& folder)
    : root_([&] {
        std::error_code error;
        fs::path root = fs::canonical(folder, error);
        if (error || !fs::is_directory(root, error)) {
          throw InputError(folder.string() + ": there is no such folder");
        }
        return root;
      }()) {}

bool ServedFolder::holds(const fs::path& canonical) const {
  const auto [of_root, inner] =
      std::mismatch(root_.begin(), root_.end(), canonical.begin(), canonical.end());
  return of_root == root_.end() && std::none_of(inner, canonical.end(), [](const fs::path& part) {
           return part.native().starts_with('.');
         });
}

fs::path ServedFolder::find(const std::string& path) const {
  if (!path.starts_with('/') || path.find('\0') != std::string::npos) return {};
  fs::path found = root_;
  for (std::size_t at = 1; at < path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    // Neither "" nor ".." nor what is hidden.
    if (end == at || path[at] == '.') return {};
    found /= path.substr(at, end - at);
    at = end + 1;
  }
  std::error_code error;
  found = fs::canonical(found, error);
  return !error && holds(found) ? found : fs::path();
}

std::string ServedFolder::read(const fs::path& file) const {
  const int descriptor = open(file.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0) throw std::system_error(errno, std::generic_category());
  const Closer closer{descriptor};
  const fs::path opened = fmt::format("/proc/self/fd/{}", descriptor);
  if (!fs::is_regular_file(opened) || !holds(fs::read_symlink(opened))) {
    throw std::system_error(ENOENT, std::generic_category());
  }
  return read_file(opened, kMostOfFile);
}

http::Reply ServedFolder::list(const fs::path& folder) const {
  std::vector<Listed> entries;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    Listed listed{.name = entry.path().filename().string(), .what = "folder"};
    const fs::path target = fs::canonical(entry.path(), error);
    if (error || listed.name.starts_with('.') || !holds(target)) continue;
    struct stat status {};
    if (stat(target.c_str(), &status) != 0) continue;
    listed.is_file = S_ISREG(status.st_mode);
    listed.modified = status.st_mtime;
    const auto* kind = shown_kind(entry.path());
    if (listed.is_file ? kind == nullptr : !S_ISDIR(status.st_mode)) continue;
    try {
      if (listed.is_file) {
        listed.what = (*kind)[1];
        const bool tells = (*kind)[0] == ".json" && entry.file_size() <= kMostToTell;
        const std::string words = tells ? summary_of(read(target)) : "";
        if (!words.empty()) listed.what = words;
      } else if (fs::exists(target / "study.json", error)) {
        const std::string words = summary_of(read(fs::canonical(target / "study.json")));
        listed.what = words.empty() ? "folder" : words;
      }
    } catch (const std::exception&) {
      continue;  // cannot be read
    }
    entries.push_back(std::move(listed));
    if (entries.size() == kMostServed) break;
  }
  std::sort(entries.begin(), entries.end(), [](const Listed& a, const Listed& b) {
    return std::tie(a.is_file, a.name) < std::tie(b.is_file, b.name);
  });
  const fs::path inner = folder.lexically_relative(root_);
  const std::string path = inner == "." ? "/" : "/" + inner.string() + "/";
  return {.type = kHtmlType, .body = list_page(path, entries)};
}

http::Reply ServedFolder::page(const fs::path& file, bool raw) const {
  const auto* kind = shown_kind(file);
  if (kind == nullptr) return not_found();
  const std::string text = read(file);
  const std::string words = (*kind)[0] == ".json" && !raw ? summary_of(text) : "";
  if (words.starts_with("study")) {
    const auto beside = [&](const char* name) {
      const fs::path other = file.parent_path() / name;
      return fs::exists(other) ? std::optional(read(fs::canonical(other))) : std::nullopt;
    };
    return {.type = kHtmlType,
            .body = study_page(text, beside("results.ndjson").value_or(""),
                               beside("front.json").value_or(kNoFront))};
  }
  if (words.starts_with("result")) {
    return {.type = kHtmlType,
            .body = run_page({.result = text,
                              .name = file.filename().string(),
                              .title = file.filename().string(),
                              .graph_missing = "Drawn by 'dfsearch report' and --html alone."})};
  }
  if ((*kind)[0] == ".html") return {.type = kHtmlType, .body = text};
  return {.body = text};
}

http::Reply ServedFolder::reply(const http::Request& request) const {
  const fs::path found = find(request.path);
  if (found.empty()) return not_found();
  try {
    if (fs::is_directory(found)) return list(found);
    return page(found, request.query == "raw");
  } catch (const std::system_error&) {
    return not_found();
  } catch (const InputError& error) {
    return {.status = 422, .body = error.messages().front() + "\n"};
  }
}

}  // namespace dfsearch
