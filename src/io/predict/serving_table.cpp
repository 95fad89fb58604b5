// A row gives the degrees and the load, not the chunk of prefill.  The chunk is the least number of
// whole requests that keeps pace with those that finish, since engines take all waiting requests
// into the next pass.

#include "io/predict/serving_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "io/config/load_config.hpp"
#include "model/serving/requests.hpp"

namespace dfsearch {
namespace {

using serving::Mode;
using serving::Number;

/// A name of tables, or a part of it, and the name on the shelf.
struct Known {
  std::string_view name, shelf;
};
constexpr Known kModels[] = {
    {"Llama-3.1-8B", "llama3_8b"},          {"Llama-3.1-70B", "llama3_70b"},
    {"Llama-3.3-70B", "llama3_70b"},        {"Qwen3-32B", "qwen3_32b"},
    {"Qwen3-235B-A22B", "qwen3_235b_a22b"}, {"DeepSeek-V3", "deepseek_v3"},
    {"DeepSeek-R1", "deepseek_v3"},         {"MiniMax-M2", "minimax_m2"},
    {"gpt-oss-120b", "gpt_oss_120b"},       {"Kimi-K2", "kimi_k2"}};
struct KnownSystem {
  std::string_view name, system, chip, engine;
  std::int64_t node;  ///< chips of one, which replicas that do both stay in
};
constexpr KnownSystem kSystems[] = {
    {"h100_sxm", "h100_dgx", "h100", "h100", 8},   {"h200_sxm", "h200_dgx", "h200", "h200", 8},
    {"b200_sxm", "b200_dgx", "b200", "b200", 8},   {"b300_sxm", "b300_dgx", "b300", "b200", 8},
    {"gb200", "gb200_nvl72", "gb200", "b200", 16}, {"gb300", "gb300_nvl72", "gb300", "b200", 16}};
constexpr std::string_view kBackends[] = {"vllm", "trtllm", "sglang"};
constexpr std::int64_t kMostTokens = 8192;             ///< of a chunk
constexpr std::int64_t kMostDegree = 10'000;           ///< four of them stay in 64 bits
constexpr std::int64_t kMostRequests = 1'000'000'000;  ///< of a batch
constexpr double kClientRounds = 10.0;  ///< requests that a client sends one after the other

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
constexpr std::string_view kRoleColumns[] = {"batch_size", "num_workers",       "tp_size",
                                             "pp_size",    "attention_dp_size", "moe_tp_size",
                                             "moe_ep_size"};

/// Tasks of models, systems and engines of the shelf, each read once.
class ServiceSetups {
 public:
  const serving::Task& task(std::string_view model, const KnownSystem& system,
                            const std::string& engine) {
    const std::string config = fmt::format(
        "workload: {{kind: llm_serving, model: {}, input: 2, output: 2, concurrency: 1, rounds: "
        "{}}}\nserving:\n  pools: [{{name: chips, chips: 1000000, system: {{from: {}, chip: {}, "
        "engine: {}}}}}]\n  cache_reserve: mean\n  utilization: {{prefill: 0.9}}\n",
        model, kClientRounds, system.system, system.chip, engine);
    const auto found = tasks_.find(config);
    if (found != tasks_.end()) return found->second;
    return tasks_.emplace(config, std::get<ServingConfig>(parse_any_config(config, "table")).task)
        .first->second;
  }

 private:
  std::map<std::string, serving::Task> tasks_;
};

/// The degrees of a replica and its load; `prefix` begins the columns of its role.
class RoleReader {
 public:
  RoleReader(const RowReader& row, std::string prefix) : row_(row), prefix_(std::move(prefix)) {}

  /// Some rows have 0 for a degree that does not count.
  [[nodiscard]] std::int64_t count(std::string_view column) const {
    return std::max<std::int64_t>(row_.count(prefix_ + std::string(column), 1, 0, kMostDegree), 1);
  }
  [[nodiscard]] serving::Role role(const Transformer& model) const {
    serving::Role role{.structure = {.tensor = count("tp_size"), .pipeline = count("pp_size")}};
    if (model.experts) {
      role.structure.attention_data = count("attention_dp_size");
      role.structure.expert = std::gcd(std::gcd(role.structure.stage_chips(), model.experts->count),
                                       count("moe_ep_size"));
    }
    role.structure.pipeline = std::min(role.structure.pipeline, model.layers);
    role.replicas = prefix_.empty() ? 1 : count("num_workers");
    role.batch = std::max<std::int64_t>(
        std::llround(serving::real(row_.count(prefix_ + "batch_size", 1, 0, kMostRequests)) /
                     serving::real(role.structure.pipeline)),
        1);
    return role;
  }
  [[nodiscard]] std::string doubt(const Transformer& model) const {
    const std::int64_t chips = count("tp_size") * count("attention_dp_size");
    if (!model.experts || chips == count("moe_tp_size") * count("moe_ep_size")) return {};
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
  const std::int64_t ranks = model.experts ? role.count("attention_dp_size") : 1;
  const std::int64_t named = tensor_in(service.id);
  if (role.count("tp_size") * ranks > system.node) return "more chips than a node has";
  if (named > 0 && named != role.count("tp_size")) return "the name says another tensor degree";
  if (std::string wrong = role.doubt(model); !wrong.empty()) return wrong;
  const bool is_limit = service.backend == "vllm" && service.source == "aic gap analysis" &&
                        row.count("isl", 1) % 1000 == 0;
  return is_limit ? "the batch is a limit, not the load" : "";
}

serving::Precision precision_of(const RowReader& row, const MeasuredService& service) {
  constexpr std::pair<std::string_view, Number> kStored[] = {
      {"bf16", Number::Bf16},         {"bfloat16", Number::Bf16},
      {"fp8", Number::Fp8},           {"fp8_block", Number::Fp8},
      {"fp8_static", Number::Fp8},    {"nvfp4", Number::Nvfp4},
      {"w4a16_mxfp4", Number::Mxfp4}, {"w4a8_mxfp4_mxfp8", Number::Mxfp4},
      {"int4_wo", Number::Int4}};
  std::vector<std::string_view> words;
  for (const auto& [word, number] : kStored) words.push_back(word);
  const Number weights = kStored[row.choice("gemm_quant_mode", words)].second;
  const Number experts = kStored[row.choice("moe_quant_mode", words)].second;
  serving::Precision precision{.weights = service.task->model.experts ? experts : weights,
                               .head = Number::Bf16};
  const bool small = precision.weights != Number::Bf16;
  // Chips without four-bit products, and kernels for integers, multiply 16 bits.
  const auto& peak = service.task->pools[0].peak[static_cast<std::size_t>(precision.weights)];
  if (!peak) precision.products = Number::Bf16;
  if (service.backend == "trtllm" || (service.backend == "vllm" && small)) {
    precision.cache = Number::Fp8;
  }
  return precision;
}

void read_load(const RowReader& row, MeasuredService& service) {
  serving::Task& task = *service.task;
  // InferenceX draws each length evenly from 0.8 to 1 times it.
  const double mean = service.source.starts_with("InferenceX") ? 0.9 : 1.0;
  const auto tokens = [&](std::string_view column, std::int64_t least) {
    const double length = mean * serving::real(row.count(column, least, least));
    return std::max<std::int64_t>(std::llround(length), least);
  };
  task.requests = {{.input = tokens("isl", 1), .output = tokens("osl", 2)}};
  if (mean < 1.0) task.length_spread = 0.11;
  task.precisions = {precision_of(row, service)};
}

template <class List>
auto find_known(const List& list, std::string_view name) {
  return std::find_if(std::begin(list), std::end(list), [&](const auto& known) {
    return name.find(known.name) != std::string_view::npos;
  });
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
  const auto model = find_known(kModels, service.model);
  const auto system = std::find_if(std::begin(kSystems), std::end(kSystems),
                                   [&](const auto& known) { return service.system == known.name; });
  if (model == std::end(kModels)) {
    service.unknown = "no such model on the shelf";
  } else if (system == std::end(kSystems)) {
    service.unknown = "no such system on the shelf";
  } else if (std::find(std::begin(kBackends), std::end(kBackends), service.backend) ==
             std::end(kBackends)) {
    service.unknown = "no such engine on the shelf";
  }
  if (!service.unknown.empty()) return service;
  service.engine = fmt::format("{}_{}", service.backend, system->engine);
  service.task = setups.task(model->shelf, *system, service.engine);
  read_load(row, service);
  serving::Deployment& deployment = service.deployment;
  const Transformer& shape = service.task->model;
  if (apart) {
    const RoleReader prefill(row, "prefill_"), decode(row, "decode_");
    deployment = {
        .mode = Mode::Disaggregated, .prefill = prefill.role(shape), .decode = decode.role(shape)};
    service.doubtful = prefill.doubt(shape);
    if (service.doubtful.empty()) service.doubtful = decode.doubt(shape);
    return service;
  }
  const RoleReader both(row, "");
  deployment.decode = both.role(shape);
  service.doubtful = doubt_of_both(row, service, both, *system);
  // Each request of the batch has a user, and the chunk is the rest of an iteration.
  serving::Role& role = deployment.decode;
  const serving::Structure& s = role.structure;
  service.task->concurrency =
      serving::real(role.replicas * s.attention_data * s.pipeline * role.batch);
  service.task->batched_tokens = role.chunk = kMostTokens;
  return service;
}

}  // namespace

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
  const std::vector<std::string> names = service_columns();
  return table.unknown_columns(std::vector<std::string_view>(names.begin(), names.end()));
}

void check_service_columns(const CsvTable& table, InputMessages& messages) {
  const std::vector<std::string> names = service_columns();
  table.need(std::vector<std::string_view>(names.begin(), names.end()), messages);
  messages.throw_if_any();
}

std::vector<MeasuredService> read_services(const CsvTable& table, InputMessages& messages) {
  check_service_columns(table, messages);
  std::vector<MeasuredService> services;
  ServiceSetups setups;
  table.each_row(messages,
                 [&](const RowReader& row) { services.push_back(read_service(row, setups)); });
  messages.throw_if_any();
  return services;
}

}  // namespace dfsearch
