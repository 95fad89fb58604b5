// Nodes are intervals of the batch of one structure, or of a pair of structures that prefill and
// decode.  In an interval the time per token is least at its low end and the capacity greatest at
// its high end, which gives an ideal point; a node whose ideal point is no better than what is
// found is closed, all others are halved.  Branch and bound: Land and Doig, Econometrica 1960; with
// two objectives and ideal points: Ehrgott, Multicriteria Optimization, 2005.

#include "engine/serving/deployment_search.hpp"

#include <algorithm>
#include <cmath>
#include <exception>
#include <string>
#include <thread>
#include <utility>

#include "base/error.hpp"
#include "engine/serving/allowed.hpp"

namespace dfsearch::serving {
namespace {

/// Sums in another order may differ by so much.
constexpr double kRounding = 1e-12;
// Some milliseconds.
constexpr std::int64_t kPairsBetweenLooks = 1 << 15;
// A root takes some thirty bytes.
constexpr std::size_t kMostRoots = 50'000'000;

struct Money {
  double price = 0.0;
  double power = 0.0;
};

Money money_of(const Pool& pool, double chips) {
  return {.price = chips * pool.price, .power = chips * pool.power.in_base_units()};
}

/// Figures with the best of each quantity; those of `value_of` and of the limits alone.
void put_rates(const Task& task, const Means& means, double capacity, const Money& money,
               Figures& figures) {
  figures.tokens_per_s = task.rate.value_or(capacity) * means.output;
  figures.dollars_per_mtoken = money.price / 3600.0 / figures.tokens_per_s * 1e6;
  figures.joule_per_token = money.power / figures.tokens_per_s;
}

}  // namespace

DeploymentSearch::DeploymentSearch(const DeploymentSpace& space, Question question,
                                   const dfsearch::Limits& limits, int threads)
    : space_(space),
      task_(space.task()),
      question_(std::move(question)),
      limits_(limits),
      threads_(threads),
      incumbents_(question_.objective == Objective::Front),
      at_work_(static_cast<std::size_t>(std::max(threads, 1))) {
  for (auto& bound : at_work_) bound = kNever;
  PacedDeadline paced(limits.deadline, kPairsBetweenLooks);
  const auto wants = [&](Mode mode) { return question_.mode.value_or(mode) == mode; };
  const auto each = [&](const std::vector<Chain>& chains, const auto& add) {
    for (const Chain& chain : chains) {
      limits.deadline.check();
      if (chain.batches.empty()) continue;
      const std::size_t last = chain.batches.size() - 1;
      add(wholes_.emplace_back(Node{.chain = &chain,
                                    .low = 0,
                                    .high = last,
                                    .at_low = chain.at(0),
                                    .at_high = chain.at(last)}));
    }
  };
  if (wants(Mode::Aggregated)) {
    each(space.aggregated(), [&](const Node& whole) { add_root(whole, nullptr); });
  }
  if (wants(Mode::Disaggregated)) {
    each(space.decoders(), [&](const Node& whole) {
      for (const Prefiller& prefiller : space.prefillers()) {
        paced.check();
        add_root(whole, &prefiller);
      }
    });
  }
  // The most promising first, so that the others are closed by what these find.
  std::stable_sort(roots_.begin(), roots_.end(),
                   [](const Root& a, const Root& b) { return a.quick < b.quick; });
}

bool DeploymentSearch::is_excluded(const Prefiller* prefiller, const Chain& chain) const {
  return std::any_of(question_.excluded.begin(), question_.excluded.end(),
                     [&](const Deployment& known) {
                       const bool pair = known.mode == Mode::Disaggregated;
                       return pair == (prefiller != nullptr) &&
                              known.decode.structure == chain.decoder->structure() &&
                              (!pair || known.prefill.structure == prefiller->role.structure);
                     });
}

void DeploymentSearch::add_root(const Node& whole, const Prefiller* prefiller) {
  if (is_excluded(prefiller, *whole.chain)) return;
  if (prefiller && !space_.holds(prefiller->role, whole.chain->role(0, 1))) return;
  if (roots_.size() >= kMostRoots) {
    throw InputError(
        "serving: the choices leave more than " + std::to_string(kMostRoots) +
        " pairs of a structure that prefills and one that decodes, expected fewer of tensor, "
        "pipeline, attention_data, expert or chunk");
  }
  roots_.push_back({&whole, prefiller, quick_value(whole, prefiller)});
}

double DeploymentSearch::most_capacity(const Node& node) {
  return node.chain->decoder->most_capacity(node.at_low, node.at_high);
}

/// (25) of docs/serving.md, whatever the replicas are.
double DeploymentSearch::quick_value(const Node& whole, const Prefiller* prefiller) const {
  const Structure& decode = whole.chain->decoder->structure();
  const Pool& to = task_.pools[decode.pool];
  const double chips = real(decode.chips());
  const double steps = space_.means().steps;
  const double answer =
      prefiller ? task_.pools[prefiller->role.structure.pool].engine.answer.in_base_units() : 0.0;
  const double ttft = prefiller ? prefiller->times.latency + answer : whole.at_low.ttft;
  switch (question_.objective) {
    case Objective::Interactivity:
      return whole.at_low.tpot;
    case Objective::Ttft:
      return ttft;
    case Objective::E2e:
      return ttft + steps * whole.at_low.tpot;
    case Objective::Chips:
    case Objective::Throughput:
    case Objective::ThroughputPerChip:
    case Objective::Cost:
    case Objective::Energy:
    case Objective::Front:
      break;
  }
  const bool by_price = question_.objective == Objective::Cost ||
                        (question_.objective == Objective::Front && task_.front == FrontAxis::Cost);
  const bool by_power = question_.objective == Objective::Energy;
  const auto weight = [&](const Pool& pool, double count) {
    if (by_price) return count * pool.price / 3600.0 * 1e6;
    return by_power ? count * pool.power.in_base_units() : count;
  };
  // What a request a second needs on each side.
  double needed = 0.0;
  double there = real(to.chips);
  if (prefiller) {
    const Structure& prefill = prefiller->role.structure;
    const Pool& from = task_.pools[prefill.pool];
    needed += weight(from, real(prefill.chips())) /
              (task_.utilization.prefill * prefiller->times.capacity);
    needed += weight(to, chips) / (task_.utilization.decode * whole.at_high.capacity);
    if (prefill.pool != decode.pool) there += real(from.chips);
  } else {
    needed = weight(to, chips) / most_capacity(whole);
  }
  const double output = space_.means().output;
  if (question_.objective == Objective::Chips) return task_.rate ? needed * *task_.rate : chips;
  if (question_.objective == Objective::Throughput) {
    return task_.rate ? 1.0 / (*task_.rate * output) : needed / (output * there);
  }
  return needed / output;
}

bool DeploymentSearch::bound_aggregated(Node& node) {
  const Chain& chain = *node.chain;
  const Structure& structure = chain.decoder->structure();
  const Pool& pool = task_.pools[structure.pool];
  const double running =
      real(chain.batches[node.low]) * real(structure.attention_data) * real(structure.pipeline);
  const double most = most_capacity(node);
  const double least_served = chain.decoder->is_steady() ? node.at_low.capacity : 0.0;
  LeastFigures& least = node.least;
  least.value = kNever;
  Closed reason = Closed::Rate;
  Figures figures;
  figures.tpot = node.at_low.tpot;
  figures.ttft = node.at_low.ttft;
  figures.e2e = figures.ttft + space_.means().steps * figures.tpot;
  for (const std::int64_t count : chain.replicas) {
    const double capacity = real(count) * most;
    if (task_.rate && capacity < *task_.rate) continue;
    const double flight = real(count) * (running + least_served * node.at_low.ttft);
    if (task_.concurrency && flight * (1.0 - kRounding) > *task_.concurrency) {
      reason = Closed::Concurrency;
      break;
    }
    figures.chips = count * structure.chips();
    put_rates(task_, space_.means(), capacity, money_of(pool, real(figures.chips)), figures);
    if (task_.limits.cost && figures.dollars_per_mtoken * (1.0 - kRounding) > *task_.limits.cost) {
      reason = Closed::Cost;
      continue;
    }
    if (least.value == kNever) {
      least.chips = figures.chips;
      least.first = {
          .mode = Mode::Aggregated, .prefill = {}, .decode = chain.role(node.low, count)};
    }
    least.value = std::min(least.value, value_of(question_.objective, task_.front, figures));
  }
  if (least.value == kNever) close(reason);
  return least.value < kNever;
}

bool DeploymentSearch::bound_pair(Node& node) {
  const Chain& chain = *node.chain;
  const Prefiller& prefiller = *node.prefiller;
  Role prefill = prefiller.role;
  Role decode = chain.role(node.low, 1);
  const Pool& from = task_.pools[prefill.structure.pool];
  const Pool& to = task_.pools[decode.structure.pool];
  const Handover move = handover(task_, space_.means(), prefill.structure, decode.structure);
  const double base = prefiller.times.latency + move.transfer + from.engine.answer.in_base_units();
  const double running =
      real(decode.batch) * real(decode.structure.attention_data) * real(decode.structure.pipeline);
  const double filling = (real(prefill.batch) - 1.0) / 2.0 * real(prefill.structure.attention_data);
  LeastFigures& least = node.least;
  least.value = kNever;
  least.chips = std::numeric_limits<std::int64_t>::max();
  Closed reason = Closed::Chips;
  Figures figures;
  figures.tpot = node.at_low.tpot;
  PacedDeadline paced(limits_.deadline, kPairsBetweenLooks);
  for (const std::int64_t x : prefiller.replicas) {
    prefill.replicas = x;
    for (const std::int64_t y : chain.replicas) {
      paced.check();
      decode.replicas = y;
      if (!space_.holds(prefill, decode)) break;
      if (task_.concurrency && real(y) * running > *task_.concurrency) {
        reason = Closed::Concurrency;
        break;
      }
      const double sending = real(prefill.chips()), receiving = real(decode.chips());
      const double supply = real(x) * prefiller.times.capacity;
      const double capacity = std::min({task_.utilization.prefill * supply,
                                        task_.utilization.decode * real(y) * node.at_high.capacity,
                                        std::min(sending * from.transfer_rate().in_base_units(),
                                                 receiving * to.transfer_rate().in_base_units()) /
                                            move.bytes});
      if (task_.rate && capacity < *task_.rate) {
        reason = Closed::Rate;
        continue;
      }
      const double served = task_.rate.value_or(capacity);
      figures.ttft = base + filling * real(x) / served;
      if (task_.rate && task_.wait == Wait::Md1) {
        const double load = served / supply;
        figures.ttft += load < 1.0 ? load / (2.0 * (1.0 - load)) * prefiller.times.period : kNever;
      }
      figures.e2e = figures.ttft + space_.means().steps * figures.tpot;
      constexpr double kLess = 1.0 - kRounding;
      if (above(figures.ttft * kLess, task_.limits.ttft) ||
          above(figures.e2e * kLess, task_.limits.e2e)) {
        reason = Closed::Time;
        continue;
      }
      figures.chips = prefill.chips() + decode.chips();
      const Money a = money_of(from, sending), b = money_of(to, receiving);
      put_rates(task_, space_.means(), capacity,
                {.price = a.price + b.price, .power = a.power + b.power}, figures);
      if (task_.limits.cost &&
          figures.dollars_per_mtoken * (1.0 - kRounding) > *task_.limits.cost) {
        reason = Closed::Cost;
        continue;
      }
      if (least.value == kNever) {
        least.first = {.mode = Mode::Disaggregated, .prefill = prefill, .decode = decode};
      }
      least.chips = std::min(least.chips, figures.chips);
      least.value = std::min(least.value, value_of(question_.objective, task_.front, figures));
    }
  }
  if (least.value == kNever) close(reason);
  return least.value < kNever;
}

/// False: nothing in it keeps the limits, or nothing is an answer that is not known.
bool DeploymentSearch::bound(Node& node) {
  node.least = {.value = quick_value(node, node.prefiller),
                .tpot = node.at_low.tpot,
                .chips = 0,
                .first = {}};
  node.least.value *= 1.0 - kRounding;
  if (question_.has_floors && incumbents_.beats(node.least)) {
    close(Closed::Bound);
    return false;
  }
  const bool any = node.prefiller ? bound_pair(node) : bound_aggregated(node);
  if (!any) return false;
  if (!question_.has_floors || !incumbents_.beats(node.least)) return true;
  close(Closed::Bound);
  return false;
}

void DeploymentSearch::offer(const Deployment& deployment, Figures figures) {
  if (!figures.feasible()) return;
  const double value = value_of(question_.objective, task_.front, figures);
  const Candidate candidate{deployment, std::move(figures), value};
  if (!incumbents_.add(candidate)) return;
  improvements_.fetch_add(1);
  if (on_incumbent_) on_incumbent_(progress(), deployment);
}

void DeploymentSearch::leaf(const Node& node) {
  leaves_.fetch_add(1, std::memory_order_relaxed);
  const Chain& chain = *node.chain;
  const Decoder& decoder = *chain.decoder;
  if (!node.prefiller) {
    for (const std::int64_t count : chain.replicas) {
      const Role role = chain.role(node.low, count);
      offer({.mode = Mode::Aggregated, .prefill = {}, .decode = role},
            aggregated(task_, space_.means(), role.structure, decoder, node.at_low, role.batch,
                       count));
    }
    return;
  }
  Role prefill = node.prefiller->role;
  Role decode = chain.role(node.low, 1);
  const Handover move = handover(task_, space_.means(), prefill.structure, decode.structure);
  PacedDeadline paced(limits_.deadline, kPairsBetweenLooks);
  for (const std::int64_t x : node.prefiller->replicas) {
    prefill.replicas = x;
    for (const std::int64_t y : chain.replicas) {
      paced.check();
      decode.replicas = y;
      if (!space_.holds(prefill, decode)) break;
      offer({.mode = Mode::Disaggregated, .prefill = prefill, .decode = decode},
            disaggregated(task_, space_.means(), prefill, node.prefiller->times, decode,
                          node.at_low, move, decoder.tokens_per_step()));
    }
  }
}

bool DeploymentSearch::is_over() {
  if (stopped_by_.load(std::memory_order_relaxed) != StopReason::None) return true;
  StopReason reason = stop_reason(limits_.deadline);
  if (reason == StopReason::None && nodes_.load(std::memory_order_relaxed) >= limits_.nodes) {
    reason = StopReason::Nodes;
  }
  if (reason == StopReason::None) return false;
  stopped_by_.store(reason);
  return true;
}

void DeploymentSearch::leave_open(const Node& node) {
  const std::lock_guard lock(mutex_);
  open_.push_back(node.least);
}

void DeploymentSearch::leave_unbounded(Node& node) {
  node.least = {.value = node.quick, .tpot = node.at_low.tpot, .chips = 0, .first = {}};
  leave_open(node);
}

/// Depth first, the better half first.
void DeploymentSearch::search(const Root& root, std::size_t worker) {
  at_work_[worker] = root.quick;
  std::vector<Node> stack = {*root.whole};
  stack.back().prefiller = root.prefiller;
  stack.back().quick = root.quick;
  while (!stack.empty()) {
    Node node = std::move(stack.back());
    stack.pop_back();
    if (is_over()) {
      node.least.value > 0.0 ? leave_open(node) : leave_unbounded(node);
      continue;
    }
    nodes_.fetch_add(1, std::memory_order_relaxed);
    try {
      if (!bound(node)) continue;
      if (node.low == node.high) {
        leaf(node);
        continue;
      }
    } catch (const Stopped&) {
      leave_unbounded(node);
      continue;
    }
    const std::size_t middle = (node.low + node.high) / 2;
    Node below = node, above = std::move(node);
    below.high = middle;
    above.low = middle + 1;
    const Chain& chain = *below.chain;
    below.at_high = middle == below.low ? below.at_low : chain.at(middle);
    above.at_low = above.low == above.high ? above.at_high : chain.at(above.low);
    const bool fast = question_.objective == Objective::Interactivity ||
                      question_.objective == Objective::Ttft ||
                      question_.objective == Objective::E2e;
    if (fast) std::swap(below, above);
    stack.push_back(std::move(below));
    stack.push_back(std::move(above));
  }
  at_work_[worker] = kNever;
}

void DeploymentSearch::start_from(const Deployment& deployment) {
  if (ruled_out(task_, deployment).empty()) offer(deployment, evaluate(task_, deployment));
}

void DeploymentSearch::run() {
  std::exception_ptr thrown;
  const auto work = [&](std::size_t worker) {
    try {
      for (std::size_t i = next_++; i < roots_.size(); i = next_++) search(roots_[i], worker);
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!thrown) thrown = std::current_exception();
      next_ = roots_.size();
    }
  };
  std::vector<std::jthread> others;
  const auto useful = std::min<std::size_t>(static_cast<std::size_t>(threads_), roots_.size());
  for (std::size_t i = 1; i < useful; ++i) others.emplace_back(work, i);
  work(0);
  others.clear();
  if (thrown) std::rethrow_exception(thrown);
}

double DeploymentSearch::lower_bound() const {
  const std::lock_guard lock(mutex_);
  double least = incumbents_.best_value();
  for (const LeastFigures& node : open_) least = std::min(least, node.value);
  return least;
}

double DeploymentSearch::gap() const {
  std::vector<LeastFigures> open;
  {
    const std::lock_guard lock(mutex_);
    open = open_;
  }
  return incumbents_.gap_to(open);
}

std::array<std::int64_t, kClosed> DeploymentSearch::closed() const {
  std::array<std::int64_t, kClosed> counts{};
  for (std::size_t i = 0; i < kClosed; ++i) counts[i] = closed_[i].load();
  return counts;
}

Progress DeploymentSearch::progress() const {
  Progress progress;
  progress.nodes = nodes();
  progress.open = static_cast<std::int64_t>(roots_.size() - std::min(next_.load(), roots_.size()));
  const double best = incumbents_.best_value();
  if (best < kNever) {
    progress.incumbent = Score(best);
    progress.found_by = 'B';
  }
  if (question_.objective == Objective::Front) return progress;
  double bound = best;
  const std::size_t next = next_.load();
  if (next < roots_.size()) bound = std::min(bound, roots_[next].quick);
  for (const auto& at_work : at_work_) bound = std::min(bound, at_work.load());
  if (bound < kNever) progress.lower_bound = Score(bound);
  return progress;
}

}  // namespace dfsearch::serving
