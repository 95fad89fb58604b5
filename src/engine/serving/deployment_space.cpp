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

/// The values that a choice leaves between 1 and `most`.
template <class Fits>
std::vector<std::int64_t> values(const std::optional<DegreeChoice>& given, std::int64_t most,
                                 const Fits& fits) {
  const DegreeChoice& choice = *given;
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

}  // namespace

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
    const auto divides_heads = [&](std::int64_t t) { return task_.model.heads % t == 0; };
    for (const std::int64_t t : values(role.tensor, chips, divides_heads)) {
      s.tensor = t;
      const std::int64_t stages = std::min(chips / t, task_.model.layers);
      for (const std::int64_t p : values(role.pipeline, stages, kAnyValue)) {
        s.pipeline = p;
        for (const std::int64_t d : values(role.attention_data, chips / (t * p), kAnyValue)) {
          s.attention_data = d;
          const auto divides = [&](std::int64_t e) { return (t * d) % e == 0; };
          for (const std::int64_t e : values(role.expert, t * d, divides)) {
            s.expert = e;
            deadline.check();
            const auto replicas = values(role.replicas, chips / s.chips(), kAnyValue);
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

void DeploymentSpace::add_chains(const std::vector<Structures>& structures, const RoleChoices& role,
                                 const Deadline& deadline, std::vector<Chain>& chains) {
  for (const Structures& s : structures) {
    deadline.check();
    for (const auto& [chunk, depth] : s.ways) {
      Chain& chain = chains.emplace_back();
      chain.replicas = s.replicas;
      chain.decoder = std::make_unique<const Decoder>(task_, means_, s.structure, depth, chunk);
    }
  }
  const auto batches = values(role.batch, kMostTokens, kAnyValue);
  for (Chain& chain : chains) {
    deadline.check();
    cut(chain, batches);
  }
}

/// Keeps the batches up to the first that breaks a limit.
void DeploymentSpace::cut(Chain& chain, const std::vector<std::int64_t>& batches) {
  const Limits& limits = task_.limits;
  const auto broken = [&](std::int64_t batch) -> std::optional<Broken> {
    const Decoding found = chain.decoder->at(batch);
    if (found.memory > chain.decoder->room()) return Broken::Memory;
    if (found.mixed_share > task_.utilization.mixed) return Broken::Prefill;
    if (above(found.tpot, limits.tpot)) return Broken::Tpot;
    if (above(found.ttft, limits.ttft)) return Broken::Ttft;
    if (above(found.ttft + means_.steps * found.tpot, limits.e2e)) return Broken::E2e;
    return std::nullopt;
  };
  const auto first = std::partition_point(batches.begin(), batches.end(),
                                          [&](std::int64_t batch) { return !broken(batch); });
  chain.batches.assign(batches.begin(), first);
  if (first == batches.end()) return;
  if (const auto limit = broken(*first)) {
    cut_[static_cast<std::size_t>(*limit)] += batches.end() - first;
  }
}

void DeploymentSpace::add_prefillers(const std::vector<Structures>& structures,
                                     const RoleChoices& role) {
  const auto batches = values(role.batch, kMostTokens, kAnyValue);
  for (const Structures& s : structures) {
    for (const std::int64_t batch : batches) {
      Prefiller prefiller{.role = {.structure = s.structure, .batch = batch},
                          .replicas = s.replicas,
                          .times = prefilling(task_, means_, s.structure, batch)};
      const Pool& pool = task_.pools[s.structure.pool];
      const double room = pool.usable().in_base_units();
      if (prefiller.times.memory > room) {
        ++cut_[static_cast<std::size_t>(Broken::Memory)];
        break;  // larger batches need more
      }
      prefillers_.push_back(std::move(prefiller));
    }
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
    return static_cast<double>(values(role.batch, kMostTokens, kAnyValue).size());
  };
  const std::vector<std::int64_t>& depths = task.speculation.depths;
  if (has(Mode::Aggregated)) {
    const RoleChoices role = choices_of(task, Side::Aggregated);
    const auto chunks = values(role.chunk, kMostTokens, kAnyValue);
    const auto structures = structures_of(role, chunks, depths, deadline);
    for (const Structures& s : structures) {
      deployments_ += static_cast<double>(s.replicas.size()) * batches_of(role) *
                      static_cast<double>(s.ways.size());
    }
    add_chains(structures, role, deadline, aggregated_);
  }
  deadline.check();
  if (!has(Mode::Disaggregated)) return;
  const RoleChoices prefills = choices_of(task, Side::Prefill);
  const RoleChoices decodes = choices_of(task, Side::Decode);
  const auto prefill = structures_of(prefills, {0}, {0}, deadline);
  const auto decode = structures_of(decodes, {0}, depths, deadline);
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
  deployments_ += pairs * batches_of(prefills) * batches_of(decodes);
  add_prefillers(prefill, prefills);
  add_chains(decode, decodes, deadline, decoders_);
}

}  // namespace dfsearch::serving
