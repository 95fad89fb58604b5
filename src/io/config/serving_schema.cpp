// Rows of the sections of configs of kind llm_serving (docs/serving.md, section 1).

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "io/config/serving_text.hpp"
#include "io/huggingface/import_huggingface.hpp"
#include "model/machine/machine_schema.hpp"
#include "model/problem_schema.hpp"
#include "schema/report.hpp"

namespace dfsearch {
namespace {

using serving::Number;

constexpr Extra kMust{.flags = kRequired};
constexpr Interval kTokens{1.0, 1e9};
constexpr Interval kNoneOrMore{0.0, 1e9};
constexpr double kMostLevels = 16;
constexpr std::size_t kMostPrecisions = 1000;

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
constexpr Type kModelList = list_type<FleetModelText, Form::List>("models", 16);
constexpr Type kPoolList = list_type<PoolText, Form::List>("pools", 16);

void check_request(void* object, Report& report) {
  const auto& request = *static_cast<const serving::RequestClass*>(object);
  if (request.prefix >= request.input) {
    report.at({&request.prefix}, fmt::format("expected less than the input, {}, got {}",
                                             request.input, request.prefix));
  }
}

void check_served(void* object, Report& report) {
  auto& text = *static_cast<ServedText*>(object);
  const bool listed = report.given(&text.requests);
  if (listed) {
    for (const void* member :
         {static_cast<const void*>(&text.input), static_cast<const void*>(&text.output),
          static_cast<const void*>(&text.prefix)}) {
      if (report.given(member)) report.at_key(member, "expected none beside 'requests'");
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
    report.at({&text.concurrency}, "expected none beside 'rate': a loop is open or closed");
  }
  if (text.rounds && !text.concurrency) report.at_key(&text.rounds, "goes with 'concurrency'");
}

void check_speculation(void* object, Report& report) {
  auto& text = *static_cast<SpeculationText*>(object);
  using serving::Drafting;
  if (report.given(&text.depth) && report.given(&text.depths)) {
    report.at_key(&text.depth, "expected none beside 'depths'");
  }
  if (text.depths.empty()) text.depths = text.depth;
  const bool drafts = text.kind != Drafting::None;
  if (text.depths.empty()) text.depths = {drafts ? 1 : 0};
  const std::int64_t most = *std::max_element(text.depths.begin(), text.depths.end());
  if (!drafts && most > 0) report.at({&text.depths, &text.depth}, "needs a kind of speculation");
  if (drafts && text.acceptance.empty()) report.at_map("missing key 'acceptance'");
  const bool own = drafts && text.kind != Drafting::Mtp;
  if (own && !text.draft) report.at_map("missing key 'draft', the model that drafts");
  if (!own && text.draft) report.at_key(&text.draft, "goes with a kind that has a model");
}

void check_precision(void* object, Report& report) {
  const auto& text = *static_cast<PrecisionText*>(object);
  std::size_t choices = 1;
  for (const auto* list :
       {&text.weights, &text.cache, &text.products, &text.head, &text.activations, &text.attention,
        &text.communication, &text.dispatch, &text.combine}) {
    const std::set<Number> different(list->begin(), list->end());
    if (different.size() < list->size()) report.at({list}, "a number stands twice in the list");
    choices *= std::max<std::size_t>(list->size(), 1);
  }
  if (choices > kMostPrecisions) {
    report.at_map(
        fmt::format("expected at most {} combinations, got {}", kMostPrecisions, choices));
  }
}

void check_fleet(void* object, Report& report) {
  const auto& text = *static_cast<FleetText*>(object);
  if (text.models.empty()) report.at({&text.models}, "expected at least one model");
  for (std::size_t i = 0; i < text.models.size(); ++i) {
    const FleetModelText& model = text.models[i];
    if (!model.workload.rate) {
      report.inside(&text.models, i, &model.workload, "missing key 'rate': a fleet serves rates");
    }
    for (std::size_t j = 0; j < i; ++j) {
      if (text.models[j].name != model.name) continue;
      report.inside(&text.models, i, &model.name, "is the name of another model");
    }
  }
}

void check_model(void* object, Report& report) {
  auto& text = *static_cast<ServingModelText*>(object);
  const Transformer model = text.model();
  const auto refuse = [&](const void* member, const std::string& what) {
    report.at({member}, what);
  };
  check_kinds(text.llm.model, report);
  if (model.vocabulary < 1) report.at_map("missing key 'vocabulary'");
  if (model.mlp < 1 && model.dense_layers() > 0) {
    refuse(&text.llm.mlp, "expected a width, as there are layers without experts");
  }
  if (!model.latent && model.value_dim != model.head_dim) {
    refuse(&text.llm.value_dim,
           fmt::format("expected head_dim, {}, unless attention is latent, got {}", model.head_dim,
                       model.value_dim));
  }
  if (model.dense_layers() == 0 && text.llm.mlp.value_or(0) > 0) {
    refuse(&text.llm.mlp, std::string(kAllExperts));
  }
  if (model.heads % model.kv_heads != 0) {
    refuse(&text.llm.kv_heads,
           fmt::format("expected a divisor of the heads, {}, got {}", model.heads, model.kv_heads));
  }
  if (model.experts && model.experts->dense_layers >= model.layers) {
    refuse(&text.llm.model.experts,
           fmt::format("expected fewer dense layers than layers, {}, got {}", model.layers,
                       model.experts->dense_layers));
  }
  if (model.latent && report.given(&text.llm.kv_heads)) {
    refuse(&text.llm.kv_heads, "latent attention has none, expected no such key");
  }
  if (model.latent && model.latent->rope_dim >= model.head_dim) {
    refuse(&text.llm.model.latent,
           fmt::format("expected a rope_dim of less than head_dim, {}, got {}", model.head_dim,
                       model.latent->rope_dim));
  }
  if (parameter_count(model) >= kMostParameters)
    report.at_map("expected fewer than 2^53 parameters");
}

/// An objective or a limit of a quantity that no pool has would count for nothing.
void check_prices(const ServingText& text, Report& report) {
  using serving::Objective;
  const auto has = [&](const auto& given) {
    return std::any_of(text.pools.begin(), text.pools.end(), given);
  };
  const auto& task = text.task;
  const bool of_price = task.objective == Objective::Cost || task.front == serving::FrontAxis::Cost;
  const void* const by =
      task.objective == Objective::Front ? static_cast<const void*>(&task.front) : &task.objective;
  if (!has([](const PoolText& pool) { return pool.system.price > 0.0; })) {
    constexpr const char* kNeeds = "needs a 'price' in the system of some pool";
    if (of_price) report.at({by}, kNeeds);
    if (task.limits.cost) report.at_key(&task.limits, std::string("cost ") + kNeeds);
  }
  if (task.objective == Objective::Energy &&
      !has([](const PoolText& pool) { return pool.system.power > Watts{}; })) {
    report.at({by}, "needs a 'power' in the system of some pool");
  }
}

void check_serving(void* object, Report& report) {
  const auto& text = *static_cast<ServingText*>(object);
  if (text.pools.empty()) report.at({&text.pools}, "expected at least one pool");
  for (std::size_t i = 0; i < text.pools.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (text.pools[i].name != text.pools[j].name) continue;
      report.inside(&text.pools, i, &text.pools[i].name, "is the name of another pool");
    }
  }
  const auto& task = text.task;
  for (std::size_t i = 0; i < task.modes.size(); ++i) {
    if (std::count(task.modes.begin(), task.modes.end(), task.modes[i]) > 1) {
      report.at({&task.modes}, "a mode stands twice in the list");
      break;
    }
  }
  if (text.outside.size() == 2) {
    report.at({&text.outside}, "expected one size, or those of the levels low, typical and high");
  }
  if (!std::is_sorted(text.outside.begin(), text.outside.end())) {
    report.at({&text.outside}, "expected sizes that rise from low to high");
  }
  const bool has_release =
      text.engine || std::all_of(text.pools.begin(), text.pools.end(),
                                 [](const PoolText& pool) { return pool.system.engine.release; });
  if (!has_release) {
    constexpr std::string_view kNeeds = "goes with 'engine', the release of a server";
    if (!text.outside.empty()) report.at({&text.outside}, std::string(kNeeds));
    if (text.graphs > Bytes{}) report.at({&text.graphs}, std::string(kNeeds));
    if (task.level != memory::Level::Typical) report.at({&task.level}, std::string(kNeeds));
  }
  check_prices(text, report);
  if (!text.measured.empty() && task.objective != serving::Objective::Front) {
    report.at_key(&text.measured, "goes with the objective 'front'");
  }
  if (task.front != serving::FrontAxis::ThroughputPerChip &&
      task.objective != serving::Objective::Front) {
    report.at_key(&task.front, "goes with the objective 'front'");
  }
}

constexpr double kMostCopies = 4096;
constexpr std::string_view kAllThatFit = "all that fit";

template <class C>
constexpr std::array kChoices = {
    field<&C::tensor>("tensor", "chips that divide a layer, divisors of the heads",
                      {.preset = kAllThatFit}),
    field<&C::pipeline>("pipeline", "stages", {.preset = kAllThatFit}),
    field<&C::attention_data>("attention_data",
                              "groups of `tensor` chips with requests of their own, which share "
                              "the experts",
                              {.preset = kAllThatFit}),
    field<&C::expert>("expert", "ways that experts are spread over the chips of a stage",
                      {.preset = kAllThatFit}),
    field<&C::replicas>("replicas", "of the model", {.preset = kAllThatFit}),
    field<&C::batch>("batch", "requests of a rank and micro-batch", {.preset = "1 to 1024"}),
    field<&C::chunk>("chunk", "tokens of prefill in an iteration that decodes",
                     {.preset = "powers of two, 16 to 65536"})};

/// The rows of a role of its own, which has no chunks of prefill beside decoding.
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

/// The rows of a transformer by rule; a model of experts alone has no MLP, and heads divide the
/// hidden size unless said.
const Schema& served_model_rows() {
  static const std::vector<Field> kFields = [] {
    const Schema& rows = schema_of<LlmText>();
    std::vector<Field> fields(rows.fields.begin(), rows.fields.end());
    std::erase_if(fields, [](const Field& row) { return row.key == "repeat_layers"; });
    for (Field& row : fields) {
      if (row.key == "mlp") row.limits = kNoneOrMore;
      if (row.key == "layers") row.limits = {1, kMostLayers};
      if (row.key != "head_dim") continue;
      row.unless = {};
      row.preset = "`hidden` / `heads`";
    }
    return fields;
  }();
  static const Schema kSchema = [] {
    Schema rows = schema_of<LlmText>();
    rows.fields = kFields;
    return rows;
  }();
  return kSchema;
}

}  // namespace

Transformer ServingModelText::model() const {
  Transformer model = llm.model;
  if (model.head_dim == 0) model.head_dim = std::max<std::int64_t>(model.hidden / model.heads, 1);
  model.mlp = llm.mlp.value_or(4 * model.hidden);
  model.kv_heads = llm.kv_heads.value_or(model.heads);
  model.value_dim = llm.value_dim.value_or(model.head_dim);
  model.mixed = mixed_layers_of(llm.family);
  return model;
}

const Schema& schema_of(Rows<ServingModelText>) {
  static constexpr Type kModel{.form = Form::Object, .schema = &served_model_rows};
  static constexpr Field kFields[] = {field<&ServingModelText::llm>("", "", {.type = &kModel})};
  return schema<ServingModelText, kFields>("served model", &check_model);
}

const Schema& schema_of(Rows<serving::RequestClass>) {
  using R = serving::RequestClass;
  static constexpr Field kFields[] = {
      field<&R::input>("input", "tokens", {.limits = kTokens, .flags = kRequired}),
      field<&R::output>("output", "tokens", {.limits = kTokens, .flags = kRequired}),
      field<&R::prefix>("prefix", "tokens of the input that are in the cache",
                        {.limits = kNoneOrMore}),
      field<&R::share>("share", "of all requests, in proportion", {.limits = {1e-9, 1e9}})};
  return schema<R, kFields>("class of requests", &check_request);
}

/// All combinations, the last key fastest.
std::vector<serving::Precision> PrecisionText::all() const {
  std::vector<serving::Precision> list = {{}};
  const auto choose = [&](const std::vector<Number>& numbers, auto member) {
    if (numbers.empty()) return;
    std::vector<serving::Precision> more;
    for (const serving::Precision& one : list) {
      for (const Number number : numbers) (more.emplace_back(one).*member) = number;
    }
    list = std::move(more);
  };
  using P = serving::Precision;
  choose(weights, &P::weights);
  choose(cache, &P::cache);
  choose(products, &P::products);
  choose(head, &P::head);
  choose(activations, &P::activations);
  choose(attention, &P::attention);
  choose(communication, &P::communication);
  choose(dispatch, &P::dispatch);
  choose(combine, &P::combine);
  for (serving::Precision& one : list) {
    one.modules = modules;
    one.state = state;
  }
  return list;
}

const Schema& schema_of(Rows<serving::ModulePrecision>) {
  using M = serving::ModulePrecision;
  static constexpr Field kFields[] = {
      field<&M::weights>("weights", "as they are stored", {.preset = "as all weights"}),
      field<&M::products>("products", "of these weights", {.preset = "as these weights"})};
  return schema<M, kFields>("formats of a module");
}

namespace {

/// Only for the keys: code reads them.
const Schema& module_rows() {
  static constexpr Type kFormats{.form = Form::Object, .schema = []() -> const Schema& {
                                   return schema_of(Rows<serving::ModulePrecision>{});
                                 }};
  static constexpr Type kNumberOrFormats = either(TypeOf<Number>::type, kFormats);
  static constexpr Extra kPreset{.preset = "as `weights` and `products`"};
  static constexpr Field kFields[] = {
      by_hand("attention", "the products of attention", kNumberOrFormats, kPreset),
      by_hand("dense", "of an MLP", kNumberOrFormats, kPreset),
      by_hand("shared", "experts that every token uses", kNumberOrFormats, kPreset),
      by_hand("experts", "the others", kNumberOrFormats, kPreset),
      by_hand("router", "which chooses them", kNumberOrFormats, kPreset),
      by_hand("embedding", "of tokens", kNumberOrFormats, {.preset = "as `head`"}),
      by_hand("head", "", kNumberOrFormats, {.preset = "as `head`"})};
  static const Schema kSchema = schema<PrecisionText>("formats of modules", kFields);
  return kSchema;
}
constexpr Type kModulesType{.form = Form::Object, .schema = &module_rows};

}  // namespace

const Schema& schema_of(Rows<PrecisionText>) {
  using P = PrecisionText;
  static constexpr Type kNumbers = list_type<Number, Form::Values>({}, serving::kNumbers);
  static constexpr Extra kBf16{.type = &kNumbers, .preset = "bf16"};
  static constexpr Extra kWeights{.type = &kNumbers, .preset = "as `weights`"};
  static constexpr Field kFields[] = {
      field<&P::weights>("weights", "as they are stored", kBf16),
      field<&P::cache>("cache", "keys and values", kBf16),
      field<&P::products>("products", "of linear layers", kWeights),
      field<&P::head>("head", "the weight of the head and its product", kWeights),
      field<&P::activations>("activations", "between kernels", kBf16),
      field<&P::attention>("attention", "products of attention", kBf16),
      field<&P::communication>("communication", "what chips send each other", kBf16),
      field<&P::state>("state", "of blocks with a state, such as Mamba"),
      field<&P::dispatch>("dispatch", "tokens on their way to experts",
                          {.type = &kNumbers, .preset = "as `communication`"}),
      field<&P::combine>("combine", "and back",
                         {.type = &kNumbers, .preset = "as `communication`"}),
      by_hand("modules", "the weights of parts of the model, where they differ", kModulesType,
              {.preset = "none"})};
  return schema<P, kFields>("precision", &check_precision);
}

const Schema& schema_of(Rows<SpeculationText>) {
  using S = SpeculationText;
  static constexpr Type kDepths = list_type<std::int64_t, Form::Values>({}, 32);
  static constexpr Field kFields[] = {
      field<&S::kind>("kind",
                      "who drafts: a small model one token after the other, or a tree of them; or "
                      "a layer of the model itself; published: a sequence as DFModel counts it"),
      field<&S::depths>(
          "depths", "drafted levels to choose from",
          {.type = &kDepths, .limits = {0, kMostLevels}, .preset = "1, or 0 without"}),
      field<&S::depth>("depth", "a single one",
                       {.type = &kDepths, .limits = {0, kMostLevels}, .preset = "as `depths`"}),
      field<&S::acceptance>("acceptance",
                            "share of drafted tokens that are right; of a list one for each level, "
                            "if the one before was",
                            {.limits = {0, 1}}),
      field<&S::draft>("draft", "the small model", {.preset = "none"})};
  return schema<S, kFields>("speculation", &check_speculation);
}

const Schema& schema_of(Rows<PopularityText>) {
  using P = PopularityText;
  static constexpr Field kFields[] = {field<&P::zipf>(
      "zipf", "the k-th expert is chosen in proportion to k to minus this; 0: all alike",
      {.limits = {0, 4}})};
  return schema<P, kFields>("popularity of experts");
}

const Schema& schema_of(Rows<ServedText>) {
  using S = ServedText;
  static const Field kFields[] = {
      field<&S::kind>("kind", "llm_serving", {.flags = kRequired}),
      field<&S::model>("model",
                       "the keys of a transformer by rule, or a file of the shelf with such",
                       {.flags = kRequired | kFromFile | kFileName}),
      field<&S::input>("input", "tokens of a request", {.limits = kTokens, .preset = "`requests`"}),
      field<&S::output>("output", "tokens of a request",
                        {.limits = kTokens, .preset = "`requests`"}),
      field<&S::prefix>("prefix", "tokens of the input that are in the cache",
                        {.limits = kNoneOrMore, .preset = "0"}),
      field<&S::requests>("requests", "classes of requests, in place of the three keys before",
                          {.type = &kRequestList, .preset = "none"}),
      field<&S::rate>("rate", "requests a second that are to be served",
                      {.type = &kServedOrNone, .limits = {1e-9, 1e12}, .preset = "none"}),
      field<&S::concurrency>("concurrency", "users, who each ask again when they are answered",
                             {.limits = kTokens, .preset = "as many as `batch` has room for"}),
      field<&S::rounds>("rounds",
                        "requests of each of those, one after the other; aggregated replicas begin "
                        "with a burst",
                        {.limits = kTokens, .preset = "without end"}),
      field<&S::length_spread>("length_spread",
                               "lengths are even in (1 - spread .. 1 + spread) of their means",
                               {.limits = {0, 1}}),
      field<&S::popularity>("popularity",
                            "of experts, which loads some of their ranks more than others",
                            {.preset = "`imbalance` of the model"}),
      field<&S::precision>("precision", "of each kind of value, one or a list to choose from"),
      field<&S::speculation>("speculation", "drafted tokens that a pass checks")};
  return schema<S, kFields>("served workload", &check_served);
}

const Schema& schema_of(Rows<FleetModelText>) {
  using M = FleetModelText;
  static constexpr Field kFields[] = {
      field<&M::name>("name", "different for each model", kMust),
      field<&M::workload>("workload", "the model and its rate", kMust),
      field<&M::limits>("limits", "in place of those of all")};
  return schema<M, kFields>("model of a fleet");
}

const Schema& schema_of(Rows<serving::Budget>) {
  using B = serving::Budget;
  static const Field kFields[] = {
      field<&B::price>("price", "of all chips in use",
                       {.type = &kPriceOrNone, .limits = {0, 1e12}, .preset = "none"}),
      field<&B::power>("power", "that they draw", {.limits = {0, 1e12}, .preset = "none"}),
      field<&B::chips>("chips", "how many", {.preset = "none"})};
  return schema<B, kFields>("budget of a fleet");
}

const Schema& schema_of(Rows<FleetText>) {
  using F = FleetText;
  static constexpr Field kFields[] = {field<&F::budget>("budget", "of all models together"),
                                      field<&F::models>("models", "that share the pools",
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
      field<&U::prefill>("prefill", "of replicas that prefill", {.limits = kServedShare}),
      field<&U::decode>("decode", "of those that decode", {.limits = kServedShare}),
      field<&U::mixed>("mixed", "iterations that may have a chunk of prefill",
                       {.limits = kServedShare}),
      field<&U::memory>("memory", "of a chip, that the server may take",
                        {.limits = kServedShare, .preset = "as the engine has it"})};
  return schema<U, kFields>("utilization");
}

const Schema& schema_of(Rows<ServingText>) {
  using S = ServingText;
  using T = serving::Task;
  static constexpr Type kModes = list_type<serving::Mode, Form::Values>({}, 2);
  static constexpr Type kSizes = list_type<Bytes, Form::Values>({}, 3);
  static constexpr Type kCopies = list_type<std::int64_t, Form::Values>({}, 32);
  static constexpr Type kShareOrShares =
      either(TypeOf<double>::type, TypeOf<serving::Utilization>::type);
  static constexpr Field kFields[] = {
      field<&S::pools>("pools", "the chips there are", {.type = &kPoolList, .flags = kRequired}),
      field<&S::task, &T::framework>("framework",
                                     "deployments that it can run, and what that costs (section 6)",
                                     {.type = &kOneOrNone<Framework, serves>, .preset = "any"}),
      field<&S::task, &T::modes>("modes", "of serving", {.type = &kModes, .preset = "both"}),
      field<&S::task, &T::all>("", ""),
      field<&S::task, &T::aggregated>("aggregated", "choices of replicas that do both"),
      field<&S::task, &T::prefill>("prefill",
                                   "choices of those that prefill alone, but for `chunk`; `batch`: "
                                   "whole requests of a pass, 1 to 1024 if left out here",
                                   {.type = &kChoicesAlone}),
      field<&S::task, &T::decode>("decode", "choices of those that decode alone, but for `chunk`",
                                  {.type = &kChoicesAlone}),
      field<&S::task, &T::redundant_experts>(
          "redundant_experts",
          "copies of experts beside them, to choose from; `expert` divides both together",
          {.type = &kCopies, .limits = {0, kMostCopies}}),
      field<&S::task, &T::limits>("limits", "that every request keeps, on average"),
      field<&S::task, &T::objective>("objective", "what is best"),
      field<&S::task, &T::front>("front", "the axis of a front beside tokens/s of a user"),
      field<&S::task, &T::cache_reserve>(
          "cache_reserve",
          "cache of a running request: what requests grow to, their mean, or the longest"),
      field<&S::task, &T::wait>("wait", "of a request for its prefill"),
      field<&S::measured>("measured",
                          "a table of measured deployments (section 8), whose points of the same "
                          "model, lengths and chips the chart of a front shows",
                          {.preset = "none"}),
      by_hand("utilization", "shares of capacity that may be used; a number is that of the memory",
              kShareOrShares, {.preset = "none"}),
      field<&S::engine>("engine",
                        "the release of the server, which decides the memory beside caches "
                        "(section 3)",
                        {.preset = "that of the pool's engine"}),
      field<&S::task, &T::max_seqs>("max_seqs", "requests of a rank at once, at most",
                                    {.preset = "those of the release"}),
      field<&S::task, &T::batched_tokens>(
          "batched_tokens",
          "tokens of an iteration, at most; a `chunk` of as many is what those that decode leave",
          {.preset = "`chunk` and `batch` together"}),
      field<&S::task, &T::max_model_len>("max_model_len",
                                         "tokens of the longest request that a report counts",
                                         {.preset = "those of the longest class"}),
      field<&S::outside>("outside", "memory beside the allocator: one size, or one for each level",
                         {.type = &kSizes, .limits = {0, 1e24}, .preset = "that of the release"}),
      field<&S::graphs>("graphs", "memory of recorded graphs of kernels", {.limits = {0, 1e24}}),
      field<&S::task, &T::level>("decide", "the level at which a deployment has to fit")};
  return schema<S, kFields>("deployment", &check_serving);
}

}  // namespace dfsearch
