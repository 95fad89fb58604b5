#pragma once
// Rows of the sections that describe plans and the rates of a chip.

#include <optional>

#include "io/config/config_rates.hpp"
#include "model/stack/stack.hpp"
#include "model/training/task.hpp"
#include "schema/schema.hpp"

namespace dfsearch {

struct EngineSection {
  std::optional<FlopsPerSecond> peak;
  CurveSection<Flops> curve;
};
struct VectorSection {
  EngineSection engine;
  std::optional<double> of_matrix;
};
struct RatesSection {
  std::optional<EngineSection> matrix;
  std::optional<VectorSection> vector;
  std::optional<CurveSection<Bytes>> memory, second;
};
struct PlanExecutionSection {
  Style style = Style::KernelByKernel;
  std::optional<std::int64_t> partitions;
  Overlap overlap = Overlap::None;
  std::optional<double> compute_utilization;
  std::optional<RatesSection> efficiency;
  std::optional<stack::Stack> stack;
  std::optional<stack::MeasuredChip> chip;
  std::optional<stack::Precision> precision;
};

const Schema& schema_of(Rows<EngineSection>);
const Schema& schema_of(Rows<VectorSection>);
const Schema& schema_of(Rows<RatesSection>);
const Schema& schema_of(Rows<PlanExecutionSection>);
/// The section `training`, with what other sections said in the task.
const Schema& schema_of(Rows<training::Task>);
/// The section `parallelism`, a degree for every role.
const Schema& schema_of(Rows<training::Choices>);
const Schema& schema_of(Rows<training::StackChanges>);
const Schema& schema_of(Rows<memory::Loss>);
/// A dimension of the network may say which role it serves.
extern const Field kRoleOfDimension;

}  // namespace dfsearch
