#include "io/result/shelf_json.hpp"

#include "graph/names.hpp"
#include "io/config/shelf_figures.hpp"
#include "io/result/answer_json.hpp"
#include "io/result/asked_json.hpp"
#include "io/text/json_text.hpp"
#include "model/names.hpp"

namespace dfsearch {
namespace {

void append_figures(Json& object, const SystemFigures& figures) {
  const Machine& machine = figures.machine;
  Json memory = value_json(machine.memory[0]);
  memory["second"] = value_json(machine.second_memory());
  append(object, "chips", or_null(figures.chips));
  append(object, "peak", number(machine.peak()));
  append(object, "sram", value_json(sram_of(machine)));
  append(object, "memory", std::move(memory));
  append(object, "network", value_json(machine.network));
}

void append_figures(Json& object, const WorkloadFigures& figures) {
  put(object,
      join(DFSEARCH_KEYS(WorkloadFigures, kind, layers, global_batch, flop),
           key<WorkloadFigures, &WorkloadFigures::counts>("model")),
      &figures);
}

void append_figures(Json& object, const StudyFigures& figures) {
  append(object, "dimensions", json_list(figures.dimensions, [](const DimensionOfStudy& dimension) {
           return object_json(DFSEARCH_KEYS(DimensionOfStudy, axes, choices), &dimension);
         }));
}

Json file_json(const ShelfFile& file) {
  Json object = {{"name", file.name}, {"description", file.description()}};
  if (file.kind == ShelfKind::Systems) append_figures(object, system_figures(file));
  if (file.kind == ShelfKind::Workloads) append_figures(object, workload_figures(file));
  if (file.kind == ShelfKind::Studies) append_figures(object, study_figures(file));
  return object;
}

}  // namespace

std::string shelf_json(std::span<const ShelfKind> kinds) {
  Json lists = Json::object();
  for (const ShelfKind kind : kinds) {
    append(lists, name_of(kind), json_list(shelf(kind), file_json));
  }
  return json_text(lists);
}

}  // namespace dfsearch
