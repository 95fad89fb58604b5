// Rows of the model of a deployment, of the formats of its values and of speculation.

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "io/config/serving_text.hpp"
#include "io/huggingface/import_huggingface.hpp"
#include "model/problem_schema.hpp"
#include "schema/report.hpp"

namespace dfsearch {
namespace {

using serving::Number;

constexpr Interval kNoneOrMore{0.0, 1e9};
constexpr double kMostLevels = 16;
constexpr std::size_t kMostPrecisions = 1000;

void check_speculation(void* object, Report& report) {
  auto& text = *static_cast<SpeculationSection*>(object);
  using serving::Drafting;
  if (report.given(&text.depth) && report.given(&text.depths)) {
    report.at_key(&text.depth, "not allowed with 'depths'; give one of the two keys");
  }
  if (text.depths.empty()) text.depths = text.depth;
  const bool drafts = text.kind != Drafting::None;
  if (text.depths.empty()) text.depths = {drafts ? 1 : 0};
  const std::int64_t most = *std::max_element(text.depths.begin(), text.depths.end());
  if (!drafts && most > 0)
    report.at({&text.depths, &text.depth}, "expected 0 or no key, as 'kind' is none");
  if (drafts && text.acceptance.empty()) report.at_map("missing key 'acceptance'");
  const bool own = drafts && text.kind != Drafting::Mtp;
  if (own && !text.draft) report.at_map("missing key 'draft', the model that drafts");
  if (!own && text.draft)
    report.at_key(
        &text.draft,
        "only valid with the kinds that draft with a model of their own; remove this key");
}

void check_precision(void* object, Report& report) {
  const auto& text = *static_cast<PrecisionSection*>(object);
  std::size_t choices = 1;
  for (const auto* list :
       {&text.weights, &text.cache, &text.products, &text.head, &text.activations, &text.attention,
        &text.communication, &text.dispatch, &text.combine}) {
    const std::set<Number> different(list->begin(), list->end());
    if (different.size() < list->size())
      report.at({list}, "expected different formats, got one twice");
    choices *= std::max<std::size_t>(list->size(), 1);
  }
  if (choices > kMostPrecisions) {
    report.at_map(
        fmt::format("expected at most {} combinations, got {}", kMostPrecisions, choices));
  }
}

void check_model(void* object, Report& report) {
  auto& text = *static_cast<ServingModelSection*>(object);
  const Transformer model = text.model();
  const auto refuse = [&](const void* member, const std::string& what) {
    report.at({member}, what);
  };
  check_kinds(text.llm.model, report);
  if (model.vocabulary < 1) {
    report.at_map(report.given(&text.llm.family)
                      ? "the family has no language-model head for these fields, so the model "
                        "generates no tokens; expected a model with one"
                      : "missing key 'vocabulary'");
  }
  if (model.mlp < 1 && model.dense_layers() > 0) {
    refuse(&text.llm.mlp, "expected at least 1, the width of the layers without experts");
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
    refuse(&text.llm.kv_heads, "not allowed with latent attention; remove this key");
  }
  if (model.latent && model.latent->rope_dim >= model.head_dim) {
    refuse(&text.llm.model.latent,
           fmt::format("expected a rope_dim of less than head_dim, {}, got {}", model.head_dim,
                       model.latent->rope_dim));
  }
  if (parameter_count(model) >= kMostParameters)
    report.at_map("expected fewer than 2^53 parameters");
}

/// The rows of a transformer by rule.  A model whose layers all have experts has no MLP; unless
/// given, the size of a head is the hidden size over the heads.
const Schema& served_model_rows() {
  static const std::vector<Field> kFields = [] {
    const Schema& rows = schema_of<LlmSection>();
    std::vector<Field> fields(rows.fields.begin(), rows.fields.end());
    std::erase_if(fields, [](const Field& row) {
      return row.key == "repeat_layers" || row.key == "encoder_sequence";
    });
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
    Schema rows = schema_of<LlmSection>();
    rows.fields = kFields;
    return rows;
  }();
  return kSchema;
}

}  // namespace

Transformer ServingModelSection::model() const {
  Transformer model = llm.model;
  if (model.head_dim == 0) model.head_dim = std::max<std::int64_t>(model.hidden / model.heads, 1);
  model.mlp = llm.mlp.value_or(4 * model.hidden);
  model.kv_heads = llm.kv_heads.value_or(model.heads);
  model.value_dim = llm.value_dim.value_or(model.head_dim);
  model.mixed = mixed_layers_of(llm.family);
  return model;
}

const Schema& schema_of(Rows<ServingModelSection>) {
  static constexpr Type kModel{.form = Form::Object, .schema = &served_model_rows};
  static constexpr Field kFields[] = {field<&ServingModelSection::llm>("", "", {.type = &kModel})};
  return schema<ServingModelSection, kFields>("served model", &check_model);
}

/// All combinations, the last key fastest.
std::vector<serving::Precision> PrecisionSection::all() const {
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
      field<&M::weights>("weights", "stored weights", {.preset = "as all weights"}),
      field<&M::products>("products", "products with these weights",
                          {.preset = "as these weights"})};
  return schema<M, kFields>("formats of a module");
}

namespace {

/// The formats of each module: a single format for its weights, or a map with a format for its
/// weights and another one for its products.
const Schema& module_rows() {
  using P = PrecisionSection;
  static constexpr Type kFormats =
      either(kInPlace<&serving::ModulePrecision::weights>, TypeOf<serving::ModulePrecision>::type);
  static constexpr Extra kOwn{.type = &kFormats, .preset = "as `weights` and `products`"};
  static constexpr Extra kEnd{.type = &kFormats, .preset = "as `head`"};
  static constexpr Field kFields[] = {
      element<0, &P::modules>("attention", "the products of attention", kOwn),
      element<1, &P::modules>("dense", "an MLP without experts", kOwn),
      element<2, &P::modules>("shared", "experts that every token uses", kOwn),
      element<3, &P::modules>("experts", "all other experts", kOwn),
      element<4, &P::modules>("router", "the choice of experts", kOwn),
      element<5, &P::modules>("embedding", "the embedding of tokens", kEnd),
      element<6, &P::modules>("head", "", kEnd)};
  return schema<P, kFields>("formats of modules");
}
constexpr Type kModulesType{.form = Form::Object, .schema = &module_rows};

}  // namespace

const Schema& schema_of(Rows<PrecisionSection>) {
  using P = PrecisionSection;
  static constexpr Type kNumbers = list_type<Number, Form::Values>({}, serving::kNumbers);
  static constexpr Extra kBf16{.type = &kNumbers, .preset = "bf16"};
  static constexpr Extra kWeights{.type = &kNumbers, .preset = "as `weights`"};
  static constexpr Field kFields[] = {
      field<&P::weights>("weights", "stored weights", kBf16),
      field<&P::cache>("cache", "keys and values", kBf16),
      field<&P::products>("products", "products of linear layers", kWeights),
      field<&P::head>("head", "the weight of the head and its product", kWeights),
      field<&P::activations>("activations", "values between kernels", kBf16),
      field<&P::attention>("attention", "products of attention", kBf16),
      field<&P::communication>("communication", "values that chips send each other", kBf16),
      field<&P::state>("state", "states of blocks that have one, such as Mamba"),
      field<&P::dispatch>("dispatch", "tokens sent to experts",
                          {.type = &kNumbers, .preset = "as `communication`"}),
      field<&P::combine>("combine", "results of experts sent back",
                         {.type = &kNumbers, .preset = "as `communication`"}),
      whole("modules", "formats of the weights of single parts of the model, where they differ",
            kModulesType, {.preset = "none"})};
  return schema<P, kFields>("precision", &check_precision);
}

const Schema& schema_of(Rows<SpeculationSection>) {
  using S = SpeculationSection;
  static constexpr Type kDepths = list_type<std::int64_t, Form::Values>({}, 32);
  static constexpr Field kFields[] = {
      field<&S::kind>(
          "kind",
          "how tokens are drafted: by a small model as a sequence or a tree; `mtp`: by a layer of "
          "the model itself; `published`: a sequence by the formula of DFModel"),
      field<&S::depths>(
          "depths", "choices of the number of drafted levels",
          {.type = &kDepths, .limits = {0, kMostLevels}, .preset = "1; 0 for the kind none"}),
      field<&S::depth>("depth", "the number of drafted levels",
                       {.type = &kDepths, .limits = {0, kMostLevels}, .preset = "as `depths`"}),
      field<&S::acceptance>("acceptance",
                            "probability that a drafted token is right, given that the one before "
                            "is; a list has a value for each level",
                            {.limits = {0, 1}}),
      field<&S::draft>("draft", "the small model", {.preset = "none"})};
  return schema<S, kFields>("speculation", &check_speculation);
}

}  // namespace dfsearch
