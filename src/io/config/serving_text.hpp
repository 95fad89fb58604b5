#pragma once
// Rows of the sections of configs of kind llm_serving.

#include <optional>
#include <string>
#include <vector>

#include "io/config/config_system.hpp"
#include "io/config/workload_text.hpp"
#include "model/serving/task.hpp"
#include "schema/schema.hpp"

namespace dfsearch {

/// A model alone: the keys of a transformer by rule.
struct ServingModelSection {
  LlmSection llm{.model = {.head_dim = 0}};

  [[nodiscard]] Transformer model() const;
};

struct SpeculationSection {
  serving::Drafting kind = serving::Drafting::None;
  std::vector<std::int64_t> depths, depth;
  std::vector<double> acceptance;
  std::optional<ServingModelSection> draft;
};

/// The value of `workload.kind`.
enum class ServedKind : std::uint8_t { LlmServing };
constexpr auto words(ServedKind) {
  return named<ServedKind>({{"llm_serving", ServedKind::LlmServing}});
}

/// Formats to choose from; empty `products` and `head` stand for the formats of the weights.
struct PrecisionSection {
  std::array<serving::ModulePrecision, serving::kModules> modules;
  std::vector<serving::Number> dispatch, combine;
  std::vector<serving::Number> weights = {serving::Number::Bf16}, cache = weights, products, head,
                               activations = weights, attention = weights, communication = weights;
  serving::Number state = serving::Number::Fp32;

  [[nodiscard]] std::vector<serving::Precision> all() const;
};

/// Popularity of experts: the k-th expert is chosen in proportion to k^-zipf.
struct PopularitySection {
  double zipf = 0.0;
};

struct ServedSection {
  ServedKind kind = ServedKind::LlmServing;
  ServingModelSection model;
  std::optional<std::int64_t> input, output, prefix;
  std::vector<serving::RequestClass> requests;
  std::optional<double> rate, concurrency, rounds, num_requests;
  std::optional<PopularitySection> popularity;
  double length_spread = 0.0;
  PrecisionSection precision;
  SpeculationSection speculation;
};

struct FleetModelSection {
  std::string name;
  ServedSection workload;
  serving::Limits limits;
};

/// The section `fleet`, in place of `workload`.
struct FleetSection {
  serving::Budget budget;
  std::vector<FleetModelSection> models;
};

struct PoolDimensionSection {
  NetworkDimension dimension{.topology = Topology::Switch, .degree = {}, .strategy = {}};
};

struct PeaksSection {
  std::array<std::optional<FlopsPerSecond>, serving::kNumbers> of;
};

struct PoolSystemSection {
  std::optional<AcceleratorSection> accelerator;
  MemorySection memory;
  std::vector<PoolDimensionSection> network;
  PeaksSection peak;
  Peaks peaks;  ///< of the machine, for numbers without a peak in `peak`
  std::string chip;
  double price = 0.0;
  Watts power{};
  EnergyRates energy;
  std::optional<BytesPerSecond> transfer;
  serving::Engine engine;
  serving::LayerExecution execution;
};

struct PoolSection {
  std::string name;
  std::int64_t chips = 1;
  PoolSystemSection system;
};

struct ServingSection {
  std::vector<PoolSection> pools;
  serving::Task task;
  std::optional<serving::Release> engine;
  std::vector<Bytes> outside;  ///< one for all levels, or one for each
  Bytes graphs{};
  std::string measured;
};

const Schema& schema_of(Rows<serving::RequestClass>);
const Schema& schema_of(Rows<serving::ModulePrecision>);
const Schema& schema_of(Rows<PrecisionSection>);
const Schema& schema_of(Rows<serving::Shares>);
const Schema& schema_of(Rows<serving::ScanShares>);
const Schema& schema_of(Rows<serving::Engine>);
const Schema& schema_of(Rows<serving::MeasuredClass>);
const Schema& schema_of(Rows<serving::LayerExecution>);
const Schema& schema_of(Rows<serving::RoleChoices>);
const Schema& schema_of(Rows<serving::Limits>);
const Schema& schema_of(Rows<serving::Utilization>);
const Schema& schema_of(Rows<SpeculationSection>);
const Schema& schema_of(Rows<PoolDimensionSection>);
const Schema& schema_of(Rows<PeaksSection>);
const Schema& schema_of(Rows<PoolSystemSection>);
const Schema& schema_of(Rows<ServingModelSection>);
const Schema& schema_of(Rows<PopularitySection>);
const Schema& schema_of(Rows<ServedSection>);
const Schema& schema_of(Rows<FleetModelSection>);
const Schema& schema_of(Rows<serving::Budget>);
const Schema& schema_of(Rows<FleetSection>);
const Schema& schema_of(Rows<PoolSection>);
const Schema& schema_of(Rows<ServingSection>);

/// Range of the share of a resource that is used.
inline constexpr Interval kServedShare{1e-6, 1.0};

/// Reads "2 $/h".
const Type& price_per_hour();
/// Reads "40 /s".
const Type& requests_per_second();

}  // namespace dfsearch
