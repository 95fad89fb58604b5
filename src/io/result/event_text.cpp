#include "io/result/event_text.hpp"

#include <string_view>
#include <utility>

#include "base/version.hpp"
#include "engine/names.hpp"
#include "graph/names.hpp"
#include "io/result/answer_json.hpp"
#include "io/result/chip_json.hpp"
#include "io/result/event_json.hpp"
#include "io/result/mapping_json.hpp"
#include "io/text/json_text.hpp"
#include "model/names.hpp"

namespace dfsearch {
namespace {

Json with_mapping(const Progress& progress, const Mapping& mapping) {
  Json json = with_progress("incumbent", progress);
  json["parallelism"] = parallelism_json(mapping);
  json["network"] = network_json(mapping);
  json["micro_batch"] = mapping.micro_batch;
  json["tile"] = mapping.tile;
  return json;
}

/// What the start of every search tells.
Json start(const std::string& title, int threads, const SearchStats& before) {
  Json json = event("start", before.time);
  json["dfsearch"] = kVersion;
  json["config"] = title;
  json["threads"] = threads;
  json["nodes"] = before.nodes;
  return json;
}

/// Of a search for whole steps, which have no list of kernels.
std::string step_start(const char* workload, std::int64_t chips, Json json) {
  json["workload"] = workload;
  json["kernels"] = nullptr;
  json["tensors"] = nullptr;
  json["chips"] = chips;
  return line(json);
}

}  // namespace

Json event(std::string_view kind, Seconds time) {
  return {{"event", std::string(kind)}, {"time", number(time)}};
}

Json with_progress(std::string_view kind, const Progress& progress) {
  Json json = event(kind, progress.time);
  const bool found = progress.incumbent < Score::infinity();
  json["rank"] = progress.rank;
  json["nodes"] = progress.nodes;
  json["open"] = progress.open;
  json["objective"] = number(progress.incumbent);
  json["lower_bound"] = number(progress.lower_bound);
  json["gap"] = found ? Json(relative_gap(progress.incumbent, progress.lower_bound)) : Json();
  json["found_by"] = found ? Json(std::string(1, progress.found_by)) : Json();
  return json;
}

std::string line(const Json& json) { return json_line(json) + "\n"; }

std::string start_event(const Problem& problem, const std::string& title, int threads,
                        const SearchStats& before) {
  Json json = start(title, threads, before);
  json["workload"] = name_of(problem.workload.kind);
  json["kernels"] = problem.workload.graph.kernel_count();
  json["tensors"] = problem.workload.graph.tensor_count();
  json["chips"] = problem.system.chips;
  return line(json);
}

std::string start_event(const training::Task& task, const std::string& title, int threads,
                        const SearchStats& before) {
  return step_start(name_of(WorkloadKind::LlmTraining), task.machine.chips,
                    start(title, threads, before));
}

std::string start_event(const calculon::Task& task, const std::string& title, int threads,
                        const SearchStats& before) {
  const bool training = task.transformer.training;
  return step_start(name_of(training ? WorkloadKind::LlmTraining : WorkloadKind::LlmPrefill),
                    task.machine.chips, start(title, threads, before));
}

std::string start_event(const serving::Task& task, const std::string& title, int threads,
                        const SearchStats& before) {
  std::int64_t chips = 0;
  for (const serving::Pool& pool : task.pools) chips += pool.chips;
  return step_start("llm_serving", chips, start(title, threads, before));
}

std::string progress_event(const Progress& progress) {
  return line(with_progress("progress", progress));
}

std::string incumbent_event(const Progress& progress, const Mapping& mapping) {
  return line(with_mapping(progress, mapping));
}

std::string split_event(const Progress& progress, const Mapping& mapping, const ChipDesign& design,
                        const Chip& chip) {
  Json json = with_mapping(progress, mapping);
  json["split"] = split_json(design, chip);
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

std::string done_event(const Certainty& certainty, std::optional<Score> objective,
                       const SearchStats& stats) {
  Json json = event("done", stats.time);
  json["status"] = name_of(certainty.status);
  json["stopped_by"] = stop_json(certainty.stopped_by);
  json["nodes"] = stats.nodes;
  json["objective"] = or_null(objective);
  const bool bounded = certainty.status != SearchStatus::Infeasible;
  json["lower_bound"] = bounded ? number(certainty.lower_bound) : Json();
  json["gap"] = objective ? Json(certainty.gap) : Json();
  return line(json);
}

}  // namespace dfsearch
