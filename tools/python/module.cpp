// The module _dfsearch of Python: configs in, answers as JSON out.  The package `dfsearch` beside
// it makes objects of them.  Searches run without the interpreter's lock, on a thread of their own,
// so that the calling thread sees Ctrl-C.

#include <fmt/format.h>
#include <pybind11/functional.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <filesystem>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/version.hpp"
#include "io/config/config_tree.hpp"
#include "io/config/load_config.hpp"
#include "io/config/shelf.hpp"
#include "io/html/pages.hpp"
#include "io/predict/prediction_errors.hpp"
#include "io/result/chip_json.hpp"
#include "io/result/event_text.hpp"
#include "io/result/result_json.hpp"
#include "io/solve/question.hpp"
#include "io/study/study_file.hpp"
#include "io/study/study_outputs.hpp"
#include "io/study/study_points.hpp"
#include "io/text/files.hpp"
#include "io/text/input_messages.hpp"
#include "io/text/json_text.hpp"
#include "study/point_source.hpp"

namespace py = pybind11;

namespace dfsearch {
namespace {

constexpr std::size_t kMostOfTable = std::size_t{64} << 20;

using Listener = std::function<void(const std::string&)>;

/// Runs `work` on another thread.  An exception of a signal handler of Python sets the flag of
/// `work`, and is thrown again when the work ends without an answer.
template <class Work>
auto interruptible(const Work& work) {
  using Answer = std::invoke_result_t<Work, std::atomic<bool>&>;
  constexpr std::chrono::milliseconds kPause{20};
  std::atomic<bool> stop{false};
  std::optional<py::error_already_set> interrupt;
  std::optional<Answer> answer;
  std::exception_ptr thrown;
  {
    const py::gil_scoped_release unlocked;
    std::future<Answer> done = std::async(std::launch::async, [&] { return work(stop); });
    while (done.wait_for(kPause) != std::future_status::ready) {
      const py::gil_scoped_acquire locked;
      if (PyErr_CheckSignals() == 0) continue;
      interrupt.emplace();
      stop = true;
    }
    try {
      answer = done.get();
    } catch (...) {
      thrown = std::current_exception();
    }
  }
  if (interrupt && (thrown || !answer->has_answer)) throw std::move(*interrupt);
  if (thrown) std::rethrow_exception(thrown);
  return *std::move(answer);
}

struct Loaded {
  AnyConfig config;
  std::string title, text;
};

/// A name that is no file is looked up on the shelf.
Loaded load_file(const std::string& name, const std::vector<std::string>& changes) {
  const std::filesystem::path file = find_input(name, ShelfKind::Configs);
  return {load_any_config(file, changes), file.stem().string(), config_text(file).text};
}

Loaded load_text(const std::string& text, const std::filesystem::path& name,
                 const std::vector<std::string>& changes) {
  return {parse_any_config(text, name, changes), name.stem().string(), text};
}

struct Answer {
  std::string json, report, title, config;
  std::string facts;               ///< of the report, as JSON, for the page
  std::vector<std::string> notes;  ///< on how files were read
  bool has_answer = false;

  /// The page of the answer, made only on request, as it is large.
  [[nodiscard]] std::string page() const {
    return run_page({.result = parse_json_object(json, "the result"),
                     .facts = Json::parse(facts),
                     .title = title,
                     .command = "",
                     .config = config,
                     .whole = "",
                     .graph = "",
                     .graph_missing = "not drawn from Python",
                     .history = {}});
  }
};

/// `more`: the answers with a tenth more, if these were searched.
Answer written(const Loaded& loaded, const Question& question, const Result& result,
               const std::vector<WhatIfMore>& more = {}) {
  AnswerJson answer = question.json(result);
  if (!more.empty()) add_what_if(answer, more);
  std::vector<std::string> notes = result.notes;
  for (std::string& note : notes) note = escaped(note);
  std::string report = fmt::format("{}\n", fmt::join(notes, "\n"));
  if (notes.empty()) report.clear();
  for (const std::string& note : notes_of(loaded.config)) notes.push_back(escaped(note));
  Sheet sheet = question.sheet(result, loaded.title, false);
  if (!more.empty()) sheet += what_if_text(more, *result.objective);
  report += printable(text_of(sheet));
  return {.json = json_text(answer.tree),
          .report = std::move(report),
          .title = loaded.title,
          .config = loaded.text,
          .facts = facts_json(sheet).dump(),
          .notes = std::move(notes),
          .has_answer = result.objective.has_value()};
}

/// Searches a config; an empty `hint_file` stands for no hint.
Answer solve(const Loaded& loaded, const SearchRequest& request, const std::string& hint_file,
             const Listener& on_event) {
  return interruptible([&](std::atomic<bool>& stop) {
    const std::unique_ptr<const Question> question = question_of(loaded.config);
    const SearchSettings& settings = settings_of(loaded.config);
    SolveOptions options = options_of(request, settings);
    options.limits->deadline = Deadline(request.time_limit.value_or(settings.time_limit), &stop);
    LoadedHint hint;
    if (!hint_file.empty()) hint = question->load_hint(hint_file);
    const auto note_dropped = [&](const std::string& why) {
      if (!why.empty()) hint.notes.push_back(dropped_hint(hint_file, why));
    };
    note_dropped(hint.dropped);
    options.hint = std::move(hint.hint);
    const auto tell = [&](const std::string& event) {
      try {
        on_event(event);
      } catch (...) {
        stop = true;  // the listener threw
        throw;
      }
    };
    if (on_event) {
      options.on_progress = [&](const Progress& progress) { tell(progress_event(progress)); };
      options.on_incumbent = [&](const Progress&, const std::string& event) { tell(event); };
    }
    question->check(options);
    if (request.what_if) check_what_if(loaded.config);
    Result result = question->solve(options);
    note_dropped(result.dropped);
    result.notes = std::move(hint.notes);
    if (result.callback_error) std::rethrow_exception(result.callback_error);
    std::vector<WhatIfMore> more;
    if (request.what_if && result.objective) more = what_if(loaded.config, options);
    return written(loaded, *question, result, more);
  });
}

Answer evaluate(const Loaded& loaded, const std::filesystem::path& file) {
  const py::gil_scoped_release unlocked;
  const std::unique_ptr<const Question> question = question_of(loaded.config);
  const Result result = question->evaluate(file);
  return written(loaded, *question, result);
}

std::string chip(const std::string& name, const std::vector<std::string>& changes) {
  const std::filesystem::path file = find_input(name, ShelfKind::Configs);
  const Config config = load_chip_config(file, changes);
  if (!config.chip) {
    throw InputError(file.string() + ": expected a system with a technology and all its budgets");
  }
  return json_text(chip_json(*config.design, *config.chip, config.problem.system));
}

struct StudyAnswer {
  std::string study, front, report;
  std::vector<std::string> rows;
  bool has_answer = false;

  [[nodiscard]] std::string page() const {
    std::string lines;
    for (const std::string& row : rows) lines += row + "\n";
    return study_page(study, lines, front);
  }
};

/// Runs the study in `text`, or, if that is empty, in `file`.
StudyAnswer run_study(const std::string& file, const std::string& text, int threads,
                      std::optional<double> time_limit, bool all,
                      const std::vector<std::string>& only, const Listener& on_row) {
  return interruptible([&](std::atomic<bool>& stop) {
    Study study = text.empty() ? load_study(find_input(file, ShelfKind::Studies))
                               : parse_study(text, "study");
    for (const std::string& labels : only) restrict_to(study, labels);
    if (all) study.solves_all = true;
    const Deadline deadline(time_limit ? Seconds(*time_limit) : Seconds::infinity(), &stop);
    const StudyPoints points(study, {.request = {.threads = threads}, .deadline = deadline});
    points.check();
    StudyState state{.growth = points.growth()};
    state.fingerprint = points.fingerprint();
    std::map<study::PointIndex, std::string> rows;  // threads end points in any order
    study::PointAnswers answers;                    // without their rows
    const study::PointKnowledge knowledge{
        .growth = state.growth,
        .facts = [&](study::PointIndex point) { return points.facts(point); },
        .known = [](study::PointIndex) -> const study::PointAnswer* { return nullptr; }};
    const auto source = source_of(study, points.grid(), knowledge, state.part, {});
    state.complete = study::run_points(
        *source,
        [&](study::PointIndex point, const study::PointEffort& effort) {
          return points.solve(point, effort);
        },
        {.threads = threads, .deadline = deadline, .on_answer = [&](const study::PointAnswer& one) {
           rows[one.index] = one.row;
           answers[one.index] = one;
           answers[one.index].row.clear();
           if (on_row) on_row(one.row);
         }});
    state.count = source->count();
    const StudyResults found = results_of(study, points.grid(), state, answers);
    StudyAnswer answer{.study = json_text(found.study),
                       .front = json_text(found.front),
                       .report = printable(found.report),
                       .rows = {}};
    for (auto& [index, row] : rows) answer.rows.push_back(std::move(row));
    answer.has_answer = !answer.rows.empty();
    return answer;
  });
}

/// The table of a run of `dfsearch predict`, and a note on columns that are not read.
std::pair<std::string, std::string> predict(const std::filesystem::path& file,
                                            const std::filesystem::path& stacks) {
  const py::gil_scoped_release unlocked;
  InputMessages messages;
  const CsvTable table(read_file(file, kMostOfTable), file.string(), messages);
  if (is_service_table(table)) {
    const std::vector<MeasuredService> services = read_services(table, messages);
    return {service_csv(services, predict_services(services)), unread_service_columns(table)};
  }
  const std::vector<MeasuredRun> runs = read_runs(table, messages, {.folder = stacks, .mark = ""});
  return {prediction_csv(runs, predict_runs(runs)), unread_run_columns(table)};
}

/// Sets the exception of Python: for InputError, dfsearch.InputError with the same messages.
void translate(std::exception_ptr thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const InputError& error) {
    const py::object type = py::module_::import("dfsearch._errors").attr("InputError");
    std::vector<std::string> messages = error.messages();
    for (std::string& message : messages) message = escaped(message);
    PyErr_SetObject(type.ptr(), py::cast(messages).ptr());
  } catch (const Stopped&) {
    PyErr_SetString(PyExc_TimeoutError, "stopped before there was anything to answer");
  }
}

void define(py::module_& module) {
  module.attr("__version__") = kVersion;
  py::register_exception_translator(&translate);
  py::class_<Loaded>(module, "Loaded").def_readonly("title", &Loaded::title);
  py::class_<Answer>(module, "Answer")
      .def_readonly("json", &Answer::json)
      .def_readonly("report", &Answer::report)
      .def_readonly("notes", &Answer::notes)
      .def("page", &Answer::page)
      .def(py::pickle(
          [](const Answer& of) {
            return py::make_tuple(of.json, of.report, of.title, of.config, of.facts, of.notes,
                                  of.has_answer);
          },
          [](const py::tuple& state) {
            return Answer{.json = state[0].cast<std::string>(),
                          .report = state[1].cast<std::string>(),
                          .title = state[2].cast<std::string>(),
                          .config = state[3].cast<std::string>(),
                          .facts = state[4].cast<std::string>(),
                          .notes = state[5].cast<std::vector<std::string>>(),
                          .has_answer = state[6].cast<bool>()};
          }));
  py::class_<StudyAnswer>(module, "StudyAnswer")
      .def_readonly("study", &StudyAnswer::study)
      .def_readonly("front", &StudyAnswer::front)
      .def_readonly("rows", &StudyAnswer::rows)
      .def_readonly("report", &StudyAnswer::report)
      .def("page", &StudyAnswer::page)
      .def(py::pickle(
          [](const StudyAnswer& of) {
            return py::make_tuple(of.study, of.front, of.report, of.rows, of.has_answer);
          },
          [](const py::tuple& state) {
            return StudyAnswer{.study = state[0].cast<std::string>(),
                               .front = state[1].cast<std::string>(),
                               .report = state[2].cast<std::string>(),
                               .rows = state[3].cast<std::vector<std::string>>(),
                               .has_answer = state[4].cast<bool>()};
          }));
  module.def("load_file", &load_file);
  module.def("load_text", &load_text);
  module.def("solve", [](const Loaded& loaded, int threads, std::optional<double> time_limit,
                         std::optional<double> gap, std::optional<std::int64_t> nodes,
                         std::int64_t top, bool deterministic, bool count, bool robust,
                         bool what_if, const std::string& hint, const Listener& on_event) {
    SearchRequest request{.threads = threads,
                          .gap = gap,
                          .node_limit = nodes,
                          .deterministic = deterministic,
                          .count = count,
                          .robust = robust,
                          .what_if = what_if};
    if (time_limit) request.time_limit = Seconds(*time_limit);
    if (top > 1) request.top = top;
    return solve(loaded, request, hint, on_event);
  });
  module.def("evaluate", &evaluate);
  module.def("study", &run_study);
  module.def("predict", &predict);
  module.def("chip", &chip);
}

}  // namespace
}  // namespace dfsearch

PYBIND11_MODULE(_dfsearch, module) { dfsearch::define(module); }
