#include "io/result/work_json.hpp"

#include "model/training/fused_part.hpp"
#include "model/training/plan.hpp"
#include "model/training/step.hpp"

namespace dfsearch {
namespace {

using training::BlockExchange;
using training::Exchange;
using training::Part;
using training::Role;

const char* exchange_name(Exchange exchange) {
  if (exchange == Exchange::AllGather) return "all_gather";
  if (exchange == Exchange::ReduceScatter) return "reduce_scatter";
  return exchange == Exchange::AllReduce ? "all_reduce" : "all_to_all";
}

/// `bytes` are what each chip puts in.
Json exchange_json(const BlockExchange& exchange, Phase phase, const training::Degrees& degrees) {
  const bool pieces =
      exchange.exchange == Exchange::AllGather || exchange.exchange == Exchange::AllToAll;
  const double share = pieces ? 1.0 / static_cast<double>(degrees[exchange.role]) : 1.0;
  return {{"role", training::name_of(exchange.role)},
          {"exchange", exchange_name(exchange.exchange)},
          {"pass", phase == Phase::Forward ? "forward" : "backward"},
          {"beside", exchange.behind_attention},
          {"bytes", number(share * exchange.whole)}};
}

}  // namespace

Json work_json(const training::Task& task, const training::Plan& plan,
               const training::Fusions& fusions) {
  if (task.stack) return {};
  const training::Blocks blocks = training::blocks_of(task);
  const training::Profiles profiles = training::profiles_of(task, blocks, plan, fusions);
  Json parts = Json::object();
  for (const Part part : training::kParts) {
    if (!blocks[part]) continue;
    const training::BlockProfile& block = of(profiles, part);
    const bool is_layer = part == Part::Layer || part == Part::OtherLayer;
    const auto again = is_layer ? plan.recompute : training::Recompute::None;
    training::WorkTime backward = block.input_gradient;
    backward += block.weight_gradient;
    if (again == training::Recompute::Selective) backward += block.scoring;
    if (again == training::Recompute::Full) backward += block.forward;
    const training::OptimizerWork optimizer = training::optimizer_work(task, plan, block);
    Json exchanges = Json::array();
    for (const BlockExchange& exchange : block.exchanges) {
      exchanges.push_back(exchange_json(exchange, exchange.phase, plan.degrees));
      const bool repeats = again == training::Recompute::Full && exchange.phase == Phase::Forward &&
                           !exchange.behind_attention;
      if (repeats) exchanges.push_back(exchange_json(exchange, Phase::Backward, plan.degrees));
    }
    if (part == Part::Last && plan.degrees[Role::Tensor] > 1 && task.model.vocabulary > 0) {
      const double tokens = static_cast<double>(task.pass.tokens * plan.micro_batch) /
                            static_cast<double>(plan.degrees[Role::Context]);
      const BlockExchange loss{.role = Role::Tensor,
                               .exchange = Exchange::AllReduce,
                               .whole = Bytes(training::kLossBytes * tokens)};
      for (int i = 0; i < static_cast<int>(training::kLossExchanges); ++i) {
        exchanges.push_back(exchange_json(loss, Phase::Forward, plan.degrees));
      }
    }
    const double word = task.pass.word.in_base_units();
    const double parameters = parameters_in(task, plan.degrees, block);
    const std::int64_t count = part == Part::Layer        ? blocks.order.layers
                               : part == Part::OtherLayer ? blocks.order.other_layers
                                                          : 1;
    parts[training::name_of(part, task.model)] = {
        {"count", count},
        {"forward", number(block.forward.time)},
        {"backward", number(backward.time)},
        {"forward_flop", number(block.forward.flop)},
        {"backward_flop", number(backward.flop)},
        {"forward_bytes", number(block.forward.moved)},
        {"backward_bytes", number(backward.moved)},
        {"optimizer_flop", number(optimizer.flop)},
        {"optimizer_bytes", number(optimizer.moved)},
        {"gradients", json_number(parameters * task.bytes.sent)},
        {"expert_gradients", json_number(block.expert_parameters * task.bytes.sent)},
        {"weights", json_number(parameters * word)},
        {"expert_weights", json_number(block.expert_parameters * word)},
        {"exchanges", std::move(exchanges)}};
  }
  const Part handing = blocks.order.layers > 0 ? Part::Layer : Part::OtherLayer;
  Json work = {{"parts", std::move(parts)}, {"handed", number(of(profiles, handing).input)}};
  if (blocks.order.every > 0) work["full_attention_every"] = blocks.order.every;
  return work;
}

}  // namespace dfsearch
