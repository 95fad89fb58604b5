#pragma once
// A deployment problem: a model, the requests it serves, the available chips, and the open choices
// (docs/serving.md).

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "base/words.hpp"
#include "graph/workloads/llm/transformer.hpp"
#include "model/framework.hpp"
#include "model/machine/machine.hpp"
#include "model/memory/levels.hpp"
#include "model/problem.hpp"
#include "model/serving/server_memory.hpp"

namespace dfsearch::serving {

/// The format in which a number is stored or multiplied.
enum class Number : std::uint8_t {
  Fp32,
  Bf16,
  Fp8,
  Int8,
  Nvfp4,
  Mxfp4,
  Fp4,
  Int4,
  Int4G32,   ///< integers with a scale of 16 bits for each 32
  Int4G128,  ///< integers with a scale of 16 bits and a zero of 4 bits for each 128: AWQ, GPTQ
};
inline constexpr std::size_t kNumbers = 10;
constexpr auto words(Number) {
  return named<Number>("fp32", "bf16", "fp8", "int8", "nvfp4", "mxfp4", "fp4", "int4", "int4_g32",
                       "int4_g128");
}
/// Bytes of a value, with its part of the scales of its block.
constexpr double bytes_of(Number number) {
  constexpr std::array<double, kNumbers> kBytes = {4,       2,   1,   1,      0.5625,
                                                   0.53125, 0.5, 0.5, 0.5625, 0.51953125};
  return kBytes[static_cast<std::size_t>(number)];
}
/// The format in which stored weights are multiplied by default: 16 bits for groups of integers,
/// otherwise the stored format.
constexpr Number multiplied(Number stored) {
  return stored == Number::Int4G32 || stored == Number::Int4G128 ? Number::Bf16 : stored;
}

/// A class of equal requests.
struct RequestClass {
  std::int64_t input = 1;
  std::int64_t output = 1;
  std::int64_t prefix = 0;  ///< tokens of the input that are in the cache; less than `input`
  double share = 1.0;       ///< weight of the class among all requests
};

/// The parts of a model whose weights may have formats of their own.
enum class Module : std::uint8_t { Attention, Dense, Shared, Experts, Router, Embedding, Head };
inline constexpr std::size_t kModules = 7;
constexpr auto words(Module) {
  return named<Module>("attention", "dense", "shared", "experts", "router", "embedding", "head");
}
/// The formats of a module; without a value the formats of the whole model apply.
struct ModulePrecision {
  std::optional<Number> weights, products;
};

struct Precision {
  Number weights = Number::Bf16;
  Number cache = Number::Bf16;
  std::optional<Number> products;  ///< default: multiplied(weights)
  std::optional<Number> head;      ///< default: `weights`
  Number activations = Number::Bf16;
  Number attention = Number::Bf16;
  Number communication = Number::Bf16;
  Number state = Number::Fp32;              ///< states of blocks with a state
  std::optional<Number> dispatch, combine;  ///< tokens to experts and back; default: communication
  std::array<ModulePrecision, kModules> modules{};

  [[nodiscard]] const ModulePrecision& of(Module module) const {
    return modules[static_cast<std::size_t>(module)];
  }
  /// The format in which the weights of a module are stored.
  [[nodiscard]] Number weights_of(Module module) const {
    const bool is_end = module == Module::Head || module == Module::Embedding;
    return of(module).weights.value_or(is_end ? of_head() : weights);
  }
  /// The format of the products of a module: by default, the format in which its own weights are
  /// multiplied, if given, and otherwise the format of all products.
  [[nodiscard]] Number products_of(Module module) const {
    if (of(module).products) return *of(module).products;
    if (of(module).weights) return multiplied(*of(module).weights);
    return module == Module::Head ? multiplied(of_head()) : of_products();
  }
  [[nodiscard]] Number of_products() const { return products.value_or(multiplied(weights)); }
  [[nodiscard]] Number of_head() const { return head.value_or(weights); }
};
/// A kind of values, with the getter of its number format.
struct PrecisionOf {
  std::string_view name;
  Number (*get)(const Precision&);
};
inline constexpr std::array<PrecisionOf, 7> kPrecisionOf = {
    {{"weights", [](const Precision& p) { return p.weights; }},
     {"cache", [](const Precision& p) { return p.cache; }},
     {"products", [](const Precision& p) { return p.of_products(); }},
     {"head", [](const Precision& p) { return p.of_head(); }},
     {"activations", [](const Precision& p) { return p.activations; }},
     {"attention", [](const Precision& p) { return p.attention; }},
     {"communication", [](const Precision& p) { return p.communication; }}}};

/// The way in which tokens are drafted; a pass of the model checks them.  Published: a sequence by
/// the formula of DFModel's script, in which each token has its own acceptance, and a check takes
/// the time of one token.
enum class Drafting : std::uint8_t { None, Sequence, Tree, Mtp, Published };
constexpr auto words(Drafting) {
  return named<Drafting>("none", "sequence", "tree", "mtp", "published");
}

struct Speculation {
  Drafting kind = Drafting::None;
  std::vector<std::int64_t> depths = {0};  ///< drafted levels to choose from
  std::vector<double> acceptance;    ///< of each level, given the one before; the last repeats
  std::optional<Transformer> draft;  ///< the draft model; none for Mtp
};

/// The share of the peak of each resource of a chip that kernels reach.
struct Shares {
  double matrix = 1.0;
  std::optional<double> matrix_8bit;  ///< of products in 8 bits; default: `matrix`
  std::optional<double> matrix_4bit;  ///< of products in 4 bits; default: `matrix`
  std::optional<double> experts;      ///< of products of experts; default: share of other products
  double experts_scale = 1.0;         ///< further factor on products of experts
  std::optional<double> experts_memory;  ///< of the bandwidth by experts; default: `memory`
  double attention = 1.0;
  double memory = 1.0;
  double cache = 1.0;
  double network = 1.0;

  [[nodiscard]] double matrix_of(Number number) const {
    if (bytes_of(number) < 1.0) return matrix_4bit.value_or(matrix);
    return bytes_of(number) == 1.0 ? matrix_8bit.value_or(matrix) : matrix;
  }
};

/// The shares of the peak that blocks with a state, and scores of indexes, reach: guessed from
/// single kernels (docs/truth.md, section 1).
struct ScanShares {
  double products = 0.09;  ///< of state spaces and linear attention
  double delta_rule = 0.05;
  double elementwise = 0.02;  ///< of FLOP outside of products
  double index = 0.53;        ///< as a share of the peak of 8 bits
  Seconds start{10e-6};       ///< time added to each layer in a pass
};

/// The exchange of tokens with experts if ranks have requests of their own.  Gather: each rank gets
/// all tokens and adds up its part; AllToAll: tokens go to the chips of their experts and back.
enum class Exchange : std::uint8_t { AllToAll, Gather };
constexpr auto words(Exchange) { return named<Exchange>("all_to_all", "gather"); }

/// The number of copies of a token that leave the innermost dimension of the network: one for each
/// expert of the token, or one for each group of chips with some of these experts.
enum class Dispatch : std::uint8_t { PerExpert, PerNode };
constexpr auto words(Dispatch) { return named<Dispatch>("per_expert", "per_node"); }

/// Whether ranks prefill in the same iterations (Aligned).
enum class Ranks : std::uint8_t { Aligned, Independent };
constexpr auto words(Ranks) { return named<Ranks>("aligned", "independent"); }

/// The kind of a measured deployment.
enum class MeasuredKind : std::uint8_t { Dense, Experts, Apart };
constexpr auto words(MeasuredKind) {
  return named<MeasuredKind>({{"dense", MeasuredKind::Dense},
                              {"experts", MeasuredKind::Experts},
                              {"apart", MeasuredKind::Apart}});
}

/// A class of similar deployments of an engine, and the errors of their predictions.
struct MeasuredClass {
  MeasuredKind kind = MeasuredKind::Dense;  ///< Apart: prefill is on other chips
  bool job = false;                         ///< all requests at once
  std::int64_t bits = 16;      ///< bits of a weight; in a model with experts, of their weights
  bool ranks = false;          ///< whether several ranks of requests share experts
  bool wide = false;           ///< a stage that decodes has more than eight chips
  std::int64_t requests = 64;  ///< greatest number of requests of a replica in this class
  std::int64_t rows = 0;       ///< number of measured rows
  double off = 0.0;            ///< mean of |predicted / measured - 1|
  double bias = 0.0;           ///< mean of predicted / measured - 1; positive: too slow
  std::int64_t beyond = 0;     ///< rows with an error of more than `kFarOff`
};
inline constexpr double kFarOff = 0.4;

/// The software that serves, with the times that it adds to the times of the chip.
struct Engine {
  std::string name = {};   ///< name on the shelf; empty if the config describes the engine
  Seconds pass{};          ///< time of a pass of a stage
  Seconds layer{};         ///< time of a layer
  Seconds expert_layer{};  ///< further time of a layer with experts
  Seconds rank_layer{};    ///< further time of a layer whose experts several ranks share
  Seconds request{};       ///< time of a decoding request in each stage
  Seconds prefill{};       ///< time added to each request, once
  Seconds answer{};        ///< time added to the first token of a request
  double usable = 1.0;     ///< usable share of the memory
  Bytes reserved{};        ///< memory kept free for other uses
  double tile = 0.0;       ///< rows of an expert's products that are computed together
  Exchange exchange = Exchange::AllToAll;
  Dispatch dispatch = Dispatch::PerExpert;      ///< with AllToAll
  std::optional<std::int64_t> node_limit = {};  ///< most groups that hold the experts of a token
  /// Sizes of recorded graphs, in tokens: iterations without prefill are padded to the next size;
  /// empty: no padding.
  std::vector<std::int64_t> graph_sizes = {};
  Ranks ranks = Ranks::Aligned;
  std::optional<Release> release;            ///< its release, which decides all memory but caches
  std::vector<MeasuredClass> measured = {};  ///< deployments with these constants
  Shares shares;
  std::optional<ScanShares> scans;  ///< default: guessed; for an ideal engine, the peaks

  [[nodiscard]] ScanShares scan_shares() const {
    if (scans) return *scans;
    return is_ideal() ? ScanShares{1.0, 1.0, 1.0, 1.0, Seconds{}} : ScanShares{};
  }
  /// Whether no constant of the software is given: the chip reaches its peaks.
  [[nodiscard]] bool is_ideal() const {
    return pass == Seconds{} && layer == Seconds{} && shares.matrix == 1.0 &&
           shares.memory == 1.0 && shares.network == 1.0;
  }
};

/// How a chip runs a layer.
struct LayerExecution {
  Style style = Style::KernelByKernel;  ///< Dataflow: all kernels of a layer at once
  Overlap overlap = Overlap::Perfect;   ///< overlap within a partition, for Dataflow
};

/// A number of chips of one kind.
struct Pool {
  std::string name;
  std::int64_t chips = 1;
  /// Deployments use its first memory and its network, innermost dimension first.  If `peak` is not
  /// given, they also use its peak.
  Machine machine;
  std::array<std::optional<FlopsPerSecond>, kNumbers> peak;
  double price = 0.0;                      ///< of a chip, dollars an hour
  Watts power{};                           ///< of a chip
  std::optional<BytesPerSecond> transfer;  ///< of caches, for each chip; default: last dimension
  Engine engine;
  std::optional<Server> server;  ///< given if the release is known; decides the memory
  LayerExecution execution;

  /// Whether the release of the engine is unknown: its memory other than weights and caches is then
  /// guessed.
  [[nodiscard]] bool is_guessed() const { return !server && !engine.is_ideal(); }
  /// The peak of a number format, by default the peak of bf16.
  [[nodiscard]] FlopsPerSecond peak_of(Number number) const {
    const auto& own = peak[static_cast<std::size_t>(number)];
    const auto& bf16 = peak[static_cast<std::size_t>(Number::Bf16)];
    return own ? *own : bf16 ? *bf16 : machine.peak();
  }
  /// The format in which numbers are multiplied: bf16 if they have less than 8 bits and no peak of
  /// their own, otherwise the same format.
  [[nodiscard]] Number multiplied(Number number) const {
    const bool has = peak[static_cast<std::size_t>(number)].has_value();
    return bytes_of(number) < 1.0 && !has ? Number::Bf16 : number;
  }
  /// The memory that the engine may use, and its share of all memory.
  [[nodiscard]] Bytes usable() const { return share() * machine.memory[0].capacity; }
  [[nodiscard]] double share() const {
    return server ? share_of(*server, machine.memory[0].capacity.in_base_units()) : engine.usable;
  }
  [[nodiscard]] BytesPerSecond transfer_rate() const {
    if (transfer) return *transfer;
    return machine.network.empty() ? BytesPerSecond::infinity() : machine.network.back().bandwidth;
  }
};

enum class Mode : std::uint8_t {
  Aggregated,     ///< replicas decode and process chunks of prefill
  Disaggregated,  ///< some replicas prefill, the others decode
};
constexpr auto words(Mode) { return named<Mode>("aggregated", "disaggregated"); }

enum class Objective : std::uint8_t {
  Throughput,
  ThroughputPerChip,
  Interactivity,
  Cost,
  Energy,
  Edp,
  Chips,
  Ttft,
  E2e,
  Front,
  Fullness  ///< for remedies alone
};
constexpr auto words(Objective) {
  return named<Objective>("throughput", "throughput_per_chip", "interactivity", "cost", "energy",
                          "edp", "chips", "ttft", "e2e", "front");
}

/// Whether the energies of chips decide the objective.
constexpr bool asks_energy(Objective objective) {
  return objective == Objective::Energy || objective == Objective::Edp;
}

/// Whether users read the objective as a rate, where more is better.
constexpr bool more_is_better(Objective objective) {
  return objective == Objective::Throughput || objective == Objective::ThroughputPerChip ||
         objective == Objective::Interactivity;
}

/// The axis of a front beside tokens/s of a user.
enum class FrontAxis : std::uint8_t { ThroughputPerChip, Cost };
constexpr auto words(FrontAxis) { return named<FrontAxis>("throughput_per_chip", "cost"); }

/// The length for which cache is reserved for each running request: its final length, the mean
/// length, or the longest.
enum class CacheReserve : std::uint8_t { Full, Mean, Max };
constexpr auto words(CacheReserve) { return named<CacheReserve>("full", "mean", "max"); }

/// The model of the wait for prefill: a queue M/D/1, or no wait.
enum class Wait : std::uint8_t { Md1, None };
constexpr auto words(Wait) { return named<Wait>("md1", "none"); }

/// The choices of one role.  If one has no value, the choice for all roles applies.
struct RoleChoices {
  std::optional<DegreeChoice> tensor, pipeline, attention_data, expert, replicas, batch, chunk;
};

/// The greatest share of its capacity that a role may use.
struct Utilization {
  double prefill = 1.0;
  double decode = 1.0;
  double mixed = 1.0;            ///< iterations with a chunk of prefill
  std::optional<double> memory;  ///< of the memory of a chip; replaces the engine's `usable`
};

struct Limits {
  std::optional<Seconds> ttft, tpot, e2e;
  std::optional<double> cost;  ///< dollars for a million tokens of output

  [[nodiscard]] bool any() const { return ttft || tpot || e2e || cost; }
};

struct Task {
  Transformer model;
  std::vector<RequestClass> requests;
  std::optional<double> rate;               ///< requests a second that the deployment has to serve
  std::optional<double> concurrency;        ///< users; each sends a request after the last answer
  std::optional<double> rounds;             ///< requests of each user; all users start at once
  std::optional<double> num_requests = {};  ///< requests of a job, all at once; default: no job
  /// The probability of the k-th expert is proportional to k^-popularity; 0: experts are equally
  /// likely, and loads differ by chance alone.  Without a value, `imbalance` of the model
  /// applies.
  std::optional<double> popularity;
  double length_spread = 0.0;  ///< lengths are uniform in (1 - spread .. 1 + spread) of the mean
  std::vector<Precision> precisions = {{}};  ///< to choose from; a deployment has one
  Speculation speculation;

  std::vector<Pool> pools;
  std::vector<Mode> modes = {Mode::Aggregated, Mode::Disaggregated};
  RoleChoices all, aggregated, prefill, decode;
  std::vector<std::int64_t> redundant_experts = {0};  ///< copies of experts, to choose from
  std::vector<std::int64_t> sub_batches = {1};        ///< to choose from
  Limits limits;
  Objective objective = Objective::Throughput;
  FrontAxis front = FrontAxis::ThroughputPerChip;
  CacheReserve cache_reserve = CacheReserve::Full;
  Wait wait = Wait::Md1;
  Utilization utilization;
  std::optional<std::int64_t> max_seqs;          ///< the greatest batch of a rank
  std::optional<std::int64_t> batched_tokens;    ///< most tokens of an iteration
  bool chunked_prefill = true;                   ///< false: an iteration takes whole prompts
  std::optional<std::int64_t> max_model_len;     ///< default: tokens of the longest request
  memory::Level level = memory::Level::Typical;  ///< the level at which a deployment has to fit
  std::optional<Framework> framework;            ///< the framework that serves; default: any

  /// Whether the precisions to choose from differ in this format.
  [[nodiscard]] bool is_open(const PrecisionOf& of) const {
    return std::any_of(precisions.begin(), precisions.end(), [&](const Precision& other) {
      return of.get(other) != of.get(precisions.front());
    });
  }
};

/// Upper limits on the price, power and number of all chips in use.
struct Budget {
  std::optional<double> price;  ///< dollars an hour
  std::optional<Watts> power;
  std::optional<std::int64_t> chips;
};

/// Several models on the same pools, each with a rate.  The objective of the first model applies to
/// the fleet: `cost` is the dollars an hour of all chips, `energy` their power, `chips` their
/// number.
struct Fleet {
  std::vector<std::string> names;
  std::vector<Task> models;
  Budget budget;
};

}  // namespace dfsearch::serving
