#include "support/training_worlds.hpp"

#include <random>

namespace dfsearch::test {

using training::Task;

Task training_task(const Transformer& model, std::int64_t sequence, std::int64_t chips) {
  Task task;
  task.model = model;
  task.pass = {.tokens = sequence};
  task.global_batch = chips;
  task.machine.chips = chips;
  task.machine.matrix.peak = FlopsPerSecond(1e14);
  task.machine.vector.peak = FlopsPerSecond(2e13);
  task.machine.memory[0] = {
      .capacity = Bytes(1e13), .bandwidth = BytesPerSecond(2e12), .efficiency = {}};
  const std::int64_t inner = chips % 8 == 0 ? 8 : 1;
  task.machine.network = {{.topology = Topology::Switch,
                           .degree = inner,
                           .bandwidth = BytesPerSecond(2e11),
                           .strategy = {},
                           .latency = Seconds(1e-6)},
                          {.topology = Topology::Switch,
                           .degree = chips / inner,
                           .bandwidth = BytesPerSecond(2e10),
                           .strategy = {},
                           .latency = Seconds(5e-6)}};
  return task;
}

namespace {

class Draws {
 public:
  explicit Draws(std::uint64_t seed) : random_(seed) {}
  std::int64_t pick(std::int64_t least, std::int64_t most) {
    return least +
           static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(most - least + 1));
  }
  bool chance(int percent) { return pick(1, 100) <= percent; }
  template <class Value>
  Value one_of(std::initializer_list<Value> values) {
    return values.begin()[pick(0, static_cast<std::int64_t>(values.size()) - 1)];
  }

 private:
  std::mt19937_64 random_;
};

Transformer random_model(Draws& draws) {
  Transformer model{.hidden = 64 * draws.pick(1, 4),
                    .layers = draws.pick(1, 6),
                    .heads = draws.one_of<std::int64_t>({2, 4, 8})};
  model.kv_heads = draws.chance(50) ? model.heads : model.heads / 2;
  model.head_dim = 16 * draws.pick(1, 2);
  model.value_dim = model.head_dim;
  model.mlp = 64 * draws.pick(1, 8);
  model.vocabulary = draws.chance(70) ? 128 * draws.pick(1, 40) : 0;
  model.gated = draws.chance(50);
  model.norm = draws.chance(50) ? Norm::Rms : Norm::Layer;
  model.dropout = draws.chance(30);
  model.tied = draws.chance(30);
  if (draws.chance(35)) {
    model.experts = Experts{.count = draws.one_of<std::int64_t>({2, 4}),
                            .used = draws.pick(1, 2),
                            .mlp = 64 * draws.pick(1, 3),
                            .shared = draws.pick(0, 1),
                            .dense_layers = draws.pick(0, model.layers - 1)};
  }
  return model;
}

Machine random_machine(Draws& draws) {
  Machine machine;
  machine.matrix.peak = FlopsPerSecond(1e12);
  machine.vector.peak = FlopsPerSecond(1e11);
  if (draws.chance(50)) {
    machine.matrix.efficiency.steps = {{.from = Flops(1e7), .share = 0.9},
                                       {.from = Flops(1e5), .share = 0.5},
                                       {.from = Flops(0.0), .share = 0.1}};
  }
  // The capacity goes from too little for any plan to enough for all.
  machine.memory[0] = {.capacity = Bytes(1e5 * static_cast<double>(draws.pick(1, 400))),
                       .bandwidth = BytesPerSecond(1e11),
                       .efficiency = {}};
  if (draws.chance(25)) {
    machine.memory.push_back({.capacity = Bytes(1e6 * static_cast<double>(draws.pick(1, 20))),
                              .bandwidth = BytesPerSecond(1e10),
                              .efficiency = {}});
  }
  const std::int64_t dimensions = draws.pick(0, 2);
  for (std::int64_t d = 0; d < dimensions; ++d) {
    const std::int64_t degree = draws.one_of<std::int64_t>({2, 4, 3});
    machine.network.push_back(
        {.topology = draws.one_of({Topology::Ring, Topology::FullyConnected, Topology::Switch}),
         .degree = degree,
         .bandwidth = BytesPerSecond(1e9 * static_cast<double>(draws.pick(1, 50))),
         .strategy = {},
         .latency = Seconds(1e-7 * static_cast<double>(draws.pick(0, 20)))});
    machine.chips *= degree;
  }
  return machine;
}

void pin_some(Draws& draws, Task& task) {
  training::Choices& choices = task.choices;
  if (draws.chance(25))
    choices.recomputes = {draws.one_of({training::Recompute::None, training::Recompute::Full})};
  if (draws.chance(25)) choices.zeros = {static_cast<int>(draws.pick(0, 3))};
  if (draws.chance(30)) {
    choices.schedules = {
        draws.one_of({training::Schedule::OneForwardOneBackward, training::Schedule::Interleaved,
                      training::Schedule::ZeroBubble, training::Schedule::GPipe})};
  }
  if (draws.chance(20)) choices.micro_batches = {draws.pick(1, 2)};
  if (draws.chance(20)) choices.layouts = {training::TensorLayout::LeastKept};
  if (draws.chance(15))
    choices.offload = Offload{.optimizer = task.machine.second_memory() != nullptr};
  if (draws.chance(15)) choices.degrees[0] = {.values = {draws.pick(1, 2)}};
}

}  // namespace

Task random_training_task(std::uint64_t seed) {
  Draws draws(seed);
  Task task;
  task.model = random_model(draws);
  task.machine = random_machine(draws);
  task.pass = {.tokens = 16 * draws.pick(1, 4), .fused = draws.chance(60)};
  task.pass.causal = task.pass.fused && draws.chance(50);
  task.global_batch = draws.one_of<std::int64_t>({4, 8, 12, 24});
  task.overlap = draws.chance(70) ? Overlap::None : Overlap::Perfect;
  task.data_overlap = draws.chance(60);
  pin_some(draws, task);
  if (!task.model.experts || task.model.experts->dense_layers == 0) {
    task.model.post_norm = !task.model.experts && draws.chance(20);
    if (draws.chance(40)) task.model.window = draws.pick(1, 40);
    if (task.model.window > 0 && task.model.layers > 1 && draws.chance(70)) {
      task.model.full_attention_every = draws.pick(2, task.model.layers);
    }
  }
  return task;
}

stack::Setup round_setup() {
  stack::Setup setup;
  stack::MeasuredChip& chip = setup.chip;
  chip.peak = {FlopsPerSecond(100e12), FlopsPerSecond(200e12), FlopsPerSecond(400e12)};
  chip.clock.fill({1.0});
  chip.products.fill({.work = {Flops(1e9), Flops(1e12)}, .share = {0.2, 0.8}});
  chip.flash2 = {.tokens = {1024, 4096}, .forward = {0.25, 0.5}, .backward = {0.2, 0.4}};
  chip.elementwise = {.work = {Bytes(1e6), Bytes(1e8)}, .share = {0.25, 0.5}};
  chip.memory = BytesPerSecond(1e12);
  chip.visible = Bytes(80e9);
  chip.base = Seconds(10e-6);
  chip.hop = Seconds(1e-6);
  chip.members = {2, 8};
  chip.bus = {BytesPerSecond(100e9), BytesPerSecond(200e9)};
  chip.nic = BytesPerSecond(25e9);
  setup.stack.host_forward = {Seconds(1e-3)};
  setup.stack.host_backward = {Seconds(2e-3)};
  setup.stack.host_exchange = {Seconds(10e-6)};
  setup.stack.host_micro_batch = {Seconds(3e-3)};
  setup.stack.host_step = {Seconds(5e-3)};
  return setup;
}

namespace {

/// Random states, losses, constants and modules to compute again, of a size that small worlds feel.
void draw_memory(Draws& draws, training::Task& task) {
  using memory::Recompute;
  stack::Stack& stack = task.stack->stack;
  stack.memory.resident = {Bytes(1e4), Bytes(5e4), Bytes(1e5)};
  stack.memory.context = {Bytes(1e4), Bytes(5e4), Bytes(1e5)};
  stack.memory.group = {Bytes(0.0), Bytes(1e4), Bytes(3e4)};
  stack.memory.eager_widths = draws.one_of({0.0, 2.0, 5.7});
  stack.memory.eight_bit_inputs = draws.chance(50);
  if (draws.chance(30)) stack.memory.gathered_fragment = {0.0, 0.2, 0.35};
  stack.states = draws.one_of<memory::States>(
      {{}, {.weight = 4.0, .master = 0.0, .step = 4.0}, {.gradient = 6.0, .buffer = 2.0}});
  stack.gradients = draws.one_of({memory::Gradients::Kept, memory::Gradients::Made});
  stack.logits.of.fill({2.0, 4.0, 8.0});
  stack.loss = draws.one_of<memory::Loss>({{memory::LossKind::Whole},
                                           {memory::LossKind::Chunked, 16},
                                           {memory::LossKind::FusedLinear, 8}});
  if (draws.chance(30)) stack.tensor_loss = memory::LossKind::Parallel;
  stack.recompute = {Recompute::None, Recompute::Full};
  for (const Recompute each :
       {Recompute::Selective, Recompute::EverySecondProduct, listed(memory::Module::Mlp),
        listed(memory::Module::Norms) | listed(memory::Module::ExpertActivation)}) {
    if (draws.chance(40)) stack.recompute.insert(stack.recompute.end() - 1, each);
  }
  const bool has_adapters = !task.model.latent && !task.model.experts && draws.chance(20);
  if (!has_adapters) return;
  task.lora = memory::Lora{.rank = draws.pick(1, 4)};
  task.lora->frozen = draws.one_of({memory::Frozen::SixteenBits, memory::Frozen::Nf4});
  stack.memory.twice_with_adapters = draws.chance(50);
}

/// Random switches, and constants that small worlds feel.
void draw_software(Draws& draws, training::Task& task) {
  stack::Setup& setup = *task.stack;
  stack::Stack& stack = setup.stack;
  setup.chip.cpu = {draws.one_of({1.0, 1.6})};
  setup.chip.dispatch_row = {Bytes(draws.one_of({0.0, 600.0, 4500.0}))};
  stack.bucket = {draws.one_of({1e3, 1e5, 40e6})};
  stack.bucket_of_rank = {draws.one_of({0.0, 1e4})};
  stack.hop_out = {Seconds(draws.one_of({0.0, 8e-6, 1e-3}))};
  stack.quantized_gathers = draws.chance(50);
  stack.expert_launch = {Seconds(1e-5 * static_cast<double>(draws.pick(0, 50)))};
  stack.sink_bytes = {Bytes(draws.one_of({100.0, 58e3}))};
  if (draws.chance(20)) stack.exposed = {0.5};
  using stack::GraphScope;
  stack::Software& software = stack.software;
  software.graphs = draws.one_of<std::vector<GraphScope>>(
      {{}, {GraphScope::None}, {GraphScope::FullIteration}, {GraphScope::Attention}});
  software.dispatcher = draws.one_of<std::optional<stack::Dispatcher>>(
      {std::nullopt, stack::Dispatcher::AllToAll, stack::Dispatcher::DeepEp,
       stack::Dispatcher::HybridEp});
  software.expert_overlap = draws.chance(50);
  software.balance = draws.one_of({stack::Balance::Forced, stack::Balance::Natural});
  if (draws.chance(30)) software.user_buffers = draws.chance(50);
  if (draws.chance(30)) software.sinks = stack::Sinks::Part;
  if (draws.chance(30)) software.recompute_layers = draws.pick(1, task.model.layers);
  if (draws.chance(30)) software.offload_layers = draws.pick(1, task.model.layers);
  if (draws.chance(30)) software.shard_group = draws.pick(1, 4);
  if (draws.chance(20)) software.parameter_exchange = stack::ParameterExchange::Broadcast;
}

}  // namespace

training::Task random_task_with_stack(std::uint64_t seed) {
  training::Task task = random_training_task(seed);
  Draws draws(seed + 1000000);
  task.stack = round_setup();
  stack::Setup& setup = *task.stack;
  setup.chip.peak.fill(FlopsPerSecond(1e9 * static_cast<double>(draws.pick(1, 100))));
  setup.chip.memory = BytesPerSecond(1e8 * static_cast<double>(draws.pick(1, 100)));
  setup.chip.nic = BytesPerSecond(1e7 * static_cast<double>(draws.pick(1, 100)));
  setup.precision = draws.one_of({stack::Precision::Bf16, stack::Precision::Fp8});
  setup.stack.attention = draws.one_of({stack::Attention::Unfused, stack::Attention::Flash2});
  setup.stack.data_overlap =
      draws.one_of({stack::DataOverlap::None, stack::DataOverlap::DistributedOptimizer,
                    stack::DataOverlap::Ddp});
  setup.stack.tensor_overlap = {0.1 * static_cast<double>(draws.pick(0, 9))};
  setup.stack.host_forward = {Seconds(1e-4 * static_cast<double>(draws.pick(0, 50)))};
  task.choices.offload.reset();
  task.decide = draws.one_of({memory::Level::Low, memory::Level::Typical, memory::Level::High});
  draw_memory(draws, task);
  draw_software(draws, task);
  return task;
}

Task random_task_on_mesh(std::uint64_t seed) {
  Task task = random_training_task(seed);
  std::mt19937_64 random(seed);
  std::int64_t chips = task.machine.chips;
  NetworkDimension dimension = task.machine.network.empty()
                                   ? NetworkDimension{.bandwidth = BytesPerSecond(1e10)}
                                   : task.machine.network.front();
  task.choices.network.clear();
  task.machine.network.clear();
  NetworkDimension outer = dimension;
  outer.topology = Topology::Switch;
  outer.degree = chips % 2 == 0 && random() % 3 == 0 ? 2 : 1;
  chips /= *outer.degree;
  std::int64_t width = static_cast<std::int64_t>(1 + random() % 4);
  while (chips % width != 0) --width;
  dimension.topology = Topology::Ring;
  dimension.degree = chips;
  dimension.latency = Seconds(random() % 2 == 0 ? 0.0 : 2e-6);
  dimension.mesh = Mesh{.width = width,
                        .height = chips / width,
                        .closed = random() % 2 == 0,
                        .sharing = random() % 2 == 0 ? MeshSharing::Own : MeshSharing::All};
  dimension.both_ways = outer.both_ways = seed % 2 == 0;
  if (outer.both_ways) outer.topology = Topology::Ring;
  task.machine.network.push_back(dimension);
  if (*outer.degree > 1) task.machine.network.push_back(outer);
  return task;
}

}  // namespace dfsearch::test
