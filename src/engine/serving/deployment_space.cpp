#include "engine/serving/deployment_space.hpp"

#include <fmt/format.h>

#include <map>
#include <string>
#include <string_view>
#include <tuple>

#include "base/error.hpp"
#include "graph/workloads/blocks/mixed_layers.hpp"
#include "model/serving/framework.hpp"
#include "model/serving/pass.hpp"

// Memory, the share of mixed iterations, times per token and to the first token never fall with the
// batch (docs/serving.md, section 6): each limit cuts a chain at one place, found by bisection.

namespace dfsearch::serving {

namespace {

// Limit of the values of an open range; no list of a config has more.
constexpr std::size_t kMostValues = 1 << 16;

constexpr double kLess = 1.0 - kRounding;

/// The values that the choice of a key leaves between 1 and `most`, ascending.
template <class Fits>
std::vector<std::int64_t> values(std::string_view key, const DegreeChoice& choice,
                                 std::int64_t most, const Fits& fits) {
  std::vector<std::int64_t> list;
  if (!choice.values.empty()) {
    list = choice.values;
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
    std::erase_if(list, [&](std::int64_t value) { return value > most || !fits(value); });
    return list;
  }
  const std::int64_t last = std::min(choice.most, most);
  for (std::int64_t value = choice.least; value <= last; ++value) {
    if (fits(value)) list.push_back(value);
    if (list.size() > kMostValues) {
      throw InputError(fmt::format(
          "serving: {}: expected a list, or a range of at most {} values that fit, got {}..{}", key,
          kMostValues, choice.least, last));
    }
  }
  return list;
}

constexpr auto kAnyValue = [](std::int64_t) { return true; };

const DegreeChoice kChunks{
    .values = {16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536}};

/// Whether replicas can replace ranks of attention_data: without experts ranks share nothing, and
/// larger stages send over a dimension that is no faster.
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
  // A chunk equal to the budget of an iteration: prefill takes the tokens that decoding leaves.
  if (key == &RoleChoices::chunk && task.batched_tokens) return {.values = {*task.batched_tokens}};
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
      const auto& mixed = task_.model.mixed;
      return (mixed ? mixed->misfit(t, 1, Runner::Serving).empty() : task_.model.heads % t == 0) &&
             links.holds(t);
    };
    for (const std::int64_t t : values("tensor", tensors, chips, divides_heads)) {
      s.tensor = t;
      const std::int64_t stages = std::min(chips / t, task_.model.layers);
      for (const std::int64_t p : values("pipeline", pipelines, stages, kAnyValue)) {
        s.pipeline = p;
        const auto fills = [&](std::int64_t d) { return links.holds(t * d); };
        for (const std::int64_t d : values("attention_data", ranks, chips / (t * p), fills)) {
          s.attention_data = d;
          const auto divides = [&](std::int64_t e) { return (t * d) % e == 0; };
          for (const std::int64_t e : values("expert", experts, t * d, divides)) {
            s.expert = e;
            deadline.check();
            const auto replicas = values("replicas", counts, chips / s.chips(), kAnyValue);
            if (replicas.empty()) continue;
            for (s.redundant_experts = 0; const std::int64_t copies : task_.redundant_experts) {
              s.redundant_experts = copies;
              for (const std::int64_t parts : task_.sub_batches) {
                s.sub_batches = parts;
                const auto run = ways();
                if (run.empty()) continue;
                for (s.precision = 0; s.precision < task_.precisions.size(); ++s.precision) {
                  if (legal(task_, s)) list.push_back({s, replicas, run});
                }
              }
            }
            s.precision = 0;
            s.redundant_experts = 0;
            s.sub_batches = 1;
          }
        }
      }
    }
  }
  return list;
}

namespace {

/// The greatest batch that the arguments of the server allow.
std::int64_t most_requests(const Task& task, const Structure& structure, std::int64_t chunk,
                           std::int64_t depth) {
  std::int64_t most = kMostTokens;
  if (task.max_seqs) most = std::min(most, *task.max_seqs / structure.pipeline);
  if (!task.batched_tokens) return most;
  const std::int64_t budget = *task.batched_tokens;
  const std::int64_t left = chunk == budget ? budget : budget - chunk;
  const double checked = gain_of(task.speculation, depth).checked;
  return std::min(most, static_cast<std::int64_t>(std::max(real(left), 0.0) / checked));
}

/// The number of values of an ascending list up to `most`.
std::size_t count_up_to(std::span<const std::int64_t> list, std::int64_t most) {
  return static_cast<std::size_t>(std::upper_bound(list.begin(), list.end(), most) - list.begin());
}

}  // namespace

/// Keeps the batches below the first one that breaks a limit by more than rounding (kRounding).
template <class AnyChain, class Breaks>
void DeploymentSpace::cut(AnyChain& chain, std::span<const std::int64_t> batches,
                          const Breaks& breaks) {
  const auto first = std::partition_point(batches.begin(), batches.end(),
                                          [&](std::int64_t batch) { return !breaks(batch); });
  if (first != batches.end()) {
    if (const std::optional<Broken> limit = breaks(*first)) {
      cut_[static_cast<std::size_t>(*limit)] += batches.end() - first;
    }
  }
  chain.batches = batches.first(static_cast<std::size_t>(first - batches.begin()));
  if (chain.batches.empty()) return;
  chain.at_first = chain.at(0);
  chain.at_last = chain.at(chain.batches.size() - 1);
}

void DeploymentSpace::add_chains(const std::vector<Structures>& structures, Side side,
                                 const Deadline& deadline, std::vector<Chain>& chains) {
  const Limits& limits = task_.limits;
  const std::span<const std::int64_t> batches = batches_[static_cast<std::size_t>(side)];
  for (const Structures& s : structures) {
    for (const auto& [chunk, depth] : s.ways) {
      deadline.check();
      Chain& chain = chains.emplace_back();
      chain.replicas = s.replicas;
      chain.decoder = std::make_unique<const Decoder>(task_, means_, s.structure, depth, chunk,
                                                      asks_energy(task_.objective));
      const std::int64_t most = most_requests(task_, s.structure, chunk, depth);
      cut(chain, batches.first(count_up_to(batches, most)),
          [&](std::int64_t batch) -> std::optional<Broken> {
            const Decoder& decoder = *chain.decoder;
            if (decoder.memory(batch) * kLess > decoder.room()) return Broken::Memory;
            // Other limits depend on the number of users of a replica.
            if (decoder.is_loaded() || task_.concurrency) return std::nullopt;
            const Decoding found = decoder.at(batch);
            const bool grows = decoder.is_steady();
            if (grows && found.mix.share * kLess > task_.utilization.mixed) return Broken::Prefill;
            const double tpot = decoder.least_tpot(found), ttft = decoder.least_ttft(found);
            if (above(tpot * kLess, limits.tpot)) return Broken::Tpot;
            if (above(ttft * kLess, limits.ttft)) return Broken::Ttft;
            const double e2e = ttft + means_.steps * tpot;
            return above(e2e * kLess, limits.e2e) ? std::optional(Broken::E2e) : std::nullopt;
          });
      if (!chain.decoder->is_loaded() && !task_.concurrency) continue;
      chain.least_tpot = chain.decoder->least_tpot_of_any_load() * kLess;
      if (chunk > 0) chain.least_ttft = chain.decoder->least_ttft_of_any_load() * kLess;
    }
  }
}

void DeploymentSpace::add_prefillers(const std::vector<Structures>& structures,
                                     const Deadline& deadline) {
  const std::span<const std::int64_t> batches = batches_[static_cast<std::size_t>(Side::Prefill)];
  for (const Structures& s : structures) {
    deadline.check();
    PrefillChain& chain = prefillers_.emplace_back();
    chain.replicas = s.replicas;
    chain.prefiller =
        std::make_unique<const Prefiller>(task_, means_, s.structure, asks_energy(task_.objective));
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
  const auto find_batches = [&](Side side, const RoleChoices& role) {
    std::vector<std::int64_t>& batches = batches_[static_cast<std::size_t>(side)];
    batches = values("batch", choice_of(task, role, &RoleChoices::batch), kMostTokens, kAnyValue);
    return std::span<const std::int64_t>(batches);
  };
  const auto count_ways = [&](const Structures& of, std::span<const std::int64_t> batches) {
    double count = 0.0;
    for (const auto& [chunk, depth] : of.ways) {
      const std::int64_t most = most_requests(task, of.structure, chunk, depth);
      count += static_cast<double>(count_up_to(batches, most));
    }
    return count;
  };
  const std::vector<std::int64_t>& depths = task.speculation.depths;
  if (has(Mode::Aggregated)) {
    const auto chunks = values("chunk", choice_of(task, task.aggregated, &RoleChoices::chunk),
                               kMostTokens, kAnyValue);
    const auto structures = structures_of(task.aggregated, chunks, depths, deadline);
    const auto batches = find_batches(Side::Aggregated, task.aggregated);
    for (const Structures& s : structures) {
      deployments_ += static_cast<double>(s.replicas.size()) * count_ways(s, batches);
    }
    add_chains(structures, Side::Aggregated, deadline, aggregated_);
  }
  deadline.check();
  if (!has(Mode::Disaggregated)) return;
  const auto prefill = structures_of(task.prefill, {0}, {0}, deadline);
  const auto decode = structures_of(task.decode, {0}, depths, deadline);
  double pairs = 0.0;
  const auto batches = find_batches(Side::Decode, task.decode);
  // Structures with equal numbers of chips in one pool have equal numbers of replicas.
  using Kind = std::tuple<std::size_t, std::size_t, std::int64_t>;
  struct Alike {
    const Structures* first = nullptr;
    double ways = 0.0;
  };
  const auto add = [](std::map<Kind, Alike>& kinds, const Structures& of, double ways) {
    Alike& alike = kinds[{of.structure.pool, of.structure.precision, of.structure.chips()}];
    alike.first = &of;
    alike.ways += ways;
  };
  std::map<Kind, Alike> before, after;
  for (const Structures& a : prefill) add(before, a, 1.0);
  for (const Structures& b : decode) add(after, b, count_ways(b, batches));
  for (const auto& [from, a] : before) {
    for (const auto& [to, b] : after) {
      const std::vector<std::int64_t>& counts = b.first->replicas;
      for (const std::int64_t x : a.first->replicas) {
        const auto fits = [&](std::int64_t y) {
          return holds({.structure = a.first->structure, .replicas = x},
                       {.structure = b.first->structure, .replicas = y});
        };
        pairs += a.ways * b.ways *
                 static_cast<double>(std::partition_point(counts.begin(), counts.end(), fits) -
                                     counts.begin());
      }
    }
    deadline.check();
  }
  deployments_ += pairs * static_cast<double>(find_batches(Side::Prefill, task.prefill).size());
  add_prefillers(prefill, deadline);
  add_chains(decode, Side::Decode, deadline, decoders_);
}

namespace {

using ChoiceOf = std::optional<DegreeChoice> RoleChoices::*;

/// A decision of a role, which is a number.
struct Decision {
  std::string_view key;
  ChoiceOf choice;
  std::int64_t (*value)(const Role&);
};
const Decision kDecisions[] = {
    {"tensor", &RoleChoices::tensor, [](const Role& r) { return r.structure.tensor; }},
    {"pipeline", &RoleChoices::pipeline, [](const Role& r) { return r.structure.pipeline; }},
    {"attention_data", &RoleChoices::attention_data,
     [](const Role& r) { return r.structure.attention_data; }},
    {"expert", &RoleChoices::expert, [](const Role& r) { return r.structure.expert; }},
    {"replicas", &RoleChoices::replicas, [](const Role& r) { return r.replicas; }},
    {"batch", &RoleChoices::batch, [](const Role& r) { return r.batch; }},
    {"chunk", &RoleChoices::chunk, [](const Role& r) { return r.chunk; }}};

/// Adds the reasons of one side; `where` is the key of the side with a dot, or empty.
void check_role(const Task& task, const Role& role, Side side, const std::string& where,
                RuledOut& reasons) {
  const RoleChoices choices = choices_of(task, side);
  for (const Decision& decision : kDecisions) {
    const std::int64_t value = decision.value(role);
    check_choice(where + std::string(decision.key), *(choices.*decision.choice), value, reasons);
    const bool is_tokens =
        decision.choice == &RoleChoices::batch || decision.choice == &RoleChoices::chunk;
    if (is_tokens && value > kMostTokens) {
      reasons.push_back(fmt::format("{}{}: expected at most {}, got {}", where, decision.key,
                                    kMostTokens, value));
    }
  }
  if (side != Side::Prefill) {
    check_choice(where + "depth", {.values = task.speculation.depths, .least = 0}, role.depth,
                 reasons);
  }
  const Structure& s = role.structure;
  const Pool& pool = task.pools[s.pool];
  check_choice(where + "redundant_experts", {.values = task.redundant_experts, .least = 0},
               s.redundant_experts, reasons);
  check_choice(where + "sub_batches", {.values = task.sub_batches}, s.sub_batches, reasons);
  if (side != Side::Prefill) {
    const std::int64_t most = most_requests(task, s, role.chunk, role.depth);
    if (role.batch > most && most < kMostTokens) {
      reasons.push_back(
          fmt::format("{}batch: expected at most {} beside 'max_seqs' and "
                      "'batched_tokens', got {}",
                      where, most, role.batch));
    }
  }
  // The product is real, since it may leave 64 bits.
  const double chips =
      real(s.tensor) * real(s.pipeline) * real(s.attention_data) * real(role.replicas);
  if (chips > real(pool.chips)) {
    reasons.push_back(
        fmt::format("{}pool: needs {:.0f} chips, the pool has {}", where, chips, pool.chips));
  } else if (!has_room(task, role)) {
    reasons.push_back(where + "tensor: the model or the network does not allow such degrees");
  } else if (task.framework) {
    for (const std::string_view lack :
         unsupported_features(*task.framework, role, task.speculation.kind)) {
      reasons.push_back(fmt::format("{}{} does not run it: {}", side == Side::Prefill ? where : "",
                                    name_of(*task.framework), lack));
    }
  }
}

}  // namespace

RoleChoices choices_of(const Task& task, Side side) {
  const RoleChoices& own = side == Side::Aggregated ? task.aggregated
                           : side == Side::Prefill  ? task.prefill
                                                    : task.decode;
  RoleChoices choices;
  for (const Decision& decision : kDecisions) {
    choices.*decision.choice = choice_of(task, own, decision.choice);
  }
  if (side != Side::Aggregated) choices.chunk = DegreeChoice{.values = {0}, .least = 0};
  return choices;
}

bool has_room(const Task& task, const Deployment& deployment) {
  return has_room(task, deployment.decode) &&
         (deployment.mode == Mode::Aggregated || has_room(task, deployment.prefill));
}

bool holds(const Task& task, const Role& prefill, const Role& decode) {
  if (prefill.structure.precision != decode.structure.precision) return false;
  const std::int64_t first = task.pools[prefill.structure.pool].chips;
  const std::int64_t second = task.pools[decode.structure.pool].chips;
  if (prefill.structure.pool == decode.structure.pool) {
    return prefill.chips() + decode.chips() <= first;
  }
  return prefill.chips() <= first && decode.chips() <= second;
}

RuledOut ruled_out(const Task& task, const Deployment& deployment) {
  RuledOut reasons;
  const auto& modes = task.modes;
  if (std::find(modes.begin(), modes.end(), deployment.mode) == modes.end()) {
    add_reason("mode", name_of(modes.front()), name_of(deployment.mode), reasons);
  }
  const Role& prefill = deployment.prefill;
  const Role& decode = deployment.decode;
  if (deployment.mode == Mode::Aggregated) {
    check_role(task, decode, Side::Aggregated, "", reasons);
    return reasons;
  }
  check_role(task, prefill, Side::Prefill, "prefill.", reasons);
  check_role(task, decode, Side::Decode, "decode.", reasons);
  if (reasons.empty() && !holds(task, prefill, decode)) {
    reasons.push_back(
        fmt::format("pool: prefill and decode together need {} chips, the pool has {}",
                    prefill.chips() + decode.chips(), task.pools[decode.structure.pool].chips));
  }
  return reasons;
}

DeploymentBox::DeploymentBox(const DeploymentSpace& space, const Chain& chain,
                             const PrefillChain* prefill)
    : space_(&space),
      chain_(&chain),
      prefill_(prefill),
      high_(chain.batches.size() - 1),
      at_low_(chain.at_first),
      at_high_(chain.at_last) {
  if (!prefill) return;
  last_ = prefill->batches.size() - 1;
  at_first_ = prefill->at_first;
  at_last_ = prefill->at_last;
  move_ = handover(space.task(), space.means(), prefill->prefiller->structure(), decode());
}

Deployment DeploymentBox::deployment(std::int64_t prefillers, std::int64_t decoders) const {
  if (!prefill_) {
    return {.mode = Mode::Aggregated, .prefill = {}, .decode = chain_->role(low_, decoders)};
  }
  return {.mode = Mode::Disaggregated,
          .prefill = prefill_->role(first_, prefillers),
          .decode = chain_->role(low_, decoders)};
}

std::pair<double, double> CountWindow::range_of_y(double x) const {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  const double before = x * cost_x, top = x > 0.0 ? std::min(most, x * most_x) : most;
  double least = least_y;
  if (most_y > cost_y) {
    least = std::max(least, before / (most_y - cost_y));
  } else if (most_y < cost_y || before > 0.0) {
    least = kNone;
  }
  return {least, cost_y > 0.0 ? (top - before) / cost_y : kNone};
}

std::pair<DeploymentBox, DeploymentBox> DeploymentBox::halves() const {
  std::pair<DeploymentBox, DeploymentBox> both(*this, *this);
  auto& [below, above] = both;
  const bool of_decoding =
      first_ == last_ || (low_ < high_ && at_high_.iteration * at_first_.period >=
                                              at_low_.iteration * at_last_.period);
  if (of_decoding) {
    below.high_ = (low_ + high_) / 2;
    above.low_ = below.high_ + 1;
    below.at_high_ = below.high_ == low_ ? at_low_ : chain_->at(below.high_);
    above.at_low_ = above.low_ == high_ ? at_high_ : chain_->at(above.low_);
  } else {
    below.last_ = (first_ + last_) / 2;
    above.first_ = below.last_ + 1;
    below.at_last_ = below.last_ == first_ ? at_first_ : prefill_->at(below.last_);
    above.at_first_ = above.first_ == last_ ? at_last_ : prefill_->at(above.first_);
  }
  return both;
}

}  // namespace dfsearch::serving
