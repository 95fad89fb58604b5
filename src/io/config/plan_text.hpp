#pragma once
// Rows of the sections that describe plans and the rates of a chip.

#include <optional>

#include "io/config/config_rates.hpp"
#include "model/stack/stack.hpp"
#include "model/training/task.hpp"
#include "schema/schema.hpp"

namespace dfsearch {

struct EngineText {
  std::optional<FlopsPerSecond> peak;
  CurveText<Flops> curve;
};
struct VectorText {
  EngineText engine;
  std::optional<double> of_matrix;
};
struct RatesText {
  std::optional<EngineText> matrix;
  std::optional<VectorText> vector;
  std::optional<CurveText<Bytes>> memory, second;
};
struct PlanExecutionText {
  Style style = Style::KernelByKernel;
  std::optional<std::int64_t> partitions;
  Overlap overlap = Overlap::None;
  std::optional<double> compute_utilization;
  std::optional<RatesText> efficiency;
  std::optional<stack::Stack> stack;
  std::optional<stack::MeasuredChip> chip;
  std::optional<stack::Precision> precision;
};

const Schema& schema_of(Rows<EngineText>);
const Schema& schema_of(Rows<VectorText>);
const Schema& schema_of(Rows<RatesText>);
const Schema& schema_of(Rows<PlanExecutionText>);
/// The section `training`, with what other sections said in the task.
const Schema& schema_of(Rows<training::Task>);
/// The section `parallelism`, a degree for every role.
const Schema& schema_of(Rows<training::Choices>);
const Schema& schema_of(Rows<training::StackChanges>);
const Schema& schema_of(Rows<memory::Loss>);
/// A dimension of the network may say which role it serves.
extern const Field kRoleOfDimension;

}  // namespace dfsearch
