#include "cli/study_options.hpp"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <filesystem>
#include <limits>
#include <utility>

#include "cli/option_values.hpp"
#include "io/config/shelf.hpp"
#include "io/text/input_messages.hpp"

namespace dfsearch {
namespace {

constexpr std::int64_t kMostShards = 1'000'000;

struct StudyTexts {
  std::vector<std::string> positionals;
  std::string threads, gap, time_limit, point_time_limit, node_limit, memory_limit, shard;
  bool points = false, dry_run = false, help = false;
};

void declare(CLI::App& app, StudyLine& line, StudyTexts& texts) {
  app.set_help_flag();
  app.allow_extras();
  app.add_flag("-h,--help", texts.help);
  app.add_option("STUDY", texts.positionals);
  app.add_option("-o,--output", line.output);
  app.add_option("--print", line.point);
  app.add_flag("--points", texts.points);
  app.add_flag("--dry-run", texts.dry_run);
  app.add_option("--only", line.only)->expected(1)->take_all()->allow_extra_args(false);
  app.add_option("--shard", texts.shard);
  app.add_option("--threads", texts.threads);
  app.add_option("--gap", texts.gap);
  app.add_option("--time-limit", texts.time_limit);
  app.add_option("--point-time-limit", texts.point_time_limit);
  app.add_option("--node-limit", texts.node_limit);
  app.add_option("--memory-limit", texts.memory_limit);
  app.add_flag("--all", line.all);
  app.add_flag("--deterministic", line.deterministic);
  app.add_flag("--quiet", line.quiet);
}

/// 3/16: the third of sixteen.
StudyShard parse_shard(const std::string& text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos) {
    usage_error("--shard: expected K/N, the K-th of N parts, got " + in_quotes(text));
  }
  const std::int64_t of = parse_count("--shard", text.substr(slash + 1), kMostShards);
  return {.part = parse_count("--shard", text.substr(0, slash), of) - 1, .of = of};
}

void choose_task(const StudyTexts& texts, StudyLine& line) {
  using Task = StudyLine::Task;
  const auto& words = texts.positionals;
  if (!words.empty() && words[0] == "merge") {
    line.task = Task::Merge;
    line.folders.assign(words.begin() + 1, words.end());
    if (line.folders.empty()) usage_error("study merge: missing folders of results");
  } else {
    if (words.empty()) usage_error("study: missing STUDY");
    if (words.size() > 1) {
      usage_error("study: one study is enough, got also " + in_quotes(words[1]));
    }
    line.file = find_input(words[0], ShelfKind::Studies).string();
    const int asked = int{texts.points} + int{texts.dry_run} + int{!line.point.empty()};
    if (asked > 1) usage_error("--points, --dry-run and --print exclude each other");
    if (texts.points) line.task = Task::List;
    if (texts.dry_run) line.task = Task::DryRun;
    if (!line.point.empty()) line.task = Task::Print;
  }
  if (line.task == Task::Merge && line.output.empty()) {
    usage_error("study merge: missing -o DIR, the folder for the results");
  }
  if (line.task == Task::Run && line.output.empty()) {
    line.output = std::filesystem::path(line.file).stem().string();
    line.output_is_named = false;
  }
}

}  // namespace

std::optional<StudyLine> parse_study_line(std::vector<std::string> words) {
  StudyLine line;
  StudyTexts texts;
  CLI::App app;
  declare(app, line, texts);
  try {
    std::reverse(words.begin(), words.end());  // CLI11 takes them from the back
    app.parse(std::move(words));
  } catch (const CLI::ParseError& error) {
    usage_error(error.what());
  }
  if (texts.help) return std::nullopt;
  refuse_extras(app, "study", "study");
  choose_task(texts, line);
  if (!texts.threads.empty()) line.threads = parse_threads(texts.threads);
  if (!texts.gap.empty()) line.gap = parse_gap(texts.gap);
  if (!texts.time_limit.empty()) line.time_limit = parse_time("--time-limit", texts.time_limit);
  if (!texts.point_time_limit.empty()) {
    line.point_time_limit = parse_time("--point-time-limit", texts.point_time_limit);
  }
  if (!texts.node_limit.empty()) {
    line.node_limit =
        parse_count("--node-limit", texts.node_limit, std::numeric_limits<std::int64_t>::max());
  }
  if (!texts.memory_limit.empty()) line.memory_limit = parse_memory_limit(texts.memory_limit);
  if (!texts.shard.empty()) line.shard = parse_shard(texts.shard);
  return line;
}

}  // namespace dfsearch
