// Memory, the share of mixed iterations, times per token and to the first token never fall with the
// batch (docs/serving.md, section 6): each limit cuts a chain at one place, found by bisection.

#include "engine/serving/deployment_space.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "engine/serving/allowed.hpp"
#include "model/serving/framework.hpp"

namespace dfsearch::serving {
namespace {

// Of an open range; more than any list of a config has.
constexpr std::int64_t kMostValues = 1 << 16;

constexpr double kLess = 1.0 - kRounding;

/// The values that a choice leaves between 1 and `most`, ascending.
template <class Fits>
std::vector<std::int64_t> values(const DegreeChoice& choice, std::int64_t most, const Fits& fits) {
  std::vector<std::int64_t> list;
  if (!choice.values.empty()) {
    list = choice.values;
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
    std::erase_if(list, [&](std::int64_t value) { return value > most || !fits(value); });
    return list;
  }
  const std::int64_t last = std::min(choice.most, most);
  if (last - choice.least >= kMostValues) {
    throw InputError(
        "serving: a choice leaves more than 65536 values, expected a list or a shorter range");
  }
  for (std::int64_t value = choice.least; value <= last; ++value) {
    if (fits(value)) list.push_back(value);
  }
  return list;
}

constexpr auto kAnyValue = [](std::int64_t) { return true; };

const DegreeChoice kChunks{
    .values = {16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536}};

/// Whether replicas do all that ranks do: nothing is shared among these without experts, and stages of
/// more chips send over a dimension that is no faster.
bool ranks_are_replicas(const Task& task, const RoleChoices& role) {
  if (task.model.experts || role.replicas || task.all.replicas) return false;
  return std::all_of(task.pools.begin(), task.pools.end(), [](const Pool& pool) {
    const std::vector<NetworkDimension>& network = pool.machine.network;
    return network.size() < 2 || (network[1].bandwidth <= network[0].bandwidth &&
                                  network[1].latency >= network[0].latency);
  });
}

}  // namespace

DegreeChoice choice_of(const Task& task, const RoleChoices& role,
                       std::optional<DegreeChoice> RoleChoices::*key) {
  const bool of_prefill = &role == &task.prefill && key == &RoleChoices::batch;
  if (role.*key) return *(role.*key);
  if (task.all.*key && !of_prefill) return *(task.all.*key);
  if (key == &RoleChoices::chunk) return kChunks;
  if (key == &RoleChoices::batch) return {.values = {}, .least = 1, .most = 1024};
  if (key == &RoleChoices::attention_data && ranks_are_replicas(task, role)) return {.values = {1}};
  return {};
}

struct DeploymentSpace::Structures {
  struct Way {
    std::int64_t chunk, depth;
  };
  Structure structure;
  std::vector<std::int64_t> replicas;
  std::vector<Way> ways;  ///< at least one
};

std::vector<DeploymentSpace::Structures> DeploymentSpace::structures_of(
    const RoleChoices& role, const std::vector<std::int64_t>& chunks,
    const std::vector<std::int64_t>& depths, const Deadline& deadline) const {
  std::vector<Structures> list;
  using R = RoleChoices;
  const auto choice = [&](auto key) { return choice_of(task_, role, key); };
  const DegreeChoice tensors = choice(&R::tensor), pipelines = choice(&R::pipeline),
                     ranks = choice(&R::attention_data), experts = choice(&R::expert),
                     counts = choice(&R::replicas);
  Structure s;
  const auto ways = [&] {
    std::vector<Structures::Way> found;
    for (const std::int64_t chunk : chunks) {
      for (const std::int64_t depth : depths) {
        const Role asked{.structure = s, .chunk = chunk, .depth = depth};
        if (runs(task_, asked)) found.push_back({chunk, depth});
      }
    }
    return found;
  };
  for (s.pool = 0; s.pool < task_.pools.size(); ++s.pool) {
    const std::int64_t chips = task_.pools[s.pool].chips;
    const Links links(task_.pools[s.pool]);
    const auto divides_heads = [&](std::int64_t t) {
      return task_.model.heads % t == 0 && links.holds(t);
    };
    for (const std::int64_t t : values(tensors, chips, divides_heads)) {
      s.tensor = t;
      const std::int64_t stages = std::min(chips / t, task_.model.layers);
      for (const std::int64_t p : values(pipelines, stages, kAnyValue)) {
        s.pipeline = p;
        const auto fills = [&](std::int64_t d) { return links.holds(t * d); };
        for (const std::int64_t d : values(ranks, chips / (t * p), fills)) {
          s.attention_data = d;
          const auto divides = [&](std::int64_t e) { return (t * d) % e == 0; };
          for (const std::int64_t e : values(experts, t * d, divides)) {
            s.expert = e;
            deadline.check();
            const auto replicas = values(counts, chips / s.chips(), kAnyValue);
            const auto run = ways();
            if (replicas.empty() || run.empty()) continue;
            for (s.precision = 0; s.precision < task_.precisions.size(); ++s.precision) {
              if (legal(task_, s)) list.push_back({s, replicas, run});
            }
            s.precision = 0;
          }
        }
      }
    }
  }
  return list;
}

/// Keeps the batches up to the first that breaks a limit by more than rounding (kRounding).
template <class AnyChain, class Breaks>
void DeploymentSpace::cut(AnyChain& chain, const std::vector<std::int64_t>& batches,
                          const Breaks& breaks) {
  const auto first = std::partition_point(batches.begin(), batches.end(),
                                          [&](std::int64_t batch) { return !breaks(batch); });
  if (first != batches.end()) {
    if (const std::optional<Broken> limit = breaks(*first)) {
      cut_[static_cast<std::size_t>(*limit)] += batches.end() - first;
    }
  }
  chain.batches.assign(batches.begin(), first);
  if (chain.batches.empty()) return;
  chain.at_first = chain.at(0);
  chain.at_last = chain.at(chain.batches.size() - 1);
}

void DeploymentSpace::add_chains(const std::vector<Structures>& structures, const RoleChoices& role,
                                 const Deadline& deadline, std::vector<Chain>& chains) {
  const Limits& limits = task_.limits;
  const auto batches = values(choice_of(task_, role, &RoleChoices::batch), kMostTokens, kAnyValue);
  for (const Structures& s : structures) {
    for (const auto& [chunk, depth] : s.ways) {
      deadline.check();
      Chain& chain = chains.emplace_back();
      chain.replicas = s.replicas;
      chain.decoder = std::make_unique<const Decoder>(task_, means_, s.structure, depth, chunk);
      cut(chain, batches, [&](std::int64_t batch) -> std::optional<Broken> {
        const Decoding found = chain.decoder->at(batch);
        if (found.memory * kLess > chain.decoder->room()) return Broken::Memory;
        if (found.mixed_share * kLess > task_.utilization.mixed) return Broken::Prefill;
        if (above(found.tpot * kLess, limits.tpot)) return Broken::Tpot;
        if (above(found.ttft * kLess, limits.ttft)) return Broken::Ttft;
        const double e2e = found.ttft + means_.steps * found.tpot;
        return above(e2e * kLess, limits.e2e) ? std::optional(Broken::E2e) : std::nullopt;
      });
    }
  }
}

void DeploymentSpace::add_prefillers(const std::vector<Structures>& structures,
                                     const Deadline& deadline) {
  const auto batches =
      values(choice_of(task_, task_.prefill, &RoleChoices::batch), kMostTokens, kAnyValue);
  for (const Structures& s : structures) {
    deadline.check();
    PrefillChain& chain = prefillers_.emplace_back();
    chain.replicas = s.replicas;
    chain.prefiller = std::make_unique<const Prefiller>(task_, means_, s.structure);
    const double room = task_.pools[s.structure.pool].usable().in_base_units();
    cut(chain, batches, [&](std::int64_t batch) -> std::optional<Broken> {
      const Prefilling found = chain.prefiller->at(batch);
      if (found.memory * kLess > room) return Broken::Memory;
      if (above(found.latency * kLess, task_.limits.ttft)) return Broken::Ttft;
      return above(found.latency * kLess, task_.limits.e2e) ? std::optional(Broken::E2e)
                                                            : std::nullopt;
    });
  }
}

bool DeploymentSpace::holds(const Role& prefill, const Role& decode) const {
  return serving::holds(task_, prefill, decode);
}

DeploymentSpace::DeploymentSpace(const Task& task, const Deadline& deadline)
    : task_(task), means_(task.requests) {
  const auto has = [&](Mode mode) {
    return std::find(task.modes.begin(), task.modes.end(), mode) != task.modes.end();
  };
  const auto batches_of = [&](const RoleChoices& role) {
    return static_cast<double>(
        values(choice_of(task, role, &RoleChoices::batch), kMostTokens, kAnyValue).size());
  };
  const std::vector<std::int64_t>& depths = task.speculation.depths;
  if (has(Mode::Aggregated)) {
    const auto chunks =
        values(choice_of(task, task.aggregated, &RoleChoices::chunk), kMostTokens, kAnyValue);
    const auto structures = structures_of(task.aggregated, chunks, depths, deadline);
    for (const Structures& s : structures) {
      deployments_ += static_cast<double>(s.replicas.size()) * batches_of(task.aggregated) *
                      static_cast<double>(s.ways.size());
    }
    add_chains(structures, task.aggregated, deadline, aggregated_);
  }
  deadline.check();
  if (!has(Mode::Disaggregated)) return;
  const auto prefill = structures_of(task.prefill, {0}, {0}, deadline);
  const auto decode = structures_of(task.decode, {0}, depths, deadline);
  double pairs = 0.0;
  for (const Structures& a : prefill) {
    for (const Structures& b : decode) {
      for (const std::int64_t x : a.replicas) {
        const auto fits = [&](std::int64_t y) {
          return holds({.structure = a.structure, .replicas = x},
                       {.structure = b.structure, .replicas = y});
        };
        pairs +=
            static_cast<double>(b.ways.size()) *
            static_cast<double>(std::partition_point(b.replicas.begin(), b.replicas.end(), fits) -
                                b.replicas.begin());
      }
    }
    deadline.check();
  }
  deployments_ += pairs * batches_of(task.prefill) * batches_of(task.decode);
  add_prefillers(prefill, deadline);
  add_chains(decode, task.decode, deadline, decoders_);
}

}  // namespace dfsearch::serving
