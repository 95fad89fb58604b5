#include "io/result/event_text.hpp"

#include <string_view>
#include <utility>

#include "base/version.hpp"
#include "engine/names.hpp"
#include "graph/names.hpp"
#include "io/result/chip_json.hpp"
#include "io/result/mapping_json.hpp"
#include "io/text/json_text.hpp"
#include "model/names.hpp"

namespace dfsearch {
namespace {

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

Json with_mapping(const Progress& progress, const Mapping& mapping) {
  Json json = with_progress("incumbent", progress);
  json["parallelism"] = parallelism_json(mapping);
  json["network"] = network_json(mapping);
  json["micro_batch"] = mapping.micro_batch;
  json["tile"] = mapping.tile;
  return json;
}

std::string line(const Json& json) { return json_line(json) + "\n"; }

}  // namespace

std::string start_event(const Problem& problem, const std::string& title, int threads,
                        const SearchStats& before) {
  Json json = event("start", before.time);
  json["dfsearch"] = kVersion;
  json["config"] = title;
  json["workload"] = name_of(problem.workload.kind);
  json["kernels"] = problem.workload.graph.kernel_count();
  json["tensors"] = problem.workload.graph.tensor_count();
  json["chips"] = problem.system.chips;
  json["threads"] = threads;
  json["nodes"] = before.nodes;
  return line(json);
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

std::string stop_event(const SearchResult& result, StopReason reason) {
  Json json = event("stop", result.stats.time);
  json["reason"] = name_of(reason);
  return line(json);
}

std::string done_event(const SearchResult& result) {
  Json json = event("done", result.stats.time);
  const bool stopped = result.stopped_by != StopReason::None;
  json["status"] = name_of(result.status);
  json["stopped_by"] = stopped ? Json(name_of(result.stopped_by)) : Json();
  json["nodes"] = result.stats.nodes;
  json["objective"] = result.cost ? number(result.cost->objective) : Json();
  const bool bounded = result.status != SearchStatus::Infeasible;
  json["lower_bound"] = bounded ? number(result.lower_bound) : Json();
  json["gap"] = result.cost ? Json(result.gap) : Json();
  return line(json);
}

}  // namespace dfsearch
