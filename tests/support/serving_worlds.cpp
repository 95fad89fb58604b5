#include "support/serving_worlds.hpp"

#include <algorithm>

namespace dfsearch::test {
namespace {

using namespace serving;

class Dice {
 public:
  explicit Dice(std::mt19937_64& random) : random_(random) {}
  bool one_in(int n) { return count(1, n) == 1; }
  std::int64_t count(std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random_);
  }
  double real(double least, double most) {
    return std::uniform_real_distribution<double>(least, most)(random_);
  }
  template <class T>
  T of(std::initializer_list<T> values) {
    return *(values.begin() + count(0, static_cast<std::int64_t>(values.size()) - 1));
  }
  DegreeChoice some(std::initializer_list<std::int64_t> values) {
    DegreeChoice choice;
    for (const std::int64_t value : values) {
      if (!one_in(3)) choice.values.push_back(value);
    }
    if (choice.values.empty()) choice.values.push_back(*values.begin());
    return choice;
  }

 private:
  std::mt19937_64& random_;
};

Transformer random_model(Dice& dice) {
  Transformer model;
  model.heads = dice.of<std::int64_t>({8, 16});
  model.head_dim = 64;
  model.value_dim = 64;
  model.hidden = dice.of<std::int64_t>({512, 1024});
  model.kv_heads = dice.of<std::int64_t>({2, 8});
  model.mlp = dice.of<std::int64_t>({2048, 4096});
  model.layers = dice.count(3, 9);
  model.vocabulary = 32000;
  model.gated = !dice.one_in(4);
  if (dice.one_in(2)) {
    model.experts = Experts{.count = 16,
                            .used = dice.count(1, 4),
                            .mlp = 1024,
                            .shared = dice.count(0, 1),
                            .dense_layers = dice.count(0, 2),
                            .imbalance = dice.of({1.0, 1.3})};
  }
  if (dice.one_in(4)) {
    model.latent = LatentAttention{
        .query_rank = dice.of<std::int64_t>({0, 256}), .key_value_rank = 128, .rope_dim = 16};
    model.kv_heads = model.heads;
  }
  if (dice.one_in(3)) {
    model.window = dice.of<std::int64_t>({50, 300, 2000});
    if (dice.one_in(2)) model.full_attention_every = dice.count(2, 3);
  }
  return model;
}

Pool random_pool(Dice& dice, const char* name) {
  Pool pool;
  pool.name = name;
  pool.chips = dice.of<std::int64_t>({4, 6, 8});
  pool.peak[1] = FlopsPerSecond(dice.real(1e14, 1e15));
  if (dice.one_in(2)) pool.peak[2] = FlopsPerSecond(dice.real(3e14, 2e15));
  pool.machine.memory[0].bandwidth = BytesPerSecond(dice.real(1e12, 8e12));
  pool.machine.memory[0].capacity = Bytes(dice.real(3e8, 8e9));
  pool.machine.network = {{.topology = dice.of({Topology::Switch, Topology::Ring}),
                           .degree = 4,
                           .bandwidth = BytesPerSecond(dice.real(5e10, 5e11)),
                           .strategy = {},
                           .latency = Seconds(dice.real(0, 5e-6))},
                          {.topology = Topology::Switch,
                           .degree = {},
                           .bandwidth = BytesPerSecond(dice.real(1e10, 1e11)),
                           .strategy = {},
                           .latency = Seconds(dice.real(0, 1e-5))}};
  if (dice.one_in(4)) {
    pool.execution = {
        .style = Style::Dataflow,
        .overlap = dice.of({Overlap::Perfect, Overlap::None, Overlap::ComputeMemory})};
    pool.machine.accelerator.sram = Bytes(dice.of({1e6, 1e7, 1e8, 1e9}));
  }
  pool.price = dice.real(1, 5);
  pool.power = Watts(dice.real(300, 1000));
  if (dice.one_in(2)) {
    pool.engine = {.pass = Seconds(dice.real(0, 1e-3)),
                   .layer = Seconds(dice.real(0, 4e-5)),
                   .expert_layer = Seconds(dice.real(0, 4e-5)),
                   .rank_layer = Seconds(dice.real(0, 4e-5)),
                   .request = Seconds(dice.real(0, 5e-5)),
                   .prefill = Seconds(dice.real(0, 5e-3)),
                   .answer = Seconds(dice.real(0, 3e-2)),
                   .usable = 0.9,
                   .reserved = Bytes(1e8),
                   .tile = dice.of({0.0, 64.0}),
                   .exchange = dice.of({Exchange::AllToAll, Exchange::Gather}),
                   .ranks = dice.of({Ranks::Aligned, Ranks::Independent}),
                   .release = {},
                   .shares = {.matrix = dice.real(0.4, 0.9),
                              .experts = 0.4,
                              .experts_memory = {},
                              .attention = 0.5,
                              .memory = 0.85,
                              .cache = 0.7,
                              .network = 0.75}};
  }
  return pool;
}

}  // namespace

Task random_task(std::mt19937_64& random) {
  Dice dice(random);
  Task task;
  task.model = random_model(dice);
  for (std::int64_t i = dice.count(1, 2); i > 0; --i) {
    const std::int64_t input = dice.of<std::int64_t>({100, 700, 4000});
    task.requests.push_back({.input = input,
                             .output = dice.of<std::int64_t>({2, 20, 200, 900}),
                             .prefix = dice.one_in(3) ? input / 2 : 0,
                             .share = static_cast<double>(i)});
  }
  task.precisions.clear();
  for (std::int64_t i = dice.one_in(4) ? dice.count(2, 3) : 1; i > 0; --i) {
    serving::Precision precision{.weights = dice.of({Number::Bf16, Number::Fp8}),
                                 .cache = dice.of({Number::Bf16, Number::Fp8})};
    if (dice.one_in(6)) precision.products = Number::Fp8;
    task.precisions.push_back(precision);
  }
  if (dice.one_in(3)) {
    task.speculation.kind = dice.of({Drafting::Mtp, Drafting::Sequence, Drafting::Tree});
    task.speculation.depths = {0, dice.count(1, 4)};
    task.speculation.acceptance = {0.85, 0.6};
    if (task.speculation.kind != Drafting::Mtp) {
      Transformer draft;
      draft.hidden = 256;
      draft.heads = draft.kv_heads = 16;
      draft.head_dim = draft.value_dim = 16;
      draft.mlp = 1024;
      draft.layers = 2;
      draft.vocabulary = 32000;
      task.speculation.draft = draft;
    }
  }
  task.pools.push_back(random_pool(dice, "a"));
  if (dice.one_in(3)) task.pools.push_back(random_pool(dice, "b"));
  task.modes = dice.of<std::vector<serving::Mode>>(
      {{serving::Mode::Aggregated},
       {serving::Mode::Disaggregated},
       {serving::Mode::Aggregated, serving::Mode::Disaggregated}});
  task.all.tensor = dice.some({1, 2, 4});
  task.all.pipeline = dice.some({1, 2, 3});
  task.all.attention_data = dice.some({1, 2});
  task.all.expert = dice.some({1, 2, 4});
  task.all.batch = dice.some({1, 2, 3, 5, 8, 13, 32, 33, 100, 256});
  task.all.chunk = dice.some({64, 512, 4096});
  if (dice.one_in(2)) task.all.replicas = dice.some({1, 2, 3});
  task.prefill.batch = dice.some({1, 2, 4});
  if (task.model.experts && dice.one_in(4)) {
    task.redundant_experts = dice.of<std::vector<std::int64_t>>({{0, 4}, {4}, {8, 0}});
  }
  if (task.model.experts && dice.one_in(4)) task.popularity = dice.of({0.0, 0.5});
  const double step = 2e-3;
  if (dice.one_in(2)) task.limits.tpot = Seconds(step * dice.real(0.2, 4));
  if (dice.one_in(3)) task.limits.ttft = Seconds(dice.real(2e-3, 0.5));
  if (dice.one_in(5)) task.limits.e2e = Seconds(dice.real(0.1, 3));
  if (dice.one_in(6)) task.limits.cost = dice.real(0.02, 2);
  if (dice.one_in(4)) {
    task.rate = dice.real(1, 200);
  } else if (dice.one_in(4)) {
    task.concurrency = dice.one_in(3) ? dice.real(1, 8) : dice.real(4, 300);
    if (dice.one_in(2)) task.rounds = *task.concurrency < 50.0 ? 1.0 : 10.0;
  }
  if (dice.one_in(4)) task.length_spread = dice.of({0.11, 0.5});
  const std::int64_t drawn = dice.count(0, 8);
  constexpr auto kEdp = static_cast<std::int64_t>(serving::Objective::Edp);  // has tests of its own
  task.objective = static_cast<serving::Objective>(drawn < kEdp ? drawn : drawn + 1);
  if (dice.one_in(2)) task.front = FrontAxis::Cost;
  task.cache_reserve = dice.of({CacheReserve::Full, CacheReserve::Mean, CacheReserve::Max});
  task.wait = dice.one_in(4) ? Wait::None : Wait::Md1;
  task.utilization = {
      .prefill = dice.of({1.0, 0.9}), .decode = dice.of({1.0, 0.92}), .mixed = dice.of({1.0, 0.5})};
  const bool has_job = dice.one_in(6) && task.modes.front() == serving::Mode::Aggregated;
  if (has_job && !task.rate && !task.concurrency) {
    task.modes = {serving::Mode::Aggregated};
    task.length_spread = 0.0;
    task.num_requests = dice.one_in(4) ? dice.count(1, 8) : dice.count(9, 3000);
  }
  task.chunked_prefill = !dice.one_in(4);
  if (task.model.experts && dice.one_in(4)) task.sub_batches = {1, 2};
  for (Pool& pool : task.pools) {
    if (dice.one_in(4)) pool.engine.graph_sizes = {1, 2, 4, 8, 16, 64, 256};
    if (dice.one_in(3)) pool.engine.dispatch = serving::Dispatch::PerNode;
    if (dice.one_in(3)) pool.engine.node_limit = 1;
  }
  return task;
}

namespace {

const std::vector<std::int64_t>& list(const std::optional<DegreeChoice>& own,
                                      const std::optional<DegreeChoice>& all) {
  static const std::vector<std::int64_t> kOne = {1};
  return own ? own->values : all ? all->values : kOne;
}

std::vector<Role> roles(const Task& task, const RoleChoices& role) {
  std::vector<Role> found;
  const RoleChoices& all = task.all;
  for (std::size_t pool = 0; pool < task.pools.size(); ++pool) {
    for (const std::int64_t t : list(role.tensor, all.tensor)) {
      for (const std::int64_t p : list(role.pipeline, all.pipeline)) {
        for (const std::int64_t d : list(role.attention_data, all.attention_data)) {
          for (const std::int64_t e : list(role.expert, all.expert)) {
            const Structure s{pool, t, p, d, e};
            const std::int64_t chips = task.pools[pool].chips;
            if (s.chips() > chips || (t * d) % e != 0) continue;
            std::vector<std::int64_t> replicas;
            if (all.replicas) {
              replicas = all.replicas->values;
            } else {
              for (std::int64_t r = 1; r <= chips; ++r) replicas.push_back(r);
            }
            for (const std::int64_t r : replicas) {
              if (r * s.chips() > chips) continue;
              Role one{.structure = s, .replicas = r};
              for (const std::int64_t copies : task.redundant_experts) {
                one.structure.redundant_experts = copies;
                for (const std::int64_t parts : task.sub_batches) {
                  one.structure.sub_batches = parts;
                  for (auto& i = one.structure.precision; i < task.precisions.size(); ++i) {
                    if (legal(task, one.structure)) found.push_back(one);
                  }
                  one.structure.precision = 0;
                }
              }
            }
          }
        }
      }
    }
  }
  return found;
}

}  // namespace

std::vector<Deployment> all_deployments(const Task& task) {
  std::vector<Deployment> found;
  for (const serving::Mode mode : task.modes) {
    if (mode == serving::Mode::Aggregated) {
      for (Role role : roles(task, task.aggregated)) {
        for (const std::int64_t chunk : task.all.chunk->values) {
          for (const std::int64_t batch : task.all.batch->values) {
            for (const std::int64_t depth : task.speculation.depths) {
              role.chunk = chunk;
              role.batch = batch;
              role.depth = depth;
              found.push_back({.mode = mode, .prefill = {}, .decode = role});
            }
          }
        }
      }
      continue;
    }
    const std::vector<Role> decoders = roles(task, task.decode);
    for (Role prefill : roles(task, task.prefill)) {
      for (const std::int64_t many : task.prefill.batch->values) {
        prefill.batch = many;
        for (Role decode : decoders) {
          if (prefill.structure.precision != decode.structure.precision) continue;
          const bool same = prefill.structure.pool == decode.structure.pool;
          if (same && prefill.chips() + decode.chips() > task.pools[decode.structure.pool].chips) {
            continue;
          }
          for (const std::int64_t batch : task.all.batch->values) {
            for (const std::int64_t depth : task.speculation.depths) {
              decode.batch = batch;
              decode.depth = depth;
              found.push_back({.mode = mode, .prefill = prefill, .decode = decode});
            }
          }
        }
      }
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace dfsearch::test
