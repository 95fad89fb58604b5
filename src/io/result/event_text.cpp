#include "io/result/event_text.hpp"

#include <string_view>

#include "base/version.hpp"
#include "io/result/answer_rows.hpp"
#include "io/result/result_json.hpp"

namespace dfsearch {
namespace {

Json event(std::string_view kind, Seconds time) {
  return {{"event", std::string(kind)}, {"time", number(time)}};
}

Json with_progress(std::string_view kind, const Progress& progress) {
  Json json = event(kind, progress.time);
  const bool found = progress.incumbent < Score::infinity();
  put(json, DFSEARCH_KEYS(Progress, rank, nodes, open), &progress);
  json["objective"] = number(progress.incumbent);
  json["lower_bound"] = number(progress.lower_bound);
  json["gap"] = found ? Json(relative_gap(progress.incumbent, progress.lower_bound)) : Json();
  json["found_by"] = found ? Json(std::string(1, progress.found_by)) : Json();
  return json;
}

std::string line(const Json& json) { return json_line(json) + "\n"; }

}  // namespace

std::string start_event(const SearchSubject& subject, const std::string& title, int threads,
                        const SearchStats& before) {
  Json json = event("start", before.time);
  json["dfsearch"] = kVersion;
  json["config"] = title;
  json["threads"] = threads;
  json["nodes"] = before.nodes;
  put(json, DFSEARCH_KEYS(SearchSubject, workload, kernels, tensors, chips), &subject);
  return line(json);
}

std::string progress_event(const Progress& progress) {
  return line(with_progress("progress", progress));
}

std::string incumbent_event(const Progress& progress, const AnswerJson& answer) {
  Json json = with_progress("incumbent", progress);
  json.update(answer.tree);
  return line(json);
}

std::string checkpoint_event(const SearchStats& stats, const std::string& file,
                             std::size_t open_nodes, std::size_t bytes) {
  Json json = event("checkpoint", stats.time);
  json["nodes"] = stats.nodes;
  json["open"] = open_nodes;
  json["file"] = file;
  json["bytes"] = bytes;
  return line(json);
}

std::string stop_event(Seconds time, StopReason reason) {
  Json json = event("stop", time);
  json["reason"] = name_of(reason);
  return line(json);
}

std::string done_event(const Proof& certainty, std::optional<Score> objective,
                       const SearchStats& stats) {
  Json json = event("done", stats.time);
  put(json, DFSEARCH_KEYS(Proof, status, stopped_by), &certainty);
  json["nodes"] = stats.nodes;
  json["objective"] = or_null(objective);
  const bool bounded = certainty.status != SearchStatus::Infeasible;
  json["lower_bound"] = bounded ? number(certainty.lower_bound) : Json();
  json["gap"] = objective ? Json(certainty.gap) : Json();
  return line(json);
}

}  // namespace dfsearch
