#include "io/config/config_schema.hpp"

#include "io/config/closed_forms.hpp"
#include "io/config/config_execution.hpp"
#include "io/config/config_system.hpp"
#include "io/config/config_training.hpp"
#include "io/config/plan_text.hpp"
#include "io/config/serving_text.hpp"
#include "io/config/workload_text.hpp"
#include "io/schema/write_schema.hpp"
#include "model/machine/machine_schema.hpp"

namespace dfsearch {
namespace {

template <class T>
constexpr const Type& kObject = TypeOf<T>::type;

/// Configs of the other kinds.
struct PlanRoot {};
struct ServingRoot {};
struct ExecutionRoot {};
struct ClosedFormRoot {};

constexpr Type kPresetOrSwitches = either(TypeOf<Preset>::type, kObject<EquationsSection>);

}  // namespace

const Schema& schema_of(Rows<MappingRoot>) {
  static constexpr Field kFields[] = {
      by_hand("workload", "what is computed", kWorkloadType,
              {.flags = kRequired | kFromFile | kFromModel}),
      by_hand("system", "on which machine", kSystemType, {.flags = kRequired | kFromFile}),
      by_hand("execution", "how partitions run, and which decisions are already taken",
              kObject<ExecutionSection>),
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
      by_hand("system", "on which machine", kAny, {.flags = kRequired}),
      by_hand("execution", "the rates of a chip", kObject<PlanExecutionSection>),
      by_hand("price", "what the machine costs", kObject<Price>),
      by_hand("power", "what the machine draws", kObject<Power>),
      by_hand("energy", "what work, idling and links take", kObject<EnergyRates>),
      by_hand("parallelism", "which degrees the search may choose", kObject<training::Choices>),
      by_hand("training", "what of the plan is given", kObject<training::Task>,
              {.flags = kRequired}),
      by_hand("search", "when to stop", kObject<SearchSettings>)};
  return schema<PlanRoot, kFields>("config of a plan");
}

const Schema& schema_of(Rows<ExecutionRoot>) {
  static constexpr Field kFields[] = {
      by_hand("workload", "the model", kObject<calculon::ModelShape>,
              {.flags = kRequired | kFromFile}),
      by_hand("system", "on which machine", kAny, {.flags = kRequired}),
      by_hand("equations", "calculon", kPresetOrSwitches, {.flags = kRequired}),
      by_hand("calculon", "what of the execution is given", kObject<calculon::ExecutionChoices>,
              {.flags = kRequired}),
      by_hand("search", "when to stop", kObject<SearchSettings>)};
  return schema<ExecutionRoot, kFields>("config of an execution");
}

const Schema& schema_of(Rows<ServingRoot>) {
  static constexpr Field kFields[] = {
      by_hand("workload", "the model and what is asked of it", kObject<ServedSection>),
      by_hand("fleet", "several models, in place of `workload`", kObject<FleetSection>),
      by_hand("serving", "the chips, and what of the deployment is given", kObject<ServingSection>,
              {.flags = kRequired}),
      by_hand("search", "when to stop", kObject<SearchSettings>)};
  return schema<ServingRoot, kFields>("config of a deployment");
}

const Schema& schema_of(Rows<ClosedFormRoot>) {
  static constexpr Field kFields[] = {
      by_hand("system", "on which machine", kSystemType, {.flags = kRequired | kFromFile}),
      by_hand(kClosedForms[0], "options of `dfsearch linpack` as keys", kAny),
      by_hand(kClosedForms[1], "options of `dfsearch fourier` as keys", kAny),
      by_hand(kClosedForms[2], "options of `dfsearch collective` as keys", kAny)};
  return schema<ClosedFormRoot, kFields>("config of a closed form");
}

std::string config_schema() {
  static constexpr Type kMappingOrPlan =
      either(kObject<MappingRoot>, kObject<PlanRoot>, "training");
  static constexpr Type kOthers = either(kMappingOrPlan, kObject<ExecutionRoot>, "calculon");
  static constexpr Type kSearches = either(kOthers, kObject<ServingRoot>, "serving");
  static constexpr const Type& kClosed = kObject<ClosedFormRoot>;
  static constexpr Type kHpl = either(kSearches, kClosed, kClosedForms[0]);
  static constexpr Type kFft = either(kHpl, kClosed, kClosedForms[1]);
  static constexpr Type kConfig = either(kFft, kClosed, kClosedForms[2]);
  return json_schema(kConfig, "dfsearch config");
}

}  // namespace dfsearch
