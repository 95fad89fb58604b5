#include "model/training/framework.hpp"

#include <algorithm>
#include <utility>

namespace dfsearch::training {

namespace {

class UnsupportedFeatures {
 public:
  UnsupportedFeatures(const ModelFacts& model, const Degrees& degrees)
      : model_(model),
        tensor_(degrees[Role::Tensor]),
        context_(degrees[Role::Context]),
        expert_(degrees[Role::Expert]),
        pipeline_(degrees[Role::Pipeline]),
        replicas_(degrees.replicas()) {}

  void of_degrees(Framework framework) {
    const std::int64_t kv = model_.kv_heads;
    switch (framework) {
      case Framework::Megatron:
        lack(kv > 0 && kv % tensor_ != 0 && tensor_ % kv != 0,
             "tensor ranks divide the heads of keys and values, or are a multiple of them");
        lack(context_ > 1 && model_.tokens % (2 * context_) != 0,
             "the sequence is a multiple of twice the context ranks");
        return;
      case Framework::Torchtitan:
        lack(kv % tensor_ != 0, "tensor ranks divide the heads of keys and values");
        lack(model_.tokens % (2 * tensor_ * context_) != 0,
             "the sequence is a multiple of twice the tensor and context ranks together");
        lack(model_.tied && pipeline_ > 1, "a pipeline has no tied embedding and head");
        lack(expert_ > 1 && expert_ % context_ != 0,
             "expert ranks are a multiple of the context ranks");
        return;
      case Framework::Deepspeed:
        lack(context_ > 1 && model_.heads % (tensor_ * context_) != 0,
             "context ranks divide the heads of a tensor rank");
        return;
      case Framework::Vllm:
      case Framework::Sglang:
      case Framework::Trtllm:
        break;
    }
    lack(true, "it serves, and trains nothing");
  }

  void of_plan(Framework framework, const Plan& plan) {
    lack(place_in_front(plan.layout) > 0, "no library has the layouts of the front");
    const bool is_plain = plan.schedule == Schedule::OneForwardOneBackward;
    const bool is_interleaved = plan.schedule == Schedule::Interleaved;
    const bool sends_least = tensor_ > 1 && plan.layout == TensorLayout::LeastSent;
    const bool is_op_sac = plan.recompute == Recompute::EverySecondProduct;
    lack(plan.recompute == Recompute::Unknown, "what is computed again is unknown");
    if (framework == Framework::Megatron) {
      lack(is_op_sac, "op_sac, each second product, is recomputation of torchtitan");
      lack(!is_plain && !is_interleaved, "schedules are 1f1b and interleaved");
      lack(plan.offload.weights, "weights stay on the chip");
      lack(plan.offload.activations && (pipeline_ > 1 || plan.recompute != Recompute::None),
           "activations are offloaded without a pipeline and without recomputation");
      lack(plan.offload.optimizer && plan.zero == 0, "the optimizer is offloaded with ZeRO 1 to 3");
      lack(model_.experts && sends_least,
           "experts beside tensor ranks need sequence parallelism, layout least_kept");
      lack(tensor_ > 1 && !sends_least && model_.tokens / context_ % tensor_ != 0,
           "sequence parallelism divides the tokens of a context rank among the tensor ranks");
    } else if (framework == Framework::Torchtitan) {
      lack(!is_plain && !is_interleaved && plan.schedule != Schedule::GPipe,
           "schedules are 1f1b, interleaved and gpipe");
      lack(!is_interleaved && pipeline_ > 1 && model_.global_batch > 0 &&
               model_.global_batch / (replicas_ * plan.micro_batch) < pipeline_,
           "a pipeline has at least one micro-batch for each stage");
      lack(memory::is_listed(plan.recompute),
           "whole layers or each second product, op_sac, are computed again, no modules");
      lack(plan.zero == 1, "ZeRO 1 is not there, FSDP is ZeRO 2 or 3");
      lack(plan.offload.any(), "all is offloaded by enable_cpu_offload, or nothing");
      lack(sends_least, "tensor ranks divide the tokens between products, layout least_kept");
      lack(plan.zero == 0 && (context_ > 1 || expert_ > 1),
           "context and expert ranks divide the weights, ZeRO 2 or 3");
      lack(plan.zero == 0 && replicas_ > 1 && (tensor_ > 1 || pipeline_ > 1),
           "replicas beside tensor ranks or stages divide the weights, ZeRO 2 or 3");
    } else if (framework == Framework::Deepspeed) {
      lack(is_op_sac, "op_sac, each second product, is recomputation of torchtitan");
      lack(!is_plain, "pipelines run 1f1b");
      lack(plan.zero > 1 && pipeline_ > 1, "a pipeline goes with ZeRO 0 and 1");
      lack(plan.zero > 2 && tensor_ > 1, "tensor ranks go with ZeRO 0 to 2");
      lack(plan.zero > 2 && expert_ > 1, "expert ranks go with ZeRO 0 to 2");
      lack(tensor_ > 1 && !sends_least, "tensor ranks have all tokens, layout least_sent");
    }
  }

  [[nodiscard]] std::vector<std::string_view> take() { return std::move(list_); }

 private:
  void lack(bool is_asked, std::string_view what) {
    if (is_asked) list_.push_back(what);
  }

  const ModelFacts& model_;
  const std::int64_t tensor_, context_, expert_, pipeline_, replicas_;
  std::vector<std::string_view> list_;
};

}  // namespace

std::vector<std::string_view> unsupported_features(Framework framework, const ModelFacts& model,
                                                   const Degrees& degrees) {
  UnsupportedFeatures found(model, degrees);
  found.of_degrees(framework);
  return found.take();
}

std::vector<std::string_view> unsupported_features(Framework framework, const ModelFacts& model,
                                                   const Plan& plan) {
  UnsupportedFeatures found(model, plan.degrees);
  found.of_degrees(framework);
  found.of_plan(framework, plan);
  return found.take();
}

// Ranks are numbered in two mixed-radix systems, one of roles and one of dimensions.  A role has
// the numbers in steps of `from` up to `to`, a dimension in steps of `begin` up to `end`.  The
// overlap of the two intervals gives the number of chips of the role in the dimension: its upper
// end over its lower end.

bool is_numbered_so(const std::vector<Division>& network, RankOrder order) {
  std::int64_t from = 1;
  for (const Role role : order) {
    std::int64_t to = from;
    for (const Division& dimension : network) to *= dimension[role];
    std::int64_t begin = 1;
    for (const Division& dimension : network) {
      if (!dimension.order.empty()) return true;
      std::int64_t end = begin;
      for (const Role each : kRoles) end *= dimension[each];
      const std::int64_t first = std::max(from, begin), last = std::min(to, end);
      if (std::max(first, last) != first * dimension[role]) return false;
      begin = end;
    }
    from = to;
  }
  return true;
}

bool can_number(Framework framework, const std::vector<Division>& network, TensorLayout layout) {
  if (is_numbered_so(network, kUsualOrder)) return true;
  if (framework != Framework::Megatron || !is_numbered_so(network, kStagesInside)) return false;
  Degrees degrees;
  for (const Division& dimension : network) {
    for (const Role role : kRoles) degrees[role] *= dimension[role];
  }
  return degrees[Role::Context] == 1 && expert_ranks(degrees, layout) == 1;
}

}  // namespace dfsearch::training
