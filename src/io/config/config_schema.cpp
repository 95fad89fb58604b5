#include "io/config/config_schema.hpp"

#include "io/config/config_execution.hpp"
#include "io/config/config_readers.hpp"
#include "io/config/config_system.hpp"
#include "io/config/load_config.hpp"
#include "io/config/serving_text.hpp"
#include "io/config/workload_text.hpp"
#include "io/schema/write_schema.hpp"
#include "model/machine/machine_schema.hpp"

namespace dfsearch {
namespace {

template <class T>
constexpr const Type& kObject = TypeOf<T>::type;

/// Roots of the schemas of other kinds of configs.
struct PlanRoot {};
struct ServingRoot {};
struct ExecutionRoot {};

constexpr Type kPresetOrSwitches = either(TypeOf<Preset>::type, kObject<EquationsSection>);

}  // namespace

const Schema& schema_of(Rows<MappingRoot>) {
  static constexpr Field kFields[] = {
      by_hand("workload", "the computation", kWorkloadType,
              {.flags = kRequired | kFromFile | kFromModel}),
      by_hand("system", "the machine", kSystemType, {.flags = kRequired | kFromFile}),
      by_hand("execution", "how partitions run, and fixed decisions", kObject<ExecutionSection>),
      by_hand("price", "what the machine costs", kObject<Price>),
      by_hand("power", "what the machine draws", kObject<Power>),
      by_hand("energy", "what work, idling and links take", kObject<EnergyRates>),
      by_hand("equations", "which variant of the model holds", kPresetOrSwitches),
      by_hand("search", "what is searched and minimised, and when to stop", kObject<SearchSection>),
      by_hand("sharding", "pins of sharded loops", kObject<ShardingSection>),
      by_hand("parallelism", "which degrees the search may choose", kObject<ParallelismSection>)};
  return schema<MappingRoot, kFields>("config");
}

const Schema& schema_of(Rows<PlanRoot>) {
  static constexpr Field kFields[] = {
      by_hand("workload", "the model that is trained", kWorkloadType,
              {.flags = kRequired | kFromFile | kFromModel}),
      by_hand("system", "the machine", kAny, {.flags = kRequired}),
      by_hand("execution", "the rates of a chip", kObject<PlanExecutionSection>),
      by_hand("price", "what the machine costs", kObject<Price>),
      by_hand("power", "what the machine draws", kObject<Power>),
      by_hand("energy", "what work, idling and links take", kObject<EnergyRates>),
      by_hand("parallelism", "which degrees the search may choose", kObject<training::Choices>),
      by_hand("training", "decisions of the plan that are given", kObject<training::Task>,
              {.flags = kRequired}),
      by_hand("search", "when to stop", kObject<SearchSettings>)};
  return schema<PlanRoot, kFields>("config of a plan");
}

const Schema& schema_of(Rows<ExecutionRoot>) {
  static constexpr Field kFields[] = {
      by_hand("workload", "the model", kObject<calculon::ModelShape>,
              {.flags = kRequired | kFromFile}),
      by_hand("system", "the machine", kAny, {.flags = kRequired}),
      by_hand("equations", "calculon", kPresetOrSwitches, {.flags = kRequired}),
      by_hand("calculon", "decisions that are given", kObject<calculon::Task>,
              {.flags = kRequired}),
      by_hand("search", "when to stop", kObject<SearchSettings>)};
  return schema<ExecutionRoot, kFields>("config of an execution");
}

const Schema& schema_of(Rows<ServingRoot>) {
  static constexpr Field kFields[] = {
      by_hand("workload", "the model and its requests", kObject<ServedSection>),
      by_hand("fleet", "several models, in place of `workload`", kObject<FleetSection>),
      by_hand("serving", "the chips, and decisions of the deployment that are given",
              kObject<ServingSection>, {.flags = kRequired}),
      by_hand("search", "when to stop", kObject<SearchSettings>)};
  return schema<ServingRoot, kFields>("config of a deployment");
}

std::string config_schema(const Type& closed_form) {
  static constexpr Type kMappingOrPlan =
      either(kObject<MappingRoot>, kObject<PlanRoot>, "training");
  static constexpr Type kOthers = either(kMappingOrPlan, kObject<ExecutionRoot>, "calculon");
  static constexpr Type kSearches = either(kOthers, kObject<ServingRoot>, "serving");
  const Type hpl = either(kSearches, closed_form, kClosedForms[0]);
  const Type fft = either(hpl, closed_form, kClosedForms[1]);
  return json_schema(either(fft, closed_form, kClosedForms[2]), "dfsearch config");
}

}  // namespace dfsearch
