// Rows of the sections of configs of kind llm_serving (docs/serving.md, section 1).

#include <fmt/format.h>

#include <algorithm>

#include "io/config/serving_text.hpp"
#include "model/machine/machine_schema.hpp"
#include "model/problem_schema.hpp"
#include "schema/report.hpp"

namespace dfsearch {
namespace {

constexpr Interval kTokens{1.0, 1e9};
constexpr Interval kCachedTokens{0.0, 1e9};

Type or_none(const Type& type) {
  return {.form = Form::Optional,
          .inner = &type,
          .resize = TypeOf<std::optional<double>>::type.resize,
          .size = TypeOf<std::optional<double>>::type.size,
          .at = TypeOf<std::optional<double>>::type.at};
}
const Type kServedOrNone = or_none(requests_per_second());
const Type kPriceOrNone = or_none(price_per_hour());

constexpr Type kRequestList = list_type<serving::RequestClass, Form::List>("classes of requests");
constexpr Type kModelList = list_type<FleetModelSection, Form::List>("models", 16);
constexpr Type kPoolList = list_type<PoolSection, Form::List>("pools", 16);

void check_request(void* object, Report& report) {
  const auto& request = *static_cast<const serving::RequestClass*>(object);
  if (request.prefix >= request.input) {
    report.at({&request.prefix}, fmt::format("expected less than the input, {}, got {}",
                                             request.input, request.prefix));
  }
}

void check_served(void* object, Report& report) {
  auto& text = *static_cast<ServedSection*>(object);
  const bool listed = report.given(&text.requests);
  if (listed) {
    for (const void* member :
         {static_cast<const void*>(&text.input), static_cast<const void*>(&text.output),
          static_cast<const void*>(&text.prefix)}) {
      if (report.given(member))
        report.at_key(member, "not allowed with 'requests'; give one of the two keys");
    }
    if (text.requests.empty()) report.at({&text.requests}, "expected at least one class");
  } else {
    if (!text.input) return report.at_map("missing key 'input', or 'requests'");
    if (!text.output) return report.at_map("missing key 'output', or 'requests'");
    text.requests = {
        {.input = *text.input, .output = *text.output, .prefix = text.prefix.value_or(0)}};
    if (text.requests[0].prefix >= text.requests[0].input) {
      report.at({&text.prefix}, fmt::format("expected less than the input, {}, got {}", *text.input,
                                            text.requests[0].prefix));
    }
  }
  if (text.rate && text.concurrency) {
    report.at({&text.concurrency}, "not allowed with 'rate'; give one of the two keys");
  }
  if (text.rounds && !text.concurrency)
    report.at_key(&text.rounds, "only valid with 'concurrency'; set that or remove this key");
  if (!text.num_requests) return;
  if (text.rate || text.concurrency) {
    report.at({&text.num_requests},
              "not allowed with 'rate' or 'concurrency', which describe a load without end; give "
              "one of the keys");
  }
  if (text.length_spread > 0.0) {
    report.at(
        {&text.length_spread},
        "not allowed with 'num_requests', whose requests have equal lengths; remove this key");
  }
}

void check_fleet(void* object, Report& report) {
  const auto& text = *static_cast<FleetSection*>(object);
  if (text.models.empty()) report.at({&text.models}, "expected at least one model");
  for (std::size_t i = 0; i < text.models.size(); ++i) {
    const FleetModelSection& model = text.models[i];
    if (!model.workload.rate) {
      report.inside(&text.models, i, &model.workload,
                    "missing key 'rate': each model of a fleet needs one");
    }
    for (std::size_t j = 0; j < i; ++j) {
      if (text.models[j].name != model.name) continue;
      report.inside(&text.models, i, &model.name,
                    "another model has this name; expected different names");
    }
  }
}

/// Refuses an objective or a limit on cost or energy if no pool has a price or power.
void check_prices(const ServingSection& text, Report& report) {
  using serving::Objective;
  const auto has = [&](const auto& given) {
    return std::any_of(text.pools.begin(), text.pools.end(), given);
  };
  const auto& task = text.task;
  const bool of_price = task.objective == Objective::Cost || task.front == serving::FrontAxis::Cost;
  const void* const by =
      task.objective == Objective::Front ? static_cast<const void*>(&task.front) : &task.objective;
  if (!has([](const PoolSection& pool) { return pool.system.price > 0.0; })) {
    constexpr const char* kNeeds = "needs a 'price' in the system of at least one pool";
    if (of_price) report.at({by}, kNeeds);
    if (task.limits.cost) report.at_key(&task.limits, std::string("cost ") + kNeeds);
  }
  if (asks_energy(task.objective) && !has([](const PoolSection& pool) {
        return pool.system.power > Watts{} || pool.system.energy.stated();
      })) {
    report.at({by}, "needs a 'power' or an 'energy' in the system of at least one pool");
  }
}

void check_serving(void* object, Report& report) {
  const auto& text = *static_cast<ServingSection*>(object);
  if (text.pools.empty()) report.at({&text.pools}, "expected at least one pool");
  for (std::size_t i = 0; i < text.pools.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (text.pools[i].name != text.pools[j].name) continue;
      report.inside(&text.pools, i, &text.pools[i].name,
                    "another pool has this name; expected different names");
    }
  }
  const auto& task = text.task;
  for (std::size_t i = 0; i < task.modes.size(); ++i) {
    if (std::count(task.modes.begin(), task.modes.end(), task.modes[i]) > 1) {
      report.at({&task.modes}, "expected different modes, got one twice");
      break;
    }
  }
  if (text.outside.size() == 2) {
    report.at({&text.outside}, "expected one size, or three: for the levels low, typical and high");
  }
  if (!std::is_sorted(text.outside.begin(), text.outside.end())) {
    report.at({&text.outside}, "expected sizes in rising order, from low to high");
  }
  const bool has_release =
      text.engine || std::all_of(text.pools.begin(), text.pools.end(), [](const PoolSection& pool) {
        return pool.system.engine.release;
      });
  if (!has_release) {
    constexpr std::string_view kNeeds =
        "only valid with 'engine', the release of a server; set that or remove this key";
    if (!text.outside.empty()) report.at({&text.outside}, std::string(kNeeds));
    if (text.graphs > Bytes{}) report.at({&text.graphs}, std::string(kNeeds));
    if (task.level != memory::Level::Typical) report.at({&task.level}, std::string(kNeeds));
  }
  check_prices(text, report);
  if (!text.measured.empty() && task.objective != serving::Objective::Front) {
    report.at_key(&text.measured, "only valid with the objective 'front'");
  }
  if (task.front != serving::FrontAxis::ThroughputPerChip &&
      task.objective != serving::Objective::Front) {
    report.at_key(&task.front, "only valid with the objective 'front'");
  }
}

constexpr double kMostCopies = 4096;
constexpr std::string_view kAllThatFit = "all that fit";

template <class C>
constexpr std::array kChoices = {
    field<&C::tensor>("tensor", "number of chips that divide a layer, a divisor of the heads",
                      {.preset = kAllThatFit}),
    field<&C::pipeline>("pipeline", "number of stages", {.preset = kAllThatFit}),
    field<&C::attention_data>("attention_data",
                              "number of groups of `tensor` chips, each with its own requests; the "
                              "groups share the experts",
                              {.preset = kAllThatFit}),
    field<&C::expert>(
        "expert", "number of parts into which the experts are divided over the chips of a stage",
        {.preset = kAllThatFit}),
    field<&C::replicas>("replicas", "number of copies of the model", {.preset = kAllThatFit}),
    field<&C::batch>("batch", "requests of a rank and micro-batch", {.preset = "1 to 1024"}),
    field<&C::chunk>("chunk", "tokens of prefill in an iteration that decodes",
                     {.preset = "powers of two, 16 to 65536"})};

/// The rows of a role that only prefills or decodes, and so has no chunks.
const Schema& choices_alone() {
  static const std::vector<Field> kFields = [] {
    std::vector<Field> fields(kChoices<serving::RoleChoices>.begin(),
                              kChoices<serving::RoleChoices>.end());
    std::erase_if(fields, [](const Field& row) { return row.key == "chunk"; });
    return fields;
  }();
  static const Schema kSchema =
      schema<serving::RoleChoices>("choices of a role that does one thing", kFields);
  return kSchema;
}
constexpr Type kChoicesAlone{.form = Form::Object, .schema = &choices_alone};

}  // namespace

const Schema& schema_of(Rows<serving::RequestClass>) {
  using R = serving::RequestClass;
  static constexpr Field kFields[] = {
      field<&R::input>("input", "tokens", {.limits = kTokens, .flags = kRequired}),
      field<&R::output>("output", "tokens", {.limits = kTokens, .flags = kRequired}),
      field<&R::prefix>("prefix", "tokens of the input that are in the cache",
                        {.limits = kCachedTokens}),
      field<&R::share>("share", "weight of the class among all requests", {.limits = {1e-9, 1e9}})};
  return schema<R, kFields>("class of requests", &check_request);
}

const Schema& schema_of(Rows<PopularitySection>) {
  using P = PopularitySection;
  static constexpr Field kFields[] = {field<&P::zipf>(
      "zipf",
      "exponent s: the k-th expert is chosen in proportion to 1 / k^s; 0: all equally often",
      {.limits = {0, 4}})};
  return schema<P, kFields>("popularity of experts");
}

const Schema& schema_of(Rows<ServedSection>) {
  using S = ServedSection;
  static const Field kFields[] = {
      field<&S::kind>("kind", "llm_serving", {.flags = kRequired}),
      field<&S::model>("model", "a built-in model or a file, or the keys of a transformer by rule",
                       {.flags = kRequired | kFromFile | kFileName}),
      field<&S::input>("input", "tokens of a request", {.limits = kTokens, .preset = "`requests`"}),
      field<&S::output>("output", "tokens of a request",
                        {.limits = kTokens, .preset = "`requests`"}),
      field<&S::prefix>("prefix", "tokens of the input that are in the cache",
                        {.limits = kCachedTokens, .preset = "0"}),
      field<&S::requests>("requests",
                          "classes of requests, each with `input`, `output` and `prefix`, in place "
                          "of these three keys",
                          {.type = &kRequestList, .preset = "none"}),
      field<&S::rate>("rate", "requests that arrive in a second: an open loop",
                      {.type = &kServedOrNone, .limits = {1e-9, 1e12}, .preset = "none"}),
      field<&S::concurrency>("concurrency",
                             "number of users, each of whom sends a request when the last one is "
                             "answered: a closed loop",
                             {.limits = kTokens, .preset = "one for each slot of `batch`"}),
      field<&S::rounds>("rounds",
                        "number of requests that each user sends in sequence; aggregated replicas "
                        "begin with a burst",
                        {.limits = kTokens, .preset = "without end"}),
      field<&S::num_requests>("num_requests",
                              "number of requests of a job, which all arrive at its start; the "
                              "time of the whole job is reported",
                              {.limits = kTokens, .preset = "none: a load without end"}),
      field<&S::length_spread>(
          "length_spread",
          "lengths are uniformly distributed from 1 - spread to 1 + spread times their means",
          {.limits = {0, 1}}),
      field<&S::popularity>(
          "popularity",
          "distribution of tokens over experts, which loads some ranks more than others",
          {.preset = "`imbalance` of the model"}),
      field<&S::precision>("precision",
                           "number format of each kind of value: one, or a list of choices"),
      field<&S::speculation>(
          "speculation",
          "speculative decoding: tokens are drafted, and a pass of the model checks them")};
  return schema<S, kFields>("served workload", &check_served);
}

const Schema& schema_of(Rows<FleetModelSection>) {
  using M = FleetModelSection;
  static constexpr Field kFields[] = {
      field<&M::name>("name", "unique name of the model", kNeeded),
      field<&M::workload>("workload", "the model and its rate", kNeeded),
      field<&M::limits>("limits", "limits of this model, in place of those of the fleet")};
  return schema<M, kFields>("model of a fleet");
}

const Schema& schema_of(Rows<serving::Budget>) {
  using B = serving::Budget;
  static const Field kFields[] = {
      field<&B::price>("price", "price of all chips in use",
                       {.type = &kPriceOrNone, .limits = {0, 1e12}, .preset = "none"}),
      field<&B::power>("power", "power of all chips in use",
                       {.limits = {0, 1e12}, .preset = "none"}),
      field<&B::chips>("chips", "number of chips in use", {.preset = "none"})};
  return schema<B, kFields>("budget of a fleet");
}

const Schema& schema_of(Rows<FleetSection>) {
  using F = FleetSection;
  static constexpr Field kFields[] = {field<&F::budget>("budget", "budget of all models together"),
                                      field<&F::models>("models", "the models that share the pools",
                                                        {.type = &kModelList, .flags = kRequired})};
  return schema<F, kFields>("fleet", &check_fleet);
}

const Schema& schema_of(Rows<serving::RoleChoices>) {
  using C = serving::RoleChoices;
  return schema<C, kChoices<C>>("choices of a role");
}

const Schema& schema_of(Rows<serving::Limits>) {
  using L = serving::Limits;
  static constexpr Extra kTime{.limits = {1e-9, 1e9}, .preset = "none"};
  static constexpr Field kFields[] = {
      field<&L::ttft>("ttft", "time to the first token", kTime),
      field<&L::tpot>("tpot", "time for each token after it", kTime),
      field<&L::e2e>("e2e", "time of a request", kTime),
      field<&L::cost>("cost", "dollars for a million tokens of output",
                      {.limits = {1e-12, 1e12}, .preset = "none"})};
  return schema<L, kFields>("limits of serving");
}

const Schema& schema_of(Rows<serving::Utilization>) {
  using U = serving::Utilization;
  static constexpr Field kFields[] = {
      field<&U::prefill>("prefill", "share of replicas that prefill", {.limits = kServedShare}),
      field<&U::decode>("decode", "share of replicas that decode", {.limits = kServedShare}),
      field<&U::mixed>("mixed", "share of iterations that may have a chunk of prefill",
                       {.limits = kServedShare}),
      field<&U::memory>("memory", "share of the memory of a chip that the server may take",
                        {.limits = kServedShare, .preset = "that of the engine"})};
  return schema<U, kFields>("utilization");
}

const Schema& schema_of(Rows<ServingSection>) {
  using S = ServingSection;
  using T = serving::Task;
  static constexpr Type kModes = list_type<serving::Mode, Form::Values>({}, 2);
  static constexpr Type kSizes = list_type<Bytes, Form::Values>({}, 3);
  static constexpr Type kCopies = list_type<std::int64_t, Form::Values>({}, 32);
  static constexpr Type kShareOrShares =
      either(kInPlace<&serving::Utilization::memory>, TypeOf<serving::Utilization>::type);
  static constexpr Field kFields[] = {
      field<&S::pools>("pools", "the chips that are available",
                       {.type = &kPoolList, .flags = kRequired}),
      field<&S::task, &T::framework>(
          "framework",
          "search only deployments that this framework can run, and report the loss (section 6)",
          {.type = &kOneOrNone<Framework, serves>, .preset = "any"}),
      field<&S::task, &T::modes>("modes", "modes of serving", {.type = &kModes, .preset = "both"}),
      field<&S::task, &T::all>("", ""),
      field<&S::task, &T::aggregated>(
          "aggregated",
          "choices of replicas that prefill and decode, which override the keys above"),
      field<&S::task, &T::prefill>("prefill",
                                   "choices of replicas that only prefill, without `chunk`; here "
                                   "`batch` is the number of whole requests of a pass (1 to 1024)",
                                   {.type = &kChoicesAlone}),
      field<&S::task, &T::decode>("decode", "choices of replicas that only decode, without `chunk`",
                                  {.type = &kChoicesAlone}),
      field<&S::task, &T::redundant_experts>(
          "redundant_experts",
          "number of additional copies of experts; `expert` divides experts and copies together",
          {.type = &kCopies, .limits = {0, kMostCopies}}),
      field<&S::task, &T::sub_batches>("sub_batches",
                                       "2: ranks that share experts split their batch, and one "
                                       "half computes while the other one communicates",
                                       {.type = &kCopies, .limits = {1, 2}}),
      field<&S::task, &T::limits>("limits", "upper limits on the means over all requests"),
      field<&S::task, &T::objective>("objective", "the quantity that is optimised"),
      field<&S::task, &T::front>("front", "the axis of a front against tokens/s of a user"),
      field<&S::task, &T::cache_reserve>(
          "cache_reserve",
          "tokens of cache that are reserved for a running request: its final length, its mean "
          "length, or the longest final length"),
      field<&S::task, &T::wait>("wait", "model of the time that a request waits for its prefill"),
      field<&S::measured>("measured",
                          "a table of measured deployments (section 8); the chart of a front shows "
                          "its rows of the same model, lengths and chips",
                          {.preset = "none"}),
      field<&S::task, &T::utilization>(
          "utilization",
          "greatest shares of capacity that a deployment may use; a single number is the share "
          "of memory",
          {.type = &kShareOrShares, .limits = kServedShare, .preset = "none"}),
      field<&S::engine>("engine",
                        "the release of the server, which determines the memory for everything but "
                        "caches (section 3)",
                        {.preset = "that of the pool's engine"}),
      field<&S::task, &T::max_seqs>("max_seqs",
                                    "greatest number of requests that a rank runs at once",
                                    {.preset = "that of the release"}),
      field<&S::task, &T::batched_tokens>("batched_tokens",
                                          "greatest number of tokens of an iteration; a `chunk` of "
                                          "this size fills the tokens that decoding leaves",
                                          {.preset = "`chunk` and `batch` together"}),
      field<&S::task, &T::chunked_prefill>(
          "chunked_prefill",
          "true: iterations are filled with parts of prompts; false: with whole prompts"),
      field<&S::task, &T::max_model_len>(
          "max_model_len",
          "greatest length of a request, by which a report counts the requests that fit the cache",
          {.preset = "that of the longest class"}),
      field<&S::outside>(
          "outside", "memory outside the allocator of the server: one size, or one for each level",
          {.type = &kSizes, .limits = {0, 1e24}, .preset = "that of the release"}),
      field<&S::graphs>("graphs", "memory of recorded CUDA graphs", {.limits = {0, 1e24}}),
      field<&S::task, &T::level>(
          "decide", "the level of the constants of memory at which a deployment has to fit")};
  return schema<S, kFields>("deployment", &check_serving);
}

}  // namespace dfsearch
