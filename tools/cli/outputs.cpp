#include "cli/outputs.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <utility>

#include "cli/child_process.hpp"
#include "cli/commands.hpp"
#include "cli/signals.hpp"
#include "io/config/config_tree.hpp"
#include "io/config/load_config.hpp"
#include "io/report/report.hpp"
#include "io/result/result_json.hpp"
#include "io/text/input_messages.hpp"
#include "io/text/yaml_tree.hpp"

namespace dfsearch {

std::string title_of(const CommandLine& line) {
  std::string title = line.config;
  for (const std::string& change : line.overrides) title += " --set " + change;
  return title;
}

void check_output(const std::string& file) {
  if (!file.empty() && file != "-") check_writable(file);
}

void write_output(const std::string& file, const std::string& text) {
  if (file == "-") {
    print(text);
  } else {
    write_file(file, text);
  }
}

void write_json_or(const std::string& json_file, const std::string& json, const std::string& text) {
  if (!json_file.empty() && json_file != "-") write_file(json_file, json);
  print(json_file == "-" ? json : text);
}

void write_answer(const CommandLine& line, const std::string& mapping,
                  const std::vector<SearchPoint>& history, const MakeJson& make_json,
                  const MakeSheet& make_sheet, Outputs& outputs) {
  const bool needs_json = !line.json.empty() || !line.html.empty() || !mapping.empty();
  const Json answer = needs_json ? make_json() : Json();
  const std::string json = needs_json ? json_text(answer) : "";
  if (!mapping.empty()) outputs.file(mapping, json);
  if (!line.json.empty() && line.json != "-") outputs.file(line.json, json);
  if (line.json == "-") outputs.attempt([&] { print(json); });
  const bool has_report = line.json != "-" && line.events != "-" && !line.quiet;
  if (!has_report && line.html.empty()) return;
  const Sheet sheet = make_sheet();
  if (has_report) outputs.attempt([&] { print(text_of(sheet)); });
  if (!line.html.empty()) write_page(line, answer, sheet, history, outputs);
}

void write_outcome(const CommandLine& line, const Outcome& outcome, Outputs& outputs) {
  write_answer(
      line, "", {}, [&] { return answer_json(outcome); },
      [&] { return report_text(outcome, title_of(line), line.verbose); }, outputs);
}

namespace {

constexpr std::size_t kMostOfResults = std::size_t{512} << 20;  // of a study's results
/// The front of a study that was stopped before it had one.
constexpr const char* kNoFront = R"({"objective": [], "exact": false, "points": []})";

/// Adds the picture of the graph, if the result has one; `name` is the result in messages.
std::string page_of(RunPage parts, const std::string& name, const Deadline& deadline) {
  const std::string graph = graph_picture(parts.result, name);
  if (!graph.empty()) {
    Picture picture = draw_graph(graph, deadline);
    parts.graph = std::move(picture.svg);
    parts.graph_missing = std::move(picture.missing);
  }
  return run_page(std::move(parts));
}

/// Adds the config as text, plain and merged; empty if it cannot be read again, as from a pipe.
void add_config(const CommandLine& line, RunPage& parts) {
  try {
    parts.config = line.imported.empty() ? config_text(line.config).text : line.imported;
    InputMessages messages;
    const std::vector<Override> changes = parse_overrides(line.overrides, messages);
    parts.whole = yaml_text(ConfigTemplate(line.config).portable_tree_with(changes));
  } catch (const InputError&) {
  }
}

}  // namespace

void write_page(const CommandLine& line, const Json& json, const Sheet& sheet,
                const std::vector<SearchPoint>& history, Outputs& outputs) {
  outputs.attempt([&] {
    RunPage parts;
    parts.result = json;
    parts.facts = facts_json(sheet);
    parts.title = title_of(line);
    parts.command = line.words;
    parts.history = history;
    add_config(line, parts);
    write_file(line.html, page_of(std::move(parts), "the result", outputs.deadline()),
               outputs.deadline());
  });
}

int run_report(const CommandLine& line) {
  const std::filesystem::path source = line.config;
  check_output(line.output);
  std::error_code error;
  std::string page;
  if (!line.more_configs.empty()) {
    std::vector<std::pair<std::string, std::string>> results;
    const auto add = [&](const std::filesystem::path& file) {
      results.emplace_back(file.string(), read_file(file, kMostOfResults));
    };
    add(source);
    for (const std::string& file : line.more_configs) add(file);
    page = comparison_page(results);
  } else if (std::filesystem::exists(source / "study.json", error) ||
             std::filesystem::exists(source / "results.ndjson", error)) {
    const std::filesystem::path front = source / "front.json";
    page = study_page(
        read_file(source / "study.json"), read_file(source / "results.ndjson", kMostOfResults),
        std::filesystem::exists(front, error) ? read_file(front, kMostOfResults) : kNoFront);
  } else if (std::filesystem::is_directory(source, error)) {
    page = folder_page(source, line.output);
  } else {
    RunPage parts;
    parts.result = read_result(read_file(source, kMostOfResults), line.config);
    parts.title = source.filename().string();
    page = page_of(std::move(parts), line.config, Deadline());
  }
  write_output(line.output, page);
  return kProved;
}

void occupy_standard_descriptors() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(descriptor, F_GETFD) >= 0) continue;
    // The lowest free descriptor is this one.  Read-only for standard output:
    // writing to it must stay an error.
    static_cast<void>(open("/dev/null", descriptor == STDERR_FILENO ? O_WRONLY : O_RDONLY));
  }
}

namespace {

/// Writes the unchanged text; a failure cannot be reported and is ignored.
void write_error(std::string_view text) {
  try {
    write_all(STDERR_FILENO, text, "standard error");
  } catch (const InputError&) {
  }
}

}  // namespace

void print(std::string_view text) { write_all(STDOUT_FILENO, printable(text), "standard output"); }

void print_error(std::string_view text) { write_error(printable(text)); }

void print_notes(const std::vector<std::string>& notes) {
  for (const std::string& note : notes) print_error(escaped(note) + "\n");
}

bool rewrites_lines() {
  const char* terminal = std::getenv("TERM");
  return isatty(STDERR_FILENO) != 0 && terminal != nullptr && std::string_view(terminal) != "dumb";
}

void rewrite_line(std::string_view text) {
  const std::string whole = escaped(text);
  std::string_view line = whole;
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1) {
    line = line.substr(0, size.ws_col - 1U);
  }
  write_error("\r" + std::string(line) + "\033[K");
}

}  // namespace dfsearch
