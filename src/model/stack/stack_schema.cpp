// The keys of the files of the shelf that describe measured chips and stacks.

#include <algorithm>
#include <string>

#include "model/machine/machine_schema.hpp"
#include "model/stack/stack.hpp"
#include "schema/report.hpp"

namespace dfsearch {
namespace {

using stack::AttentionCurve;
using stack::Curve;
using stack::kFactor, stack::kHost, stack::kPart, stack::kShare;
using stack::MeasuredChip;

constexpr Interval kRates{1.0, 1e24};
constexpr Interval kWork{1.0, 1e24};
constexpr Interval kTokens{1, 1e9};

constexpr const char* kConstant =
    "expected one value, or a low, a typical and a high one that rise";

template <class Value>
void check_constant(const stack::Constant<Value>& constant, Report& report) {
  const bool rises = std::is_sorted(constant.begin(), constant.end());
  if (constant.size() <= 1 || (constant.size() == 3 && rises)) return;
  report.at({&constant}, kConstant);
}

template <class Points, class Values>
void check_points(const Points& points, const Values& values, Report& report) {
  if (values.size() == points.size()) return;
  report.at({&values}, "expected as many values as there are points, " +
                           std::to_string(points.size()) + ", got " +
                           std::to_string(values.size()));
}

template <class Points>
void check_rising(const Points& points, Report& report) {
  const auto falls = [](const auto& a, const auto& b) { return !(a < b); };
  if (std::adjacent_find(points.begin(), points.end(), falls) == points.end()) return;
  report.at({&points}, "expected values that rise");
}

template <class Work>
void check_curve(void* object, Report& report) {
  const auto& curve = *static_cast<const Curve<Work>*>(object);
  check_rising(curve.work, report);
  check_points(curve.work, curve.share, report);
  if (!curve.low.empty()) check_points(curve.work, curve.low, report);
  if (!curve.high.empty()) check_points(curve.work, curve.high, report);
}

void check_attention(void* object, Report& report) {
  const auto& curve = *static_cast<const AttentionCurve*>(object);
  check_rising(curve.tokens, report);
  check_points(curve.tokens, curve.forward, report);
  check_points(curve.tokens, curve.backward, report);
}

void check_chip(void* object, Report& report) {
  const auto& chip = *static_cast<const MeasuredChip*>(object);
  check_rising(chip.members, report);
  check_points(chip.members, chip.bus, report);
  for (const auto& clock : chip.clock) check_constant(clock, report);
  check_constant(chip.batched_products, report);
  check_constant(chip.small_heads, report);
  check_constant(chip.cpu, report);
  check_constant(chip.dispatch_row, report);
  for (std::size_t bits = 0; bits < chip.peak.size(); ++bits) {
    if (!(chip.peak[bits] > FlopsPerSecond{})) continue;
    if (!chip.products[bits].given()) report.at({&chip.peak[bits]}, "expected a curve beside it");
    if (chip.clock[bits].empty()) report.at({&chip.peak[bits]}, "expected a clock beside it");
  }
  if (!chip.flash1.given() && !chip.flash2.given() && !chip.cudnn.given()) {
    report.at({&chip.cudnn}, "expected the curve of at least one kernel of attention");
  }
  const auto fields = schema_of<MeasuredChip>().fields;
  for (const std::string& key : chip.fitted) {
    const auto is_it = [&](const Field& row) { return row.key == key; };
    if (std::any_of(fields.begin(), fields.end(), is_it)) continue;
    report.at({&chip.fitted}, "there is no constant '" + key + "'");
  }
}

bool is_constant(const Field& row) {
  return row.type->form == Form::Values && row.type->inner->get_real != nullptr;
}

template <class Work>
const Schema& curve_schema() {
  using C = Curve<Work>;
  static constexpr Field kFields[] = {
      field<&C::work>("work", "work of a kernel on one chip",
                      {.limits = kWork, .flags = kRequired}),
      field<&C::share>("share", "share of the peak that the kernel reaches",
                       {.limits = kShare, .flags = kRequired}),
      field<&C::low>("low", "the lowest shares to be expected",
                     {.limits = kShare, .preset = "those of `share`"}),
      field<&C::high>("high", "the highest shares to be expected",
                      {.limits = kShare, .preset = "those of `share`"})};
  return schema<C, kFields>("curve", &check_curve<Work>);
}

}  // namespace

const Schema& schema_of(Rows<Curve<Flops>>) { return curve_schema<Flops>(); }
const Schema& schema_of(Rows<Curve<Bytes>>) { return curve_schema<Bytes>(); }

const Schema& schema_of(Rows<AttentionCurve>) {
  using A = AttentionCurve;
  static constexpr Field kFields[] = {
      field<&A::tokens>("tokens", "of a sample", {.limits = kTokens, .flags = kRequired}),
      field<&A::forward>("forward", "shares of the peak of 16 bits, masked pairs left out",
                         {.limits = kShare, .flags = kRequired}),
      field<&A::backward>("backward", "the same of five products",
                          {.limits = kShare, .flags = kRequired})};
  return schema<A, kFields>("curve of attention", &check_attention);
}

const Schema& schema_of(Rows<MeasuredChip>) {
  using M = MeasuredChip;
  static constexpr Field kFields[] = {
      element<0, &M::peak>("peak_16bit", "dense products", {.limits = kRates, .flags = kRequired}),
      element<1, &M::peak>("peak_8bit", "dense products", {.limits = kRates, .preset = "none"}),
      element<2, &M::peak>("peak_4bit", "dense products", {.limits = kRates, .preset = "none"}),
      element<0, &M::clock>("clock_16bit", "of the rates of the curve, what long runs sustain",
                            {.limits = kFactor, .flags = kRequired}),
      element<1, &M::clock>("clock_8bit", "the same", {.limits = kFactor, .preset = "none"}),
      element<2, &M::clock>("clock_4bit", "the same", {.limits = kFactor, .preset = "none"}),
      element<0, &M::products>("products_16bit", "matrix products", {.flags = kRequired}),
      element<1, &M::products>("products_8bit", "matrix products", {.preset = "none"}),
      element<2, &M::products>("products_4bit", "matrix products", {.preset = "none"}),
      field<&M::flash1>("fa1", "FlashAttention 1, and kernels of its kind", {.preset = "none"}),
      field<&M::flash2>("fa2", "FlashAttention 2", {.preset = "none"}),
      field<&M::cudnn>("cudnn", "the attention of cuDNN, and FlashAttention 3", {.preset = "none"}),
      field<&M::batched_products>("batched_products",
                                  "share of the peak of products of attention that is not fused",
                                  {.limits = kShare}),
      field<&M::small_heads>("small_heads", "rate of attention with heads of 64, of that with 128",
                             {.limits = kShare}),
      field<&M::elementwise>("elementwise", "passes over memory", {.flags = kRequired}),
      field<&M::memory>("memory", "bandwidth", {.limits = kBandwidthLimits, .flags = kRequired}),
      field<&M::visible>(
          "visible",
          "of the memory, as the driver shows it (`cudaMemGetInfo`); counts in place "
          "of the capacity of a machine of the shelf",
          {.limits = kSizeLimits, .flags = kRequired}),
      field<&M::cpu>("cpu", "times of its host in layers of experts, over the times of a Grace",
                     {.limits = kFactor}),
      field<&M::dispatch_row>("dispatch_row",
                              "what a row costs DeepEP and HybridEP in a domain beside its bytes",
                              {.limits = {0, 1e9}, .preset = "0 B"}),
      field<&M::scaled>("scaled", "whether its rates are scaled from another chip"),
      field<&M::domain>("domain", "chips that one switch joins, in tables of runs",
                        {.limits = {1, 1e6}, .flags = kNoCost}),
      field<&M::base>("base", "of a collective", {.limits = kLatencyLimits, .flags = kRequired}),
      field<&M::hop>("hop", "of each member of a collective but one",
                     {.limits = kLatencyLimits, .flags = kRequired}),
      field<&M::members>("members", "of groups in a domain, whose bus rates were measured",
                         {.limits = {2, 1e6}, .flags = kRequired}),
      field<&M::bus>("bus", "the bus rate of NCCL in groups of `members`",
                     {.limits = kBandwidthLimits, .flags = kRequired}),
      field<&M::nic>("nic", "a chip's link out of its domain, one way, nominal",
                     {.limits = kBandwidthLimits, .flags = kRequired}),
      field<&M::fitted>("fitted", "keys whose values measured runs decided", {.preset = "none"})};
  return schema<M, kFields>("measured chip", &check_chip);
}

const Schema& schema_of(Rows<stack::ScanRates>) {
  using R = stack::ScanRates;
  static constexpr Field kFields[] = {
      field<&R::products>("products",
                          "of state spaces and linear attention, of the peak of 16 bits",
                          {.limits = kShare}),
      field<&R::delta_rule>("delta_rule", "the same of delta rules", {.limits = kShare}),
      field<&R::elementwise>("elementwise", "the same of FLOP that are no products",
                             {.limits = kShare}),
      field<&R::index>("index", "scores of an index, of the peak of 8 bits", {.limits = kShare}),
      field<&R::start>("start", "of the kernels of a scan at least", {.limits = kHost}),
      field<&R::delta_start>("delta_start", "the same of delta rules", {.limits = kHost})};
  return schema<R, kFields>("rates of scans", [](void* object, Report& report) {
    stack::check_constants(schema_of<R>(), object, report);
  });
}

const Schema& schema_of(Rows<memory::States>) {
  using S = memory::States;
  static constexpr Interval kBytes{0, 64};
  static constexpr Field kFields[] = {
      field<&S::weight>("weight", "as layers use it", {.limits = kBytes}),
      field<&S::gradient>("gradient", "with all its copies", {.limits = kBytes}),
      field<&S::master>("master", "the copy that the optimizer keeps", {.limits = kBytes}),
      field<&S::moments>("moments", "of the optimizer", {.limits = kBytes}),
      field<&S::step>("step", "more while the optimizer works", {.limits = kBytes}),
      field<&S::buffer>("buffer", "more of a gradient where replicas divide the optimizer",
                        {.limits = kBytes})};
  return schema<S, kFields>("states of a weight");
}

const Schema& schema_of(Rows<memory::Loss>) {
  using L = memory::Loss;
  static constexpr Field kFields[] = {
      field<&L::kind>("kind", "how it is computed", {.flags = kRequired}),
      field<&L::chunk>("chunk", "tokens at once, if it is chunked or fused with the head",
                       {.limits = {1, 1e9}})};
  return schema<L, kFields>("loss");
}

const Schema& schema_of(Rows<stack::LogitBytes>) {
  using L = stack::LogitBytes;
  static constexpr Extra kBytes{.limits = {0, 100}, .preset = "none"};
  static constexpr Field kFields[] = {
      element<0, &L::of>("whole", "logits and their gradient at once", {.limits = {0, 100}}),
      element<1, &L::of>("fused", "in one kernel of the software", kBytes),
      element<2, &L::of>("te", "the kernel of Transformer Engine", kBytes),
      element<3, &L::of>("parallel", "tensor ranks share the vocabulary in eager kernels", kBytes),
      element<4, &L::of>("compiled", "kernels that a compiler fuses", kBytes),
      element<5, &L::of>("foak", "a fused kernel beside an eager head", kBytes),
      element<6, &L::of>("chunked", "the logits of 16 bits of one that is computed by chunks",
                         kBytes)};
  return schema<L, kFields>("bytes of a logit", [](void* object, Report& report) {
    stack::check_constants(schema_of<L>(), object, report);
  });
}

const Schema& schema_of(Rows<stack::StackMemory>) {
  using M = stack::StackMemory;
  static constexpr Interval kSizes{0, 1e12};
  static constexpr Interval kTimes{0, 100};
  static constexpr Field kFields[] = {
      field<&M::resident>("resident", "workspaces and small buffers", {.limits = kSizes}),
      field<&M::fragment>("fragment", "share of temporary tensors that the allocator loses",
                          {.limits = kPart}),
      field<&M::gathered_fragment>("gathered_fragment", "the same if replicas divide weights",
                                   {.limits = kPart, .preset = "that of `fragment`"}),
      field<&M::context>("context", "memory of the driver and libraries", {.limits = kSizes}),
      field<&M::group>("group", "memory of NCCL for each degree of more than one chip",
                       {.limits = kSizes}),
      field<&M::spread>("spread", "factor on the counted activations", {.limits = kFactor}),
      field<&M::imbalance>("imbalance", "rows of the fullest rank of experts over an even load",
                           {.limits = {1, 1000}}),
      field<&M::eager_widths>("eager_widths",
                              "activations that eager kernels keep in addition, in model widths",
                              {.limits = kTimes}),
      field<&M::gathered_layers>("gathered_layers", "layers gathered at once with divided weights",
                                 {.limits = kTimes}),
      field<&M::eight_bit_inputs>("eight_bit_inputs",
                                  "whether inputs of 8 bits are kept in 8 bits"),
      field<&M::twice_with_adapters>(
          "twice_with_adapters",
          "whether activations count twice with `lora` if replicas divide weights")};
  return schema<M, kFields>("memory of a stack", [](void* object, Report& report) {
    stack::check_constants(schema_of<M>(), object, report);
  });
}

/// The rules between the keys of a stack.
void stack::check_stack(void* object, Report& report) {
  stack::check_constants(schema_of<stack::Stack>(), object, report);
  const auto& stack = *static_cast<const stack::Stack*>(object);
  for (const std::string& key : stack.fitted) {
    if (stack::constant_of_stack(key)) continue;
    report.at({&stack.fitted}, "there is no constant '" + key + "'");
  }
  const auto has_no_bytes = [&](memory::LossKind kind) {
    return kind != memory::LossKind::FusedLinear && stack.logits[kind].empty();
  };
  if (has_no_bytes(stack.loss.kind)) {
    report.at({&stack.loss}, "expected bytes of it among 'logits'");
  }
  if (stack.tensor_loss && has_no_bytes(*stack.tensor_loss)) {
    report.at({&stack.tensor_loss}, "expected bytes of it among 'logits'");
  }
}

/// Constants have one value, or a low, a typical and a high value.
void stack::check_constants(const Schema& schema, void* object, Report& report) {
  for (const Field& row : schema.fields) {
    if (!is_constant(row)) continue;
    void* const constant = row.in(object);
    const std::size_t size = row.type->size(constant);
    const auto at = [&](std::size_t i) {
      return row.type->inner->get_real(row.type->at(constant, i));
    };
    const bool rises = size == 3 && at(0) <= at(1) && at(1) <= at(2);
    if (size > 1 && !rises) report.at({constant}, kConstant);
  }
}

const Field* stack::constant_of_stack(std::string_view key) {
  const auto fields = schema_of<stack::Stack>().fields;
  const auto found = std::find_if(fields.begin(), fields.end(), [&](const Field& row) {
    return row.key == key && is_constant(row);
  });
  return found == fields.end() ? nullptr : &*found;
}

}  // namespace dfsearch
