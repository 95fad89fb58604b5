#include "cli/page_output.hpp"

#include <filesystem>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "cli/commands.hpp"
#include "cli/graphviz.hpp"
#include "io/config/config_tree.hpp"
#include "io/config/load_config.hpp"
#include "io/html/study_page.hpp"
#include "io/study/yaml_text.hpp"
#include "io/text/input_messages.hpp"
#include "io/text/read_file.hpp"
#include "io/text/write_file.hpp"

namespace dfsearch {
namespace {

constexpr std::size_t kMostOfResults = std::size_t{512} << 20;  // of a study's results
/// The front of a study that was stopped before it had one.
constexpr const char* kNoFront = R"({"objective": [], "exact": false, "points": []})";

/// Adds the picture of the graph, if the result has one; `name` stands for the result in messages.
std::string page_of(RunPage parts, const std::string& name, const Deadline& deadline) {
  const std::string graph = graph_picture(parts.result, name);
  if (!graph.empty()) {
    Picture picture = draw_graph(graph, deadline);
    parts.graph = std::move(picture.svg);
    parts.graph_missing = std::move(picture.missing);
  }
  return run_page(parts);
}

/// The text of the config and the whole of it; empty if it cannot be read again, as from a pipe.
void add_config(const CommandLine& line, RunPage& parts) {
  try {
    parts.config = line.imported.empty() ? config_text(line.config).text : line.imported;
    InputMessages messages;
    const std::vector<Override> changes = parse_overrides(line.overrides, messages);
    parts.whole = yaml_text(ConfigTemplate(line.config).tree_with(changes));
  } catch (const InputError&) {
  }
}

}  // namespace

void write_page(const CommandLine& line, const Json& json, const Sheet& sheet,
                const std::vector<SearchPoint>& history, Outputs& outputs) {
  outputs.attempt([&] {
    RunPage parts;
    parts.result = json;
    parts.sheet = sheet;
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

}  // namespace dfsearch
