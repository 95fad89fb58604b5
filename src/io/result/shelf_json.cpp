#include "io/result/shelf_json.hpp"

#include "graph/names.hpp"
#include "io/config/shelf_figures.hpp"
#include "io/result/asked_json.hpp"
#include "io/result/model_json.hpp"
#include "io/text/json_text.hpp"
#include "model/names.hpp"

namespace dfsearch {
namespace {

void append_figures(Json& object, const SystemFigures& figures) {
  const Machine& machine = figures.machine;
  Json memory = tier_json(machine.memory[0]);
  memory["second"] = machine.second_memory() ? tier_json(*machine.second_memory()) : Json();
  append(object, "chips", or_null(figures.chips));
  append(object, "peak", number(machine.peak()));
  append(object, "sram", sram_json(machine));
  append(object, "memory", std::move(memory));
  append(object, "network", network_json(machine));
}

void append_figures(Json& object, const WorkloadFigures& figures) {
  append(object, "kind", name_of(figures.kind));
  append(object, "layers", figures.layers);
  append(object, "global_batch", figures.global_batch);
  append(object, "flop", number(figures.flop));
  append(object, "model", model_json(figures.counts));
}

void append_figures(Json& object, const StudyFigures& figures) {
  append(object, "dimensions",
         json_list(figures.dimensions, [](const DimensionOfStudy& dimension) -> Json {
           return {{"axes", dimension.axes}, {"choices", dimension.choices}};
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
