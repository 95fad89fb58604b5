// Rows of the pools of configs of kind llm_serving: a chip, its network, its software.

#include "io/config/config_network.hpp"
#include "io/config/serving_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "base/error.hpp"
#include "base/units_text.hpp"
#include "model/machine/machine_schema.hpp"
#include "model/problem_schema.hpp"
#include "schema/report.hpp"

namespace dfsearch {
namespace {

constexpr Interval kHostTime{0.0, 1e3};
constexpr Type kDimensionList = list_type<PoolDimensionSection, Form::List>("dimensions", 8);

void check_pool_system(void* object, Report& report) {
  const auto& text = *static_cast<PoolSystemSection*>(object);
  if (!text.accelerator && !text.peak.of[static_cast<std::size_t>(serving::Number::Bf16)]) {
    report.at_map("expected 'peak' with a rate for bf16, or 'accelerator'");
  }
  if (text.memory.second || text.memory.first.latency > Seconds{}) {
    report.at({&text.memory},
              "expected neither 'second' nor 'latency', which deployments do not use");
  }
  const bool has_sram = text.accelerator && text.accelerator->accelerator.sram > Bytes{};
  if (text.execution.style == Style::Dataflow && !has_sram) {
    report.at({&text.execution}, "style dataflow needs 'sram' in 'accelerator', to hold a layer");
  }
  for (std::size_t d = 0; d + 1 < text.network.size(); ++d) {
    if (!text.network[d].dimension.degree) {
      report.inside(&text.network, d, nullptr,
                    "missing key 'degree': only the last dimension may have none");
    }
  }
}

void check_engine(void* object, Report& report) {
  const auto& sizes = static_cast<const serving::Engine*>(object)->graph_sizes;
  if (std::adjacent_find(sizes.begin(), sizes.end(), std::greater_equal<>()) != sizes.end()) {
    report.at({&sizes}, "expected sizes in rising order");
  }
}

}  // namespace

const Schema& schema_of(Rows<PoolDimensionSection>) {
  using D = PoolDimensionSection;
  static constexpr Field kFields[] = {
      field<&D::dimension, &NetworkDimension::topology>("topology", "how its members are joined"),
      field<&D::dimension, &NetworkDimension::degree>("degree", "number of members",
                                                      {.preset = "all chips"}),
      field<&D::dimension, &NetworkDimension::bandwidth>(
          "bandwidth", "bandwidth of one link, one way",
          {.limits = kBandwidthLimits, .flags = kRequired}),
      field<&D::dimension, &NetworkDimension::latency>(
          "latency", "latency of one message over one link", {.limits = kLatencyLimits}),
      field<&D::dimension, &NetworkDimension::both_ways>("both_ways", kBothWays)};
  return schema<D, kFields>("dimension of a pool");
}

const Schema& schema_of(Rows<PeaksSection>) {
  using P = PeaksSection;
  static constexpr Extra kPeak{.limits = {1.0, 1e24}, .preset = "that of bf16"};
  static constexpr Field kFields[] = {
      element<0, &P::of>("fp32", "", kPeak),  element<1, &P::of>("bf16", "", kPeak),
      element<2, &P::of>("fp8", "", kPeak),   element<3, &P::of>("int8", "", kPeak),
      element<4, &P::of>("nvfp4", "", kPeak), element<5, &P::of>("mxfp4", "", kPeak),
      element<6, &P::of>("fp4", "", kPeak),   element<7, &P::of>("int4", "", kPeak)};
  static_assert(serving::multiplied(serving::Number{8}) == serving::Number::Bf16 &&
                serving::kNumbers == 10);  // other formats have no products
  return schema<P, kFields>("peaks");
}

const Schema& schema_of(Rows<serving::Shares>) {
  using S = serving::Shares;
  static constexpr Field kFields[] = {
      field<&S::matrix>("matrix", "share of the peak that products reach",
                        {.limits = kServedShare}),
      field<&S::matrix_8bit>("matrix_8bit", "share of the 8-bit peak that such products reach",
                             {.limits = kServedShare, .preset = "as `matrix`"}),
      field<&S::matrix_4bit>("matrix_4bit", "share of the 4-bit peak that such products reach",
                             {.limits = kServedShare, .preset = "as `matrix`"}),
      field<&S::experts>("experts", "share of the peak that products of experts reach",
                         {.limits = kServedShare, .preset = "as other products"}),
      field<&S::experts_scale>("experts_scale",
                               "factor on `experts` for products of many experts at once",
                               {.limits = kServedShare}),
      field<&S::experts_memory>("experts_memory",
                                "share of the memory bandwidth that these products reach",
                                {.limits = kServedShare, .preset = "as `memory`"}),
      field<&S::attention>("attention", "share of the peak that attention reaches",
                           {.limits = kServedShare}),
      field<&S::memory>("memory", "share of the memory bandwidth that weights and values reach",
                        {.limits = kServedShare}),
      field<&S::cache>("cache", "share of the memory bandwidth that keys and values reach",
                       {.limits = kServedShare}),
      field<&S::network>("network", "share of the bandwidth of links that is reached",
                         {.limits = kServedShare})};
  return schema<S, kFields>("shares");
}

const Schema& schema_of(Rows<serving::Engine>) {
  using E = serving::Engine;
  static constexpr Type kSizes = list_type<std::int64_t, Form::Values>({}, 256);
  static constexpr Type kMeasured =
      list_type<serving::MeasuredClass, Form::List>("classes of measured deployments");
  static constexpr Extra kTime{.limits = kHostTime};
  static constexpr Field kFields[] = {
      field<&E::pass>("pass", "additional time of each pass of a stage", kTime),
      field<&E::layer>("layer", "additional time of each layer", kTime),
      field<&E::expert_layer>("expert_layer", "further time of each layer with experts", kTime),
      field<&E::rank_layer>("rank_layer", "further time of each layer whose experts ranks share",
                            kTime),
      field<&E::request>("request", "additional time of a decoding request in a stage", kTime),
      field<&E::prefill>("prefill", "additional time of each request, once", kTime),
      field<&E::answer>("answer", "additional time of the first token of a request", kTime),
      field<&E::usable>("usable", "usable share of the memory", {.limits = kServedShare}),
      field<&E::reserved>("reserved", "memory that is kept free for other uses",
                          {.limits = {0, 1e24}}),
      field<&E::tile>("tile", "rows of an expert that are computed together",
                      {.limits = {0, 4096}}),
      field<&E::exchange>("exchange",
                          "how ranks exchange tokens of experts: each token goes to its experts "
                          "and back, or all tokens go to all ranks"),
      field<&E::dispatch>(
          "dispatch",
          "with `all_to_all`: how many copies of a token leave the innermost dimension, one for "
          "each expert or one for each group of chips with such experts"),
      field<&E::node_limit>("node_limit",
                            "greatest number of groups that hold the experts of a token",
                            {.preset = "any"}),
      field<&E::graph_sizes>(
          "graph_sizes",
          "sizes of recorded CUDA graphs, in tokens: iterations without prefill are padded to the "
          "next one, except in open loops and with separate prefill",
          {.type = &kSizes, .limits = {1, 1e6}, .preset = "any number"}),
      field<&E::ranks>("ranks", "whether all ranks prefill in the same iterations"),
      field<&E::release>(
          "release", "release of the server, which determines the memory for everything but caches",
          {.preset = "none: `reserved`"}),
      field<&E::shares>("shares", "share of the peak that is reached, by resource"),
      field<&E::scans>("scans",
                       "shares of the peak reached by blocks with a state and by scores of indexes",
                       {.preset = "guessed; 1 without an engine"}),
      field<&E::measured>("measured", "deployments that the constants were compared with",
                          {.type = &kMeasured, .preset = "none"})};
  return schema<E, kFields>("serving engine", &check_engine);
}

const Schema& schema_of(Rows<serving::MeasuredClass>) {
  using M = serving::MeasuredClass;
  static constexpr Field kFields[] = {
      field<&M::kind>("kind", "kind of the model, or separate prefill", {.flags = kRequired}),
      field<&M::job>("job", "whether all requests arrive at once"),
      field<&M::bits>("bits", "bits of a weight (of experts, if the model has some)",
                      {.limits = {4, 32}}),
      field<&M::ranks>("ranks", "whether ranks of requests share experts"),
      field<&M::wide>("wide", "whether a stage has more than eight chips"),
      field<&M::requests>("requests", "greatest number of requests of a replica at once",
                          {.limits = {1, 1e9}}),
      field<&M::rows>("rows", "number of measured rows", {.limits = {0, 1e9}}),
      field<&M::off>("off", "mean relative error of the time per token", {.limits = {0, 1e3}}),
      field<&M::bias>("bias", "mean signed relative error", {.limits = {-1, 1e3}}),
      field<&M::beyond>("beyond", "rows that are more than 40 % off", {.limits = {0, 1e9}})};
  return schema<M, kFields>("measured deployments");
}

const Schema& schema_of(Rows<serving::ScanShares>) {
  using S = serving::ScanShares;
  static constexpr Field kFields[] = {
      field<&S::products>("products",
                          "share of the bf16 peak that state spaces and linear attention reach",
                          {.limits = kServedShare}),
      field<&S::delta_rule>("delta_rule", "the same for delta rules", {.limits = kServedShare}),
      field<&S::elementwise>("elementwise", "the same for work other than products",
                             {.limits = kServedShare}),
      field<&S::index>("index", "share of the fp8 peak that an index reaches",
                       {.limits = kServedShare}),
      field<&S::start>("start", "least time of a scan of a pass", {.limits = kHostTime})};
  return schema<S, kFields>("shares of scans");
}

const Schema& schema_of(Rows<serving::LayerExecution>) {
  using E = serving::LayerExecution;
  static constexpr Field kFields[] = {
      field<&E::style>("style",
                       "`kernel_by_kernel`: kernels of a layer run one after the other; "
                       "`dataflow`: the kernels of a partition run at once, as a pipeline"),
      field<&E::overlap>("overlap",
                         "which of compute, memory and network of a layer overlap, with dataflow")};
  return schema<E, kFields>("execution of layers");
}

const Schema& schema_of(Rows<PoolSystemSection>) {
  using P = PoolSystemSection;
  constexpr auto kBf16 = static_cast<std::size_t>(serving::Number::Bf16);
  static constexpr Type kPeaks =
      either(kInPlace<&PeaksSection::of, kBf16>, TypeOf<PeaksSection>::type);
  static const Field kFields[] = {
      field<&P::peak>(
          "peak", "peak of a chip in dense products: one rate, or one for each number format",
          {.type = &kPeaks, .limits = {1.0, 1e24}, .preset = "that of the accelerator"}),
      field<&P::peaks>(
          "peaks", "peaks by number format, used for formats that `peak` and `chip` do not have",
          {.preset = "that of 16 bits, for all formats"}),
      field<&P::accelerator>("accelerator", "cores of a chip", {.preset = "`peak`"}),
      field<&P::chip>(
          "chip",
          "a built-in measured chip, whose peaks are used for formats that `peak` does not have",
          {.preset = "none"}),
      field<&P::memory>("memory", "memory of a chip", {.flags = kRequired}),
      field<&P::network>("network", "dimensions, innermost first",
                         {.type = &kDimensionList, .preset = "none, for one chip"}),
      field<&P::price>("price", "price of a chip", {.type = &price_per_hour(), .limits = {0, 1e9}}),
      field<&P::power>("power", "power of a chip", {.limits = {0, 1e9}}),
      field<&P::energy>("energy", "energies of a chip", {.preset = "not stated"}),
      field<&P::transfer>("transfer", "rate at which a chip sends caches to another pool",
                          {.limits = kBandwidthLimits, .preset = "the last dimension's bandwidth"}),
      field<&P::engine>(
          "engine", "the constants of the serving software: a built-in engine, a file, or a map",
          {.preset = "none", .flags = kFromFile | kFileName}),
      field<&P::execution>("execution", "how a chip runs a layer")};
  return schema<P, kFields>("system of a pool", &check_pool_system);
}

const Schema& schema_of(Rows<PoolSection>) {
  using P = PoolSection;
  static constexpr Field kFields[] = {
      field<&P::name>("name", "unique name of the pool", {.flags = kRequired}),
      field<&P::chips>("chips", "number of chips", {.limits = {1, 16777216}, .flags = kRequired}),
      field<&P::system>("system", "a chip and its network", {.flags = kRequired | kFromFile})};
  return schema<P, kFields>("pool");
}

namespace {

/// A number with a unit after it: "2 $/h".
template <char... word>
double number_before(std::string_view text) {
  constexpr char kWord[] = {word..., '\0'};
  const std::string_view unit = kWord;
  if (text.ends_with(unit)) {
    text.remove_suffix(unit.size());
    while (text.ends_with(' ')) text.remove_suffix(1);
    return parse_number(std::string(text));
  }
  throw InputError(fmt::format("expected a number with the unit {}, got '{}'", unit, text));
}

const Unit kHourly{.name = "price",
                   .base = "$/h",
                   .pattern = "\\$/h",
                   .parse = &number_before<'$', '/', 'h'>,
                   .text = [](double value) { return fmt::format("{} $/h", value); }};
const Unit kRate{.name = "rate",
                 .base = "/s",
                 .pattern = "/s",
                 .parse = &number_before<'/', 's'>,
                 .text = [](double value) { return fmt::format("{} /s", value); }};

Type with_unit(const Unit& unit) {
  Type type = TypeOf<double>::type;
  type.form = Form::Quantity;
  type.unit = &unit;
  return type;
}

}  // namespace

const Type& price_per_hour() {
  static const Type kType = with_unit(kHourly);
  return kType;
}

const Type& requests_per_second() {
  static const Type kType = with_unit(kRate);
  return kType;
}

}  // namespace dfsearch
