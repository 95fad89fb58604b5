#pragma once
// The software that runs plans, and the measured chip that it runs on (docs/truth.md).  Each
// constant has its source in the file of the shelf.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.hpp"
#include "base/words.hpp"
#include "model/memory/levels.hpp"
#include "model/memory/stage_memory.hpp"
#include "model/memory/trained.hpp"
#include "model/stack/software.hpp"
#include "schema/schema.hpp"

namespace dfsearch::stack {

inline double amount(std::int64_t count) { return static_cast<double>(count); }
template <int... exponents>
double amount(Quantity<exponents...> quantity) {
  return quantity.in_base_units();
}

/// Shares at ascending amounts of work (FLOP, bytes or tokens of a sample).  Between these amounts
/// the share is linear in the logarithm of the work, and beyond them it is constant.  `low` and
/// `high` are empty, or enclose `share`.
template <class Work>
struct Curve {
  std::vector<Work> work;
  std::vector<double> share, low, high;

  [[nodiscard]] bool given() const { return !work.empty(); }

  /// docs/truth.md (1)
  [[nodiscard]] double at(double work_of_one) const {
    if (!(work_of_one > amount(work.front()))) return share.front();
    std::size_t i = 1;
    while (i < work.size() && amount(work[i]) < work_of_one) ++i;
    if (i == work.size()) return share.back();
    const double from = amount(work[i - 1]), to = amount(work[i]);
    return share[i - 1] +
           (share[i] - share[i - 1]) * (std::log(work_of_one / from) / std::log(to / from));
  }
};

/// The limits of constants: shares that are reached, shares that are lost or hidden, factors, and
/// host times in seconds.
inline constexpr Interval kShare{1e-6, 1.0}, kPart{0.0, 1.0}, kFactor{1e-3, 1e3}, kHost{0.0, 10.0};

/// A constant: one value, or low, typical and high.
template <class Value>
using Constant = std::vector<Value>;

template <class Value>
Value typical(const Constant<Value>& constant) {
  return constant.empty() ? Value{} : constant[constant.size() / 2];
}

/// A constant of one value is the same at all levels.
template <class Value>
Value at_level(const Constant<Value>& constant, memory::Level level) {
  return constant.size() == memory::kLevels.size() ? constant[static_cast<std::size_t>(level)]
                                                   : typical(constant);
}

enum class Bits : std::uint8_t { Sixteen, Eight, Four };

/// Bytes of a weight, and of each value that is not cast for a product.
inline constexpr double kWord = 2.0;

/// The number format of products in linear layers.  All else stays in 16 bits.
enum class Precision : std::uint8_t { Bf16, Fp16, Fp8, Fp8CurrentScaling, Fp8Blocks, Mxfp8, Nvfp4 };
constexpr auto words(Precision) {
  return named<Precision>("bf16", "fp16", "fp8", "fp8-cs", "fp8-mx", "mxfp8", "nvfp4");
}
constexpr Bits bits_of(Precision precision) {
  if (precision == Precision::Nvfp4) return Bits::Four;
  return precision <= Precision::Fp16 ? Bits::Sixteen : Bits::Eight;
}

/// The kernel of attention.  `Unfused`: products with scores in memory between them.
enum class Attention : std::uint8_t { Unfused, Flash1, Flash2, Cudnn };
constexpr auto words(Attention) { return named<Attention>("unfused", "fa1", "fa2", "cudnn"); }

/// The work that hides the exchanges of the replicas.
enum class DataOverlap : std::uint8_t {
  None,
  DistributedOptimizer,  ///< the last backward and the first forward pass, in part
  Ddp,  ///< the last backward pass; if replicas divide states, gradients are reduced whole
};
constexpr auto words(DataOverlap) {
  return named<DataOverlap>("none", "distributed_optimizer", "ddp");
}

/// How the layers of a run are spread over stages.
enum class Placement : std::uint8_t {
  Best,    ///< the step time is least
  ByCost,  ///< a stage is full once it has more than its part of all products, the head included
};
constexpr auto words(Placement) { return named<Placement>("best", "by_cost"); }

/// Shares of the peak by tokens of a sample, for a kernel that skips masked pairs.
struct AttentionCurve {
  std::vector<std::int64_t> tokens;
  std::vector<double> forward, backward;

  [[nodiscard]] bool given() const { return !tokens.empty(); }
};

/// A chip as it was measured, and the links of its machine.
struct MeasuredChip {
  std::string name;                      ///< name of its file; empty if there is none
  std::array<FlopsPerSecond, 3> peak{};  ///< dense peaks by Bits; 0: not of this chip
  /// Factors on the rates of curves that long runs sustain, by Bits.
  std::array<Constant<double>, 3> clock;
  std::array<Curve<Flops>, 3> products;     ///< shares of the peaks, by Bits
  AttentionCurve flash1, flash2, cudnn;     ///< shares of the peak of 16 bits
  Constant<double> batched_products{0.38};  ///< share of the peak if attention is not fused
  Constant<double> small_heads{0.8};        ///< rate with heads of 64, over the rate with 128
  Curve<Bytes> elementwise;                 ///< shares of the bandwidth of the memory
  BytesPerSecond memory{};
  Bytes visible{};                  ///< size of the memory, as the driver shows it
  Constant<double> cpu{1.0};        ///< host time with experts, over the time of a fast host
  Constant<Bytes> dispatch_row;     ///< added to the bytes of a row that each chip gets once
  bool scaled = false;              ///< rates are scaled from another chip by the peaks
  std::vector<std::string> fitted;  ///< keys whose values runs decided
  // A domain is a group of chips that one switch joins.
  std::int64_t domain = 8;
  Seconds base{}, hop{};              ///< latency of a collective, and of each further member
  std::vector<std::int64_t> members;  ///< sizes of groups in a domain with the rates `bus`
  std::vector<BytesPerSecond> bus;
  BytesPerSecond nic{};  ///< nominal rate of a chip's link out of its domain, one way
};

/// The bytes that the loss takes for a logit, by the kind of loss.  For a chunked loss, only the
/// logits that are kept in 16 bits count.
struct LogitBytes {
  std::array<Constant<double>, memory::kLossKinds> of{Constant<double>{10.0, 14.0, 16.0}};

  [[nodiscard]] const Constant<double>& operator[](memory::LossKind kind) const {
    return of[static_cast<std::size_t>(kind)];
  }
};

/// Memory beside states and activations.
struct StackMemory {
  Constant<Bytes> resident{Bytes(0.1e9), Bytes(0.5e9), Bytes(1.5e9)};
  Constant<double> fragment{0.0, 0.08, 0.25};
  Constant<double> gathered_fragment;  ///< `fragment` if replicas divide weights, unless empty
  Constant<Bytes> context{Bytes(0.35e9), Bytes(0.7e9), Bytes(1.5e9)};
  Constant<Bytes> group{Bytes(0.0), Bytes(0.15e9), Bytes(0.5e9)};
  Constant<double> spread{0.88, 1.0, 1.12}, imbalance{1.0, 1.1, 2.5};
  double eager_widths = 0.0;         ///< values kept beside fused kernels, in model widths
  double gathered_layers = 2.0;      ///< layers gathered at once if replicas divide weights
  bool eight_bit_inputs = false;     ///< linears in 8 bits keep their inputs in 8 bits
  bool twice_with_adapters = false;  ///< activations count twice if replicas divide weights
};

/// Rates of blocks with a state and of scores of indexes.  No run of the tables decided them: the
/// low, typical and high values are from single kernels (docs/truth.md, section 1).
struct ScanRates {
  // Shares of the peak of 16 bits, except for `index`.
  Constant<double> products{0.037, 0.09, 0.26};    ///< products of state spaces, linear attention
  Constant<double> delta_rule{0.02, 0.05, 0.12};   ///< products of delta rules
  Constant<double> elementwise{0.01, 0.02, 0.04};  ///< elementwise FLOP
  Constant<double> index{0.1, 0.53, 0.58};         ///< share of the peak of 8 bits, if stated
  // Least time of a layer, for any length.
  Constant<Seconds> start{Seconds(0.26e-3), Seconds(0.84e-3), Seconds(0.84e-3)};
  Constant<Seconds> delta_start{Seconds(0.05e-3), Seconds(0.35e-3), Seconds(0.84e-3)};
};

/// Factors on the typical times of the classes of work.
struct Scenario {
  double compute = 1.0, attention = 1.0, elementwise = 1.0, host = 1.0, links = 1.0, scans = 1.0;
};

/// Factors at each level on the times of each class of work, and of whole steps (`release`, as
/// releases of the software differ).
struct Ranges {
  Constant<double> compute{0.92, 1.0, 1.09}, attention{0.80, 1.0, 1.25},
      elementwise{0.75, 1.0, 1.33}, host{0.80, 1.0, 1.25}, links{0.80, 1.0, 1.30},
      scans{0.35, 1.0, 2.40}, release{1.0};

  /// The factors of all classes at one level.
  [[nodiscard]] Scenario at(memory::Level level) const {
    return {at_level(compute, level), at_level(attention, level), at_level(elementwise, level),
            at_level(host, level),    at_level(links, level),     at_level(scans, level)};
  }
};

/// The switches of layers of experts if a run or a config leaves them out.
struct OpenSwitches {
  Software low, typical, high;
  Constant<double> release;  ///< factor on whole steps, in place of `Ranges::release`

  [[nodiscard]] const Software& at(memory::Level level) const {
    return level == memory::Level::Low ? low : level == memory::Level::High ? high : typical;
  }
};

struct Stack {
  Software software;
  OpenSwitches open;
  Attention attention = Attention::Flash2;
  Constant<double> ring{1.0};              ///< rate of attention in a ring of context ranks
  Constant<double> elementwise{1.0};       ///< passes over memory, relative to fused kernels
  Constant<double> expert_products{0.95};  ///< rate of grouped products, over one of equal size
  ScanRates scans;
  Constant<double> loss_bytes{14.0};  ///< bytes that move for a logit
  // Times of the host, for a layer and pass.
  Constant<Seconds> host_forward, host_backward;
  Constant<Seconds> host_exchange;
  Constant<Seconds> host_softmax;  ///< added where the fused softmax is not used
  Constant<Seconds> host_micro_batch, host_step;
  Constant<double> host_exponent{5.0};  ///< q in (7): the degree to which host and chip overlap
  // Times of the host for layers of experts, in each direction.
  Constant<Seconds> expert_launch{Seconds(0.13e-3)};  ///< of one expert of a chip
  Constant<double> launch_16bit{0.2};                 ///< share of `expert_launch` in 16 bits
  Constant<Seconds> dispatch_host{Seconds(0.65e-3)}, router_host{Seconds(0.3e-3)};
  Constant<double> attention_host{0.6};            ///< share of host_forward and host_backward
  Constant<double> overlap_host{1.4};              ///< factor on all these, with `expert_overlap`
  Constant<Seconds> module_host{Seconds(0.1e-3)};  ///< time of a module that is computed again
  Constant<double> expert_hidden{0.75};            ///< share of exchanges hidden by the overlap
  Constant<double> hybridep_words{1.3};            ///< words for each element of a row, forward
  Constant<double> natural_load{1.25};             ///< rows of the fullest chip over the mean
  Constant<Bytes> sink_bytes{Bytes(58e3)};         ///< bytes for a token and head, backward
  Constant<double> cast_words{3.2};                ///< words for each element cast to 8 bits
  Constant<double> scan_words{0.5};                ///< words added if the maximum is found first
  Constant<double> four_bit_words{1.0};            ///< words added for an input of 4 bits
  Constant<double> tensor_overlap{0.0};            ///< share of tensor exchanges that is hidden
  DataOverlap data_overlap = DataOverlap::None;
  Constant<double> data_hidden{0.8};           ///< share of a pass that hides replicas' exchanges
  Constant<double> gather_interference{0.45};  ///< share of exchanges that delays kernels
  /// The least exposed share of exchanges of replicas.  If it is left out: a tenth or, with a
  /// distributed optimizer, one bucket.
  Constant<double> exposed;
  /// The elements of a bucket are the greater of `bucket` and `bucket_of_rank` times the replicas.
  Constant<double> bucket{40e6}, bucket_of_rank{1e6};
  bool quantized_gathers = false;  ///< tensor ranks gather inputs as products read them
  Placement placement = Placement::Best;
  Constant<double> nic_share{0.8}, alltoall_nic{0.95};
  Constant<Seconds> hop_out{Seconds(8e-6)};  ///< latency of a hop of a ring between domains
  Constant<double> links_in_training{1.4};   ///< factor on latencies, as ranks wait for the slowest
  memory::States states;
  memory::Gradients gradients = memory::Gradients::Kept;
  memory::Loss loss;  ///< unless a config states the loss
  std::optional<memory::LossKind>
      tensor_loss;  ///< the kind with tensor ranks, if it differs from `loss`
  LogitBytes logits;
  StackMemory memory;
  std::vector<memory::Recompute> recompute;  ///< possible recomputations; modules in any set
  Ranges ranges;
  std::vector<std::string> fitted;  ///< keys of constants that measured runs decide

  [[nodiscard]] bool computes_again(memory::Recompute values) const;
};
memory::StackFigures figures_of(const Stack& stack, memory::LossKind loss, bool gathers,
                                memory::Level level);
/// The row of a constant of a stack, null if no constant has this key.
const Field* constant_of_stack(std::string_view key);
/// Reports constants that are neither one value nor a low, a typical and a high value.
void check_constants(const Schema& schema, void* object, Report& report);
/// Reports keys that contradict each other.
void check_stack(void* object, Report& report);

/// Everything that the times of a plan depend on, except its counts.
struct Setup {
  Stack stack;
  MeasuredChip chip;
  Precision precision = Precision::Bf16;
  Scenario scenario;
  memory::Level level = memory::Level::Typical;  ///< of open switches
  bool is_known = true;  ///< the stack is one of the shelf, maybe with changes

  [[nodiscard]] Bits bits() const { return bits_of(precision); }
  /// The switches of the stack; with experts, open switches are those of the level.
  [[nodiscard]] Switches switches(bool has_experts) const {
    return switches_of(stack.software, has_experts ? stack.open.at(level) : stack.software);
  }
  /// Whether the times of a model depend on switches that are left out.
  [[nodiscard]] bool is_open(bool has_experts) const {
    return has_experts && !stack.open.release.empty() && stack.software.is_open();
  }
  /// This setup with the factors of all classes of work, and open switches, at one level.
  [[nodiscard]] Setup at(memory::Level end) const {
    Setup setup = *this;
    setup.scenario = stack.ranges.at(end);
    setup.level = end;
    return setup;
  }
  /// The last factor on the times of whole steps, for releases of the software.
  [[nodiscard]] double release(bool has_experts) const {
    const Constant<double>& range =
        is_open(has_experts) ? stack.open.release : stack.ranges.release;
    return at_level(range, level);
  }
};

}  // namespace dfsearch::stack

namespace dfsearch {
const Schema& schema_of(Rows<stack::Curve<Flops>>);
const Schema& schema_of(Rows<stack::Curve<Bytes>>);
const Schema& schema_of(Rows<stack::AttentionCurve>);
const Schema& schema_of(Rows<stack::MeasuredChip>);
const Schema& schema_of(Rows<stack::Software>);
const Schema& schema_of(Rows<stack::OpenSwitches>);
const Schema& schema_of(Rows<stack::Ranges>);
const Schema& schema_of(Rows<stack::ScanRates>);
const Schema& schema_of(Rows<stack::LogitBytes>);
const Schema& schema_of(Rows<stack::StackMemory>);
const Schema& schema_of(Rows<memory::States>);
const Schema& schema_of(Rows<memory::Loss>);

/// The rows of a stack.  Each constant is a member of stack::Stack and has its row here.
inline const Schema& schema_of(Rows<stack::Stack>) {
  using S = stack::Stack;
  using stack::kFactor, stack::kHost, stack::kPart, stack::kShare;
  static constexpr Field kFields[] = {
      field<&S::software>("software", "switches of the software, as recipes set them",
                          {.preset = "those of `open`"}),
      field<&S::open>("open", "switches of layers of experts that `software` leaves out",
                      {.preset = "`alltoall` without graphs"}),
      field<&S::attention>("attention", "kernel of attention", {.flags = kRequired}),
      field<&S::ring>(
          "ring", "rate of attention in a ring of context ranks, relative to attention on one rank",
          {.limits = kShare}),
      field<&S::elementwise>("elementwise", "time of passes over memory, relative to fused kernels",
                             {.limits = kFactor}),
      field<&S::expert_products>(
          "expert_products", "rate of grouped products, relative to one product of the same size",
          {.limits = kShare}),
      field<&S::scans>("scans", "rates of blocks with a state and of scores of indexes",
                       {.preset = "guessed from single kernels"}),
      field<&S::loss_bytes>("loss_bytes", "traffic of the loss for a logit", {.limits = {1, 100}}),
      field<&S::host_forward>("host_forward", "host time of a layer, forward",
                              {.limits = kHost, .flags = kRequired}),
      field<&S::host_backward>("host_backward", "host time of a layer, backward",
                               {.limits = kHost, .flags = kRequired}),
      field<&S::host_exchange>("host_exchange", "host time of a collective of a layer",
                               {.limits = kHost, .preset = "0 s"}),
      field<&S::host_softmax>("host_softmax", "host time of a layer without the fused softmax",
                              {.limits = kHost, .preset = "0 s"}),
      field<&S::host_micro_batch>("host_micro_batch", "host time of a micro-batch on a stage",
                                  {.limits = kHost, .preset = "0 s"}),
      field<&S::host_step>("host_step", "host time of a step", {.limits = kHost, .preset = "0 s"}),
      field<&S::host_exponent>("host_exponent", "q in (7), which adds host and device time",
                               {.limits = {1, 100}}),
      field<&S::expert_launch>("expert_launch", "host time of an expert, in each of both passes",
                               {.limits = kHost}),
      field<&S::launch_16bit>("launch_16bit", "share of `expert_launch` in 16 bits, without casts",
                              {.limits = kFactor}),
      field<&S::dispatch_host>("dispatch_host", "host time of both exchanges of experts of a layer",
                               {.limits = kHost}),
      field<&S::router_host>("router_host", "host time of the router of a layer",
                             {.limits = kHost}),
      field<&S::attention_host>("attention_host",
                                "share of attention in host_forward and host_backward",
                                {.limits = kPart}),
      field<&S::overlap_host>("overlap_host", "factor on the host time of experts that overlap",
                              {.limits = {1, 1000}}),
      field<&S::module_host>("module_host", "host time of a recomputed module of a layer",
                             {.limits = kHost}),
      field<&S::expert_hidden>("expert_hidden", "hidden share of exchanges of experts that overlap",
                               {.limits = kPart}),
      field<&S::hybridep_words>("hybridep_words", "words that HybridEP moves for an element",
                                {.limits = {0, 100}}),
      field<&S::natural_load>("natural_load", "rows of the fullest chip over an even load",
                              {.limits = {1, 1000}}),
      field<&S::sink_bytes>("sink_bytes", "bytes for a token and head if sinks are not fused",
                            {.limits = {0, 1e9}}),
      field<&S::cast_words>("cast_words", "words of 16 bits moved to cast an element",
                            {.limits = {0, 100}}),
      field<&S::scan_words>("scan_words", "further words to find the maximum first (fp8-cs)",
                            {.limits = {0, 100}}),
      field<&S::four_bit_words>("four_bit_words", "further words for a cast to 4 bits",
                                {.limits = {0, 100}}),
      field<&S::tensor_overlap>("tensor_overlap", "hidden share of exchanges among tensor ranks",
                                {.limits = kPart}),
      field<&S::data_overlap>("data_overlap", "software that hides the exchanges of replicas"),
      field<&S::data_hidden>("data_hidden", "share of a pass that hides exchanges of replicas",
                             {.limits = kPart}),
      field<&S::gather_interference>(
          "gather_interference", "delay of kernels by a gather of weights, as a share of its time",
          {.limits = kPart}),
      field<&S::exposed>("exposed", "share of the exchanges of replicas that is never hidden",
                         {.limits = kPart, .preset = "0.1; with a distributed optimizer a bucket"}),
      field<&S::bucket>("bucket",
                        "elements of gradients that a distributed optimizer sends at once",
                        {.limits = {1, 1e15}}),
      field<&S::bucket_of_rank>("bucket_of_rank",
                                "least elements of a bucket for each replica, which counts if it "
                                "gives more than `bucket`",
                                {.limits = {0, 1e15}}),
      field<&S::quantized_gathers>("quantized_gathers",
                                   "whether tensor ranks gather inputs of products in 8 or 4 bits"),
      field<&S::placement>("placement", "placement of layers in predictions of runs",
                           {.flags = kNoCost}),
      field<&S::nic_share>("nic_share", "share of the nominal rate of a link out of a domain",
                           {.limits = kShare}),
      field<&S::alltoall_nic>("alltoall_nic", "the same for an all-to-all of experts",
                              {.limits = kShare}),
      field<&S::hop_out>("hop_out", "latency of a hop into another domain, among replicas",
                         {.limits = kHost}),
      field<&S::links_in_training>("links_in_training", "factor on latencies of collectives",
                                   {.limits = kFactor}),
      field<&S::states>("states", "bytes of each state of a trained weight",
                        {.preset = "those of mixed precision"}),
      field<&S::gradients>("gradients", "whether gradients stay allocated between steps"),
      field<&S::loss>("loss", "kernels of the loss", {.preset = "whole"}),
      field<&S::tensor_loss>("tensor_loss", "kind of loss with tensor ranks",
                             {.preset = "that of `loss`"}),
      field<&S::logits>("logits", "bytes of a logit by the kind of loss",
                        {.preset = "those of `whole`"}),
      field<&S::memory>("memory", "memory besides states and activations",
                        {.preset = "that of PyTorch"}),
      field<&S::recompute>("recompute", "possible recomputations; modules in any set",
                           {.preset = "none, selective, full"}),
      field<&S::ranges>("ranges", "factors on the time of each class of work",
                        {.preset = "those of section 6"}),
      field<&S::fitted>("fitted", "keys of constants that measured runs decide",
                        {.preset = "none"})};
  return schema<S, kFields>("stack", &stack::check_stack);
}
}  // namespace dfsearch
