#include "cli/commands.hpp"

#include <fmt/format.h>

#include <exception>
#include <filesystem>
#include <system_error>

#include "base/error.hpp"
#include "cli/outputs.hpp"
#include "cli/progress.hpp"
#include "cli/signals.hpp"
#include "io/html/pages.hpp"
#include "io/study/result_row.hpp"
#include "io/study/study_outputs.hpp"
#include "io/study/study_points.hpp"
#include "io/text/files.hpp"
#include "study/front_search.hpp"
#include "study/point_source.hpp"

namespace dfsearch {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostRows = std::size_t{4} << 30;  // bytes of results.ndjson
constexpr std::size_t kShownWhenStopped = 2'000;         // points of a page that is made in 0.2 s

Study load(const CommandLine& line) {
  Study study = load_study(line.config);
  for (const std::string& labels : line.study.only) restrict_to(study, labels);
  if (line.study.all) study.solves_all = true;
  return study;
}

int threads_of(const CommandLine& line) {
  return line.search.threads > 0 ? line.search.threads : threads_of_a_process(hardware_threads());
}

PointSearch search_of(const CommandLine& line, StartLimit& start) {
  PointSearch search{.request = line.search};
  search.deadline = start.begin_search(line.search.time_limit.value_or(Seconds::infinity()));
  search.request.time_limit = line.study.point_time_limit;
  search.request.memory_limit = line.search.memory_limit.value_or(0.5 * machine_memory());
  search.request.threads = threads_of(line);
  return search;
}

void make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw InputError(folder.string() + ": cannot be made: " + error.message());
}

int list_points(const StudyPoints& points, const Deadline& deadline) {
  std::string text;
  for (study::PointIndex i = 0; i < points.grid().count(); ++i) {
    if (points.grid().is_excluded(points.grid().choices(i))) continue;
    text += fmt::format("{}  {}\n", i, points.name(i));
    constexpr std::size_t kPiece = 1 << 16;
    if (text.size() < kPiece) continue;
    print(text);
    text.clear();
    deadline.check();
  }
  print(text);
  return kProved;
}

/// Writes all files beside the results of a folder; the page shows at most `most_shown` points.
void write_results(const fs::path& folder, const ResultsTable& table, const StudyResults& found,
                   std::size_t most_shown) {
  write_file(folder / "study.json", json_text(found.study));
  write_file(folder / "front.json", json_text(found.front));
  write_file(folder / "results.csv", table.text());
  const std::string rows = read_file(folder / "results.ndjson", kMostRows);
  write_file(folder / "study.html", study_page(found.study, rows, found.front, most_shown));
}

/// Adds the rows in the folder.
void read_results(const fs::path& folder, ResultsTable& table) {
  for_each_row(folder / "results.ndjson", [&](const std::string& row) { table.add(row); });
}

int exit_status(const StudyState& state) {
  const study::StudyCount& count = state.count;
  if (state.is_proved()) {
    // A part may have no points.
    return count.solved > 0 && count.solved == count.infeasible ? kInfeasible : kProved;
  }
  return count.solved > count.unproved + count.failed ? kStoppedWithMapping : kStoppedWithout;
}

study::SolvePoint solver_of(const StudyPoints& points) {
  return [&points](study::PointIndex point, const study::PointEffort& effort) {
    return points.solve(point, effort);
  };
}

/// A process that solves points for another one.
int serve(const CommandLine& line, study::Cluster& cluster) {
  // The first process has checked everything before it begins.
  if (!cluster.wait_for_begin()) return kProved;
  StartLimit start(line.search.time_limit, line.begin);
  const Study study = load(line);
  const PointSearch search = search_of(line, start);
  const StudyPoints points(study, search);
  cluster.serve(
      solver_of(points), [](const study::PointAnswer& answer) { return answer.row; },
      search.request.threads, search.deadline);
  return kProved;
}

/// One run of a study, or a part of it.
class StudyRun {
 public:
  StudyRun(const CommandLine& line, const Study& study, const PointSearch& search,
           const StudyPoints& points, study::Cluster* cluster)
      : line_(line),
        study_(study),
        search_(search),
        points_(points),
        cluster_(cluster),
        folder_(line.study.output),
        table_(study.axes) {
    state_.part = {line.study.shard.part, line.study.shard.of};
    state_.fingerprint = points.fingerprint();
    state_.growth = points.growth();
    knowledge_.growth = state_.growth;
    knowledge_.facts = [&](study::PointIndex point) { return points.facts(point); };
  }

  int run() {
    if (!line_.study.output_is_named) refuse_other_files();
    make_folder(folder_);
    refuse_another_study();
    Journal journal(folder_, points_.grid());
    read_results(folder_, table_);
    knowledge_.known = [&](study::PointIndex point) { return journal.find(point); };
    const std::unique_ptr<study::PointSource> source =
        source_of(study_, points_.grid(), knowledge_, state_.part, search_.deadline);
    state_.count = source->count();
    write_file(folder_ / "study.json", json_text(study_json(study_, state_)));
    StudyProgress progress(study_, state_.count, line_.quiet);
    const study::SolvePoint solve = solver_of(points_);
    const study::RunOptions options{.threads = search_.request.threads,
                                    .deadline = search_.deadline,
                                    .on_answer = [&](const study::PointAnswer& answer) {
                                      journal.append(answer);
                                      table_.add(answer.row);
                                      progress.tell(answer, source->count());
                                    }};
    std::exception_ptr failure;
    try {
      state_.complete = cluster_ != nullptr ? cluster_->run(*source, solve, answer_of_row, options)
                                            : study::run_points(*source, solve, options);
    } catch (const InputError&) {
      failure = std::current_exception();  // such as a full disk: rows written so far stay
    }
    progress.finish();
    state_.count = source->count();
    if (failure) std::rethrow_exception(failure);
    return finish(journal);
  }

 private:
  /// Checks that a folder that -o does not set is new or has results of studies.
  void refuse_other_files() const {
    std::error_code error;
    if (!fs::exists(folder_, error) || fs::exists(folder_ / "study.json", error)) return;
    throw InputError(folder_.string() +
                     ": is there and has no results of a study, expected -o DIR, the folder for "
                     "the results");
  }

  /// Refuses a folder with another study.
  void refuse_another_study() const {
    const fs::path file = folder_ / "study.json";
    std::error_code error;
    if (!fs::exists(file, error)) return;
    const StudyState before = load_study_json(file).second;
    const bool same = before.fingerprint == state_.fingerprint &&
                      before.part.part == state_.part.part && before.part.of == state_.part.of;
    if (!same) {
      throw InputError(folder_.string() +
                       ": holds results of another study, or of another part or choice of points; "
                       "expected an empty folder or the same study");
    }
  }

  int finish(const Journal& journal) {
    const StudyResults found = results_of(study_, points_.grid(), state_, journal.answers());
    const bool is_late = !state_.complete && search_.deadline.has_passed();
    write_results(folder_, table_, found, is_late ? kShownWhenStopped : kRowsOfPage);
    print(found.report + (state_.complete ? "" : "\nstopped: the same command goes on\n"));
    return exit_status(state_);
  }

  const CommandLine& line_;
  const Study& study_;
  const PointSearch& search_;
  const StudyPoints& points_;
  study::Cluster* const cluster_;  // null: no other processes
  const fs::path folder_;
  ResultsTable table_;
  StudyState state_;
  study::PointKnowledge knowledge_;
};

std::string_view growth_text(study::Growth growth) {
  switch (growth) {
    case study::Growth::Ascending:
      return "more is never slower: bounds boxes";
    case study::Growth::Descending:
      return "less is never faster: bounds boxes";
    case study::Growth::None:
      break;
  }
  return "each choice by itself";
}

int dry_run(const Study& study, const StudyPoints& points) {
  const study::Grid& grid = points.grid();
  std::string text =
      fmt::format("{}: valid, {} points\n", study.name, grid.included(0, grid.count()));
  const std::vector<study::Growth> growth = points.growth();
  for (const StudyAxis& axis : study.axes) {
    text += fmt::format("  {:<16} {:>6} choices  {}\n", axis.name, axis.labels.size(),
                        growth_text(growth[axis.dimension]));
  }
  print(text);
  return kProved;
}

int run_merge(const CommandLine& line) {
  const fs::path folder = line.study.output;
  const std::vector<fs::path> folders(line.more_configs.begin(), line.more_configs.end());
  const MergedStudy merged = merge_shards(folders);
  make_folder(folder);
  if (std::error_code error; fs::exists(folder / "study.json", error)) {
    const StudyState before = load_study_json(folder / "study.json").second;
    if (before.fingerprint != merged.state.fingerprint || before.part.of != 1) {
      throw InputError(folder.string() +
                       ": holds results of another study or one of its parts; expected a folder of "
                       "its own");
    }
  }
  const study::Grid grid = grid_of(merged.study);
  StudyState state = merged.state;
  state.complete = true;
  write_file(folder / "results.ndjson", merged.rows);
  const StudyResults found = results_of(merged.study, grid, state, merged.answers);
  ResultsTable table(merged.study.axes);
  read_results(folder, table);
  write_results(folder, table, found, kRowsOfPage);
  print(found.report);
  return exit_status(state);
}

}  // namespace

int run_study(const CommandLine& line) {
  const std::unique_ptr<study::Cluster> cluster = open_cluster();
  if (cluster && cluster->rank() > 0) return serve(line, *cluster);
  if (line.study.task == StudyLine::Task::Merge) return run_merge(line);
  StartLimit start(line.search.time_limit, line.begin);
  const Study study = load(line);
  const PointSearch search = search_of(line, start);
  const StudyPoints points(study, search);
  if (line.study.task == StudyLine::Task::Print) {
    print(points.config_text(points.find(line.study.point)));
    return kProved;
  }
  try {
    if (line.study.task == StudyLine::Task::List) return list_points(points, search.deadline);
    points.check();
    if (line.study.task == StudyLine::Task::DryRun) return dry_run(study, points);
    return StudyRun(line, study, search, points, cluster.get()).run();
  } catch (const Stopped&) {
    print_error("study: stopped before the first point\n");
    return kStoppedWithout;
  }
}

}  // namespace dfsearch
