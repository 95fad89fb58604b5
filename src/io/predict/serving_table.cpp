// A row gives the degrees and the load, not the chunk of prefill.  The chunk has kMostTokens tokens
// and fills up each iteration; rows of jobs may state another number of tokens.

#include "io/predict/serving_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "base/error.hpp"
#include "graph/workloads/blocks/mixed_layers.hpp"
#include "io/config/load_config.hpp"
#include "io/config/shelf.hpp"
#include "model/serving/pass.hpp"
#include "model/serving/steady_state.hpp"

namespace dfsearch {
namespace {

using serving::Number;

/// A name in tables, or a part of one, and the name on the shelf.
struct Alias {
  std::string_view name, shelf;
};
constexpr Alias kModels[] = {{"Llama-3.1-8B", "llama3_8b"},
                             {"Llama-3.1-70B", "llama3_70b"},
                             {"Llama-3.3-70B", "llama3_70b"},
                             {"Qwen3-32B", "qwen3_32b"},
                             {"Qwen3-235B-A22B", "qwen3_235b_a22b"},
                             {"DeepSeek-V3", "deepseek_v3"},
                             {"DeepSeek-R1", "deepseek_v3"},
                             {"MiniMax-M2", "minimax_m2"},
                             {"gpt-oss-120b", "gpt_oss_120b"},
                             {"Kimi-K2", "kimi_k2"},
                             {"GLM-5", "glm_5"}};
struct KnownSystem {
  std::string_view name, system, chip, engine;
  std::string_view most;  ///< "{backend}_{most}_throughput" is the engine for jobs
  std::int64_t node;      ///< chips of a node; aggregated replicas stay within one
};
constexpr KnownSystem kSystems[] = {{"h100_sxm", "h100_dgx", "h100", "h100", "hopper", 8},
                                    {"h200_sxm", "h200_dgx", "h200", "h200", "hopper", 8},
                                    {"b200_sxm", "b200_dgx", "b200", "b200", "b200", 8},
                                    {"b300_sxm", "b300_dgx", "b300", "b200", "b200", 8},
                                    {"gb200", "gb200_nvl72", "gb200", "b200", "b200", 16},
                                    {"gb300", "gb300_nvl72", "gb300", "b200", "b200", 16}};
constexpr std::string_view kBackends[] = {"vllm", "trtllm", "sglang"};
constexpr std::int64_t kMostTokens = 8192;             ///< of a chunk
constexpr std::int64_t kMostDegree = 10'000;           ///< a product of four fits in 64 bits
constexpr std::int64_t kMostRequests = 1'000'000'000;  ///< of a batch
constexpr std::int64_t kLongOutput = 400;              ///< loads with longer outputs are steady
/// A model and a system for which one source states times far above all others.
constexpr std::pair<std::string_view, std::string_view> kSlow[] = {
    {"Qwen3-32B", "gb200"}, {"DeepSeek-R1-NVFP4", "b200_sxm"}};
constexpr std::string_view kGap = "aic gap analysis";
constexpr std::string_view kIsLimit = "the batch of this row is a limit, not the load";
constexpr double kClientRounds = 10.0;  ///< requests that a client sends in sequence

constexpr std::string_view kColumns[] = {"id",
                                         "source",
                                         "backend",
                                         "model_path",
                                         "system",
                                         "mode",
                                         "isl",
                                         "osl",
                                         "gemm_quant_mode",
                                         "moe_quant_mode",
                                         "batch_size",
                                         "tp_size",
                                         "pp_size",
                                         "attention_dp_size",
                                         "moe_tp_size",
                                         "moe_ep_size",
                                         "silicon_ttft_ms",
                                         "silicon_tpot_ms"};
/// Columns of jobs, which tables of loads do not have.
constexpr std::string_view kJobColumns[] = {"num_requests", "max_num_tokens", "kv_fraction",
                                            "cache_quant_mode", "output_tokens_per_s_per_gpu"};
constexpr std::string_view kRoleColumns[] = {"batch_size", "num_workers",       "tp_size",
                                             "pp_size",    "attention_dp_size", "moe_tp_size",
                                             "moe_ep_size"};

/// Tasks of models, systems and engines of the shelf, each read once.
class ServiceSetups {
 public:
  /// `like` may be null.
  explicit ServiceSetups(const serving::Task* like) : like_(like) {}

  /// Whether `like` has another model, or no chips like these.  Reads no engine, since its file is
  /// long.
  bool differs(std::string_view model, const KnownSystem& system) {
    return like_ != nullptr && (task(model, kSystems[0], "").model != like_->model ||
                                pool_like(task(model, system, "").pools[0], *like_) == nullptr);
  }
  const serving::Task& task(std::string_view model, const KnownSystem& system,
                            const std::string& engine) {
    const std::string config = fmt::format(
        "workload: {{kind: llm_serving, model: {}, input: 2, output: 2, concurrency: 1, rounds: "
        "{}}}\nserving:\n  pools: [{{name: chips, chips: 1000000, system: {{from: {}, chip: {}"
        "{}{}}}}}]\n  cache_reserve: mean\n",
        model, kClientRounds, system.system, system.chip,
        engine.empty() ? "" : ", engine: ", engine);
    const auto found = tasks_.find(config);
    if (found != tasks_.end()) return found->second;
    return tasks_.emplace(config, std::get<ServingConfig>(parse_any_config(config, "table")).task)
        .first->second;
  }

 private:
  const serving::Task* const like_;
  std::map<std::string, serving::Task> tasks_;
};

struct RowDegrees {
  std::int64_t tensor = 1, ranks = 1, expert = 1, expert_tensor = 1;

  [[nodiscard]] bool agree() const { return tensor * ranks == expert_tensor * expert; }
};

/// Repairs rows that have the square of a number of ranks in the column of expert or of attention
/// ranks: a replica has one chip for each expert rank.
RowDegrees mended(RowDegrees degrees) {
  auto& [tensor, ranks, expert, expert_tensor] = degrees;
  if (ranks > 1 && tensor == ranks && expert == tensor * ranks) {
    tensor = 1;
    expert = ranks;
  } else if (ranks > 1 && tensor == 1 && ranks == expert * expert) {
    ranks = expert;
    expert_tensor = 1;
  }
  return degrees;
}

/// Reads the degrees of a replica and its load; `prefix` is that of the columns of its role.
class RoleReader {
 public:
  RoleReader(const RowReader& row, std::string prefix) : row_(row), prefix_(std::move(prefix)) {}

  [[nodiscard]] bool has_load() const {
    return !row_.text(prefix_ + "batch_size").empty() &&
           !row_.text(prefix_ + "num_workers").empty();
  }
  /// Some rows have 0 for a degree that is not used.
  [[nodiscard]] std::int64_t count(std::string_view column) const {
    return std::max<std::int64_t>(row_.count(prefix_ + std::string(column), 1, 0, kMostDegree), 1);
  }
  [[nodiscard]] RowDegrees degrees(const Transformer& model) const {
    if (!model.experts) return {.tensor = count("tp_size")};
    const RowDegrees degrees{count("tp_size"), count("attention_dp_size"), count("moe_ep_size"),
                             count("moe_tp_size")};
    return prefix_.empty() ? mended(degrees) : degrees;
  }
  [[nodiscard]] serving::Role role(const Transformer& model) const {
    const RowDegrees own = degrees(model);
    serving::Role role{.structure = {.tensor = own.tensor,
                                     .pipeline = std::min(count("pp_size"), model.layers),
                                     .attention_data = own.ranks}};
    if (model.experts) {
      role.structure.expert =
          std::gcd(std::gcd(role.structure.stage_chips(), model.experts->count), own.expert);
    }
    role.replicas = prefix_.empty() ? 1 : count("num_workers");
    const double each = serving::real(row_.count(prefix_ + "batch_size", 1, 0, kMostRequests));
    const double ranks = model.experts ? serving::real(count("attention_dp_size")) : 1.0;
    const double all = each * ranks / serving::real(own.ranks * role.structure.pipeline);
    role.batch = std::max<std::int64_t>(std::llround(all), 1);
    return role;
  }
  [[nodiscard]] std::string doubt(const Transformer& model) const {
    if (!model.experts || degrees(model).agree()) return {};
    return "degrees of experts and of attention differ";
  }

 private:
  const RowReader& row_;
  const std::string prefix_;
};

/// The tensor degree in a name like "c64_tp8_ep8", or 0.
std::int64_t tensor_in(std::string_view id) {
  const std::size_t at = id.find("_tp");
  if (at == std::string_view::npos) return 0;
  std::int64_t value = 0;
  for (std::size_t i = at + 3; i < id.size() && id[i] >= '0' && id[i] <= '9'; ++i) {
    value = std::min<std::int64_t>(value * 10 + (id[i] - '0'), 1000000);
  }
  return value;
}

std::string doubt_of_both(const RowReader& row, const MeasuredService& service,
                          const RoleReader& role, const KnownSystem& system) {
  const Transformer& model = service.task->model;
  const serving::Structure& s = service.deployment.decode.structure;
  const std::int64_t named = tensor_in(service.id);
  if (s.stage_chips() > system.node) return "more chips than a node has";
  // Some names state all chips of a replica as the tensor degree.
  if (named > 0 && named != s.tensor && named != s.stage_chips()) {
    return "the name of this row has another tensor degree";
  }
  if (std::string wrong = role.doubt(model); !wrong.empty()) return wrong;
  if (std::string wrong = misfit(*service.task, s); !wrong.empty()) {
    return "the model has no such degrees";
  }
  const bool is_gap = service.source == kGap;
  if (is_gap && std::any_of(std::begin(kSlow), std::end(kSlow), [&](const auto& slow) {
        return service.model.find(slow.first) != std::string::npos && service.system == slow.second;
      })) {
    return "up to ten times slower than like rows";
  }
  const std::int64_t output = row.count("osl", 1);
  const double decoding = service.tpot.value_or(0.0) * serving::real(output - 1);
  const bool waits = output >= kLongOutput && service.ttft && *service.ttft > decoding / 2.0;
  const bool is_limit = is_gap && service.backend == "vllm" && row.count("isl", 1) % 1000 == 0;
  return is_limit || waits ? std::string(kIsLimit) : "";
}

/// Experts have the format of their column. 4-bit checkpoints keep attention in 16 bits; integer
/// and mxfp4 ones keep everything but the experts in 16 bits.
serving::Precision precision_of(const RowReader& row, const MeasuredService& service) {
  constexpr std::pair<std::string_view, Number> kStored[] = {
      {"bf16", Number::Bf16},         {"bfloat16", Number::Bf16},
      {"fp8", Number::Fp8},           {"fp8_block", Number::Fp8},
      {"fp8_static", Number::Fp8},    {"nvfp4", Number::Nvfp4},
      {"w4a16_mxfp4", Number::Mxfp4}, {"w4a8_mxfp4_mxfp8", Number::Mxfp4},
      {"int4_wo", Number::Int4}};
  const auto words = names_of(kStored, [](const auto& stored) { return stored.first; });
  const Number dense = kStored[row.choice("gemm_quant_mode", words)].second;
  Number experts = kStored[row.choice("moe_quant_mode", words)].second;
  const serving::Task& task = *service.task;
  const auto has = [&](Number number) {
    return task.pools[0].peak[static_cast<std::size_t>(number)].has_value();
  };
  serving::Precision precision{.weights = dense, .head = Number::Bf16};
  const bool small = (task.model.experts ? experts : dense) != Number::Bf16;
  if (task.model.experts) {
    using serving::Module;
    const auto of = [&](Module module) -> serving::ModulePrecision& {
      return precision.modules[static_cast<std::size_t>(module)];
    };
    // The table has one word for both 4-bit formats.
    if (experts == Number::Nvfp4 && task.model.window > 0) experts = Number::Mxfp4;
    const bool alone = experts == Number::Mxfp4 || experts == Number::Int4;
    precision.weights = alone ? Number::Bf16 : experts;
    of(Module::Router).weights = Number::Bf16;
    if (bytes_of(experts) < 1.0) of(Module::Attention).weights = Number::Bf16;
    of(Module::Experts) = {.weights = experts, .products = experts};
    if (experts == Number::Mxfp4) of(Module::Experts).products = Number::Fp8;
    if (experts == Number::Int4 || !has(experts)) of(Module::Experts).products = Number::Bf16;
  }
  // Chips without 4-bit products multiply in 16 bits.
  if (!has(precision.weights)) precision.products = Number::Bf16;
  if (service.backend == "trtllm" || (service.backend == "vllm" && small)) {
    precision.cache = Number::Fp8;
  }
  if (row.text("cache_quant_mode") == "bf16") precision.cache = Number::Bf16;
  return precision;
}

void read_load(const RowReader& row, MeasuredService& service) {
  serving::Task& task = *service.task;
  // InferenceX draws lengths uniformly from 0.8 to 1 times the stated one.
  const double mean = service.source.starts_with("InferenceX") ? 0.9 : 1.0;
  const auto tokens = [&](std::string_view column, std::int64_t least) {
    const double length = mean * serving::real(row.count(column, least, least));
    return std::max<std::int64_t>(std::llround(length), least);
  };
  task.requests = {{.input = tokens("isl", 1), .output = tokens("osl", 2)}};
  if (mean < 1.0) task.length_spread = 0.11;
  task.precisions = {precision_of(row, service)};
}

/// The model of the shelf with this name or Hugging Face path, or a variant of this name; empty if
/// there is none.
std::string_view shelf_model(std::string_view name) {
  const auto known = std::find_if(
      std::begin(kModels), std::end(kModels),
      [&](const Alias& variant) { return name.find(variant.name) != std::string_view::npos; });
  if (known != std::end(kModels)) return known->shelf;
  const std::string place = fmt::format("huggingface.co/{}/", name);
  for (const ShelfFile& file : shelf(ShelfKind::Workloads)) {
    const bool is_it = file.name == name || file.text.find(place) != std::string_view::npos;
    if (is_it && file.is_model()) return file.name;
  }
  return {};
}

/// The engine of a job whose model has experts may have constants of its own.
std::string engine_of(const RowReader& row, const KnownSystem& system, const std::string& backend,
                      const Transformer& model) {
  const bool is_job = !row.text("num_requests").empty();
  const std::string engine = fmt::format("{}_{}", backend, system.engine);
  const std::string own = fmt::format("{}_{}_throughput", backend, system.most);
  return is_job && model.experts && find_on_shelf(ShelfKind::Engines, own) ? own : engine;
}

/// The greatest batch of a rank, up to `most`, that the memory holds if caches keep all tokens in
/// all layers, as in TensorRT-LLM.
std::int64_t held_requests(serving::Task task, const serving::Role& role, std::int64_t most) {
  task.model.window = 0;
  const serving::Means means(task.requests);
  const serving::Decoder decoder(task, means, role.structure, role.depth, role.chunk);
  std::int64_t least = 1;
  while (least < most) {
    const std::int64_t middle = (least + most + 1) / 2;
    const bool fits = decoder.memory(middle) <= decoder.room();
    (fits ? least : most) = fits ? middle : middle - 1;
  }
  return least;
}

/// A job of a benchmark that takes whole prompts.
void read_job(const RowReader& row, MeasuredService& service) {
  serving::Task& task = *service.task;
  serving::Role& role = service.deployment.decode;
  task.concurrency.reset();
  task.rounds.reset();
  task.num_requests = serving::real(row.count("num_requests", 1, 1, kMostRequests));
  task.chunked_prefill = false;
  task.cache_reserve = serving::CacheReserve::Full;  // no request is preempted
  role.chunk = row.count("max_num_tokens", kMostTokens, 1, kMostRequests);
  task.batched_tokens = role.chunk;
  serving::Pool& pool = task.pools[0];
  if (const auto share = row.number("kv_fraction")) {
    pool.engine.usable = std::clamp(*share, 1e-6, 1.0);
    if (pool.server) pool.server->share = pool.engine.usable;
  }
  if (pool.server) pool.server->batched_tokens = role.chunk;
  role.batch = held_requests(task, role, role.batch);
  service.rate = row.number("output_tokens_per_s_per_gpu");
  service.tpot.reset();
}

MeasuredService read_service(const RowReader& row, ServiceSetups& setups) {
  MeasuredService service{.id = std::string(row.text("id")),
                          .source = std::string(row.text("source")),
                          .backend = std::string(row.text("backend")),
                          .model = std::string(row.text("model_path")),
                          .system = std::string(row.text("system"))};
  const auto seconds = [&](std::string_view column) -> std::optional<double> {
    const std::optional<double> value = row.number(column);
    if (!value || *value == 0.0) return std::nullopt;
    return *value / 1e3;
  };
  service.ttft = seconds("silicon_ttft_ms");
  service.tpot = seconds("silicon_tpot_ms");
  const bool apart = row.choice("mode", {"agg", "disagg"}) == 1;
  const std::string_view model = shelf_model(service.model);
  const auto system = std::find_if(std::begin(kSystems), std::end(kSystems),
                                   [&](const auto& known) { return service.system == known.name; });
  if (model.empty()) {
    service.unknown = "no built-in model of this name";
  } else if (system == std::end(kSystems)) {
    service.unknown = "no built-in system of this name";
  } else if (std::find(std::begin(kBackends), std::end(kBackends), service.backend) ==
             std::end(kBackends)) {
    service.unknown = "no built-in engine of this name";
  } else if (setups.differs(model, *system)) {
    service.unknown = "of another task";
  }
  if (!service.unknown.empty()) return service;
  service.engine = fmt::format("{}_{}", service.backend, system->engine);
  service.task = setups.task(model, *system, service.engine);
  const std::string engine = engine_of(row, *system, service.backend, service.task->model);
  if (engine != service.engine) service.task = setups.task(model, *system, engine);
  service.engine = engine;
  read_load(row, service);
  serving::Deployment& deployment = service.deployment;
  const Transformer& shape = service.task->model;
  if (apart) {
    const RoleReader prefill(row, "prefill_"), decode(row, "decode_");
    if (!prefill.has_load() || !decode.has_load()) {
      service.unknown = "without the batch or the workers of a side";
      service.task.reset();
      return service;
    }
    deployment = {.mode = serving::Mode::Disaggregated,
                  .prefill = prefill.role(shape),
                  .decode = decode.role(shape)};
    service.doubtful = prefill.doubt(shape);
    if (service.doubtful.empty()) service.doubtful = decode.doubt(shape);
    if (service.source == kGap) service.doubtful = kIsLimit;
    // The batch is the number of users of a rank, who decode or wait for prefill.
    const serving::Structure& s = deployment.decode.structure;
    service.task->concurrency = serving::real(deployment.decode.replicas * s.attention_data *
                                              s.pipeline * deployment.decode.batch);
    return service;
  }
  const RoleReader both(row, "");
  deployment.decode = both.role(shape);
  service.doubtful = doubt_of_both(row, service, both, *system);
  // Each request of the batch has a user, and the chunk fills up an iteration.
  serving::Role& role = deployment.decode;
  const serving::Structure& s = role.structure;
  service.task->concurrency =
      serving::real(role.replicas * s.attention_data * s.pipeline * role.batch);
  service.task->batched_tokens = role.chunk = kMostTokens;
  if (!row.text("num_requests").empty()) read_job(row, service);
  return service;
}

}  // namespace

bool runs_on(std::string_view engine, std::string_view system) {
  return std::any_of(std::begin(kSystems), std::end(kSystems), [&](const KnownSystem& known) {
    const bool is_of = engine.ends_with(fmt::format("_{}", known.engine)) ||
                       engine.ends_with(fmt::format("_{}_throughput", known.most));
    return is_of && known.system == system;
  });
}

bool is_service_table(const CsvTable& table) {
  return table.has("model_path") && table.has("backend");
}

namespace {

std::vector<std::string> service_columns() {
  std::vector<std::string> names(std::begin(kColumns), std::end(kColumns));
  for (const char* role : {"prefill_", "decode_"}) {
    for (const std::string_view column : kRoleColumns) names.push_back(role + std::string(column));
  }
  return names;
}

}  // namespace

std::string unread_service_columns(const CsvTable& table) {
  std::vector<std::string> names = service_columns();
  names.insert(names.end(), std::begin(kJobColumns), std::end(kJobColumns));
  return table.unknown_columns(std::vector<std::string_view>(names.begin(), names.end()));
}

void check_service_columns(const CsvTable& table, InputMessages& messages) {
  const std::vector<std::string> names = service_columns();
  table.need(std::vector<std::string_view>(names.begin(), names.end()), messages);
  messages.throw_if_any();
}

const serving::Pool* pool_like(const serving::Pool& measured, const serving::Task& task) {
  const MemoryTier& tier = measured.machine.memory[0];
  const auto found = std::find_if(task.pools.begin(), task.pools.end(), [&](const auto& pool) {
    const MemoryTier& own = pool.machine.memory[0];
    return own.capacity == tier.capacity && own.bandwidth == tier.bandwidth;
  });
  return found == task.pools.end() ? nullptr : &*found;
}

std::vector<MeasuredService> read_services(const CsvTable& table, InputMessages& messages,
                                           const serving::Task* like) {
  check_service_columns(table, messages);
  std::vector<MeasuredService> services;
  ServiceSetups setups(like);
  table.each_row(messages, [&](const RowReader& row) {
    MeasuredService& service = services.emplace_back(read_service(row, setups));
    if (!service.task || !service.task->model.mixed) return;
    const std::string guessed = service.task->model.mixed->unmeasured();
    if (service.doubtful.empty() && !guessed.empty()) {
      service.doubtful = fmt::format("the rates of {} are guessed", guessed);
    }
  });
  messages.throw_if_any();
  return services;
}

}  // namespace dfsearch
