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
#include "engine/serving/deployment_space.hpp"

namespace dfsearch::serving {
namespace {

// Some milliseconds.
constexpr std::int64_t kPairsBetweenLooks = 1 << 15;
// A root takes some thirty bytes.
constexpr std::size_t kMostRoots = 50'000'000;

/// The word for an interval that is closed as each deployment breaks a limit.
Closed closed_by(Broken limit) {
  switch (limit) {
    case Broken::Rate:
      return Closed::Rate;
    case Broken::Cost:
      return Closed::Cost;
    default:
      return Closed::Time;
  }
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
  if (wants(Mode::Aggregated)) {
    for (const Chain& chain : space.aggregated()) add_root(chain, nullptr);
  }
  if (wants(Mode::Disaggregated)) {
    for (const Chain& chain : space.decoders()) {
      for (const PrefillChain& prefill : space.prefillers()) {
        paced.check();
        add_root(chain, &prefill);
      }
    }
  }
  // The most promising first, so that their results close the others.
  std::stable_sort(roots_.begin(), roots_.end(),
                   [](const Root& a, const Root& b) { return a.quick < b.quick; });
}

bool DeploymentSearch::is_excluded(const Chain& chain, const PrefillChain* prefill) const {
  return std::any_of(question_.excluded.begin(), question_.excluded.end(),
                     [&](const Deployment& known) {
                       const bool pair = known.mode == Mode::Disaggregated;
                       return pair == (prefill != nullptr) &&
                              known.decode.structure == chain.decoder->structure() &&
                              (!pair || known.prefill.structure == prefill->prefiller->structure());
                     });
}

void DeploymentSearch::add_root(const Chain& chain, const PrefillChain* prefill) {
  if (chain.batches.empty() || is_excluded(chain, prefill)) return;
  if (prefill) {
    if (prefill->batches.empty()) return;
    if (!space_.holds(prefill->role(0, 1), chain.role(0, 1))) return;
  }
  if (roots_.size() >= kMostRoots) {
    throw InputError(
        "serving: the choices leave more than " + std::to_string(kMostRoots) +
        " pairs of a structure that prefills and one that decodes, expected fewer of tensor, "
        "pipeline, attention_data, expert or chunk");
  }
  roots_.push_back({&chain, prefill, quick_value({space_, chain, prefill})});
}

/// The least joules for a request at any clock, from its share of the time of chips and its work.
// docs/energy.md (11)
double DeploymentSearch::least_energy(const DeploymentBox& box) const {
  const auto of_role = [](const Pool& pool, double chip_seconds, const EnergyWork& work) {
    if (!counts_energy(pool)) return chip_seconds * pool.power.in_base_units();
    return energy_bound(pool.machine.energy, Seconds(chip_seconds), work.sum()).in_base_units();
  };
  const Decoding decoding = box.decoding();
  const Pool& to = task_.pools[box.decode().pool];
  double chip_seconds = real(box.decode().chips()) / decoding.capacity;
  if (!box.prefill()) return of_role(to, chip_seconds, decoding.least_work);
  chip_seconds /= task_.utilization.decode;
  const Prefilling prefilling = box.prefilling();
  const double before =
      real(box.prefill()->chips()) / (task_.utilization.prefill * prefilling.capacity);
  return of_role(task_.pools[box.prefill()->pool], before, prefilling.work) +
         of_role(to, chip_seconds, decoding.least_work);
}

/// (25) of docs/serving.md, whatever the replicas are.
double DeploymentSearch::quick_value(const DeploymentBox& box) const {
  const Structure& decode = box.decode();
  const Pool& to = task_.pools[decode.pool];
  const double chips = real(decode.chips());
  const double steps = space_.means().steps;
  const Structure* prefill = box.prefill();
  const double ttft =
      prefill ? box.at_first().latency + task_.pools[prefill->pool].engine.answer.in_base_units()
              : box.least_ttft();
  switch (question_.objective) {
    case Objective::Interactivity:
      return box.least_tpot();
    case Objective::Ttft:
      return ttft;
    case Objective::E2e:
      return ttft + steps * box.least_tpot();
    case Objective::Fullness:
      return box.at_low().memory / to.usable().in_base_units();
    case Objective::Chips:
    case Objective::Throughput:
    case Objective::ThroughputPerChip:
    case Objective::Cost:
    case Objective::Energy:
    case Objective::Edp:
    case Objective::Front:
      break;
  }
  if (asks_energy(question_.objective)) {
    const double joules = least_energy(box);
    const bool by_energy = question_.objective == Objective::Energy;
    return by_energy ? joules / space_.means().output : joules * (ttft + steps * box.least_tpot());
  }
  const bool by_price = question_.objective == Objective::Cost ||
                        (question_.objective == Objective::Front && task_.front == FrontAxis::Cost);
  const auto weight = [&](const Pool& pool, double count) {
    return by_price ? count * pool.price / 3600.0 * 1e6 : count;
  };
  // Dollars or chips for a request a second on each side.
  double needed = 0.0;
  double there = real(to.chips);
  const double most = box.decoding().capacity;
  if (prefill) {
    const Pool& from = task_.pools[prefill->pool];
    needed += weight(from, real(prefill->chips())) /
              (task_.utilization.prefill * box.prefilling().capacity);
    needed += weight(to, chips) / (task_.utilization.decode * most);
    if (prefill->pool != decode.pool) there += real(from.chips);
  } else {
    needed = weight(to, chips) / most;
  }
  const double output = space_.means().output;
  if (question_.objective == Objective::Chips) return task_.rate ? needed * *task_.rate : chips;
  if (question_.objective == Objective::Throughput) {
    return task_.rate ? 1.0 / (*task_.rate * output) : needed / (output * there);
  }
  return needed / output;
}

/// False: nothing in it keeps the limits, or nothing is an answer that is not known.
bool DeploymentSearch::bound(Node& node) {
  LeastFigures& least = node.least;
  least = {.value = quick_value(node.box) * (1.0 - kRounding),
           .tpot = node.box.least_tpot(),
           .chips = 0,
           .first = {}};
  if (question_.has_floors && incumbents_.beats(least)) {
    close(Closed::Bound);
    return false;
  }
  least.value = least.tpot = kNever;
  least.chips = std::numeric_limits<std::int64_t>::max();
  Closed reason = Closed::Chips;
  PacedDeadline paced(limits_.deadline, kPairsBetweenLooks);
  node.box.each_count([&](std::int64_t x, std::int64_t y, const Figures& figures) {
    paced.check();
    if (!figures.feasible()) {
      reason = closed_by(*figures.broken.begin());
      broken_[static_cast<std::size_t>(*figures.broken.begin())].store(true);
      return;
    }
    if (least.value == kNever) least.first = node.box.deployment(x, y);
    least.chips = std::min(least.chips, figures.chips);
    least.tpot = std::min(least.tpot, figures.tpot);
    least.value = std::min(least.value, value_of(question_.objective, task_.front, figures));
  });
  if (least.value == kNever) {
    close(reason);
    return false;
  }
  if (question_.to_the_bit) least.value *= 1.0 - kRounding;
  if (!question_.has_floors || !incumbents_.beats(least)) return true;
  close(Closed::Bound);
  return false;
}

void DeploymentSearch::offer(const Deployment& deployment, const Figures& figures) {
  if (!figures.feasible()) return;
  const double value = value_of(question_.objective, task_.front, figures);
  // A queue without end is no answer.
  if (!(value < kNever)) return;
  if (!incumbents_.add({deployment, figures, value})) return;
  improvements_.fetch_add(1);
  if (on_incumbent_) on_incumbent_(progress(), deployment);
}

void DeploymentSearch::leaf(const Node& node) {
  leaves_.fetch_add(1, std::memory_order_relaxed);
  PacedDeadline paced(limits_.deadline, kPairsBetweenLooks);
  node.box.each_count([&](std::int64_t x, std::int64_t y, const Figures& figures) {
    paced.check();
    offer(node.box.deployment(x, y), figures);
  });
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
  node.least = {.value = node.quick, .tpot = node.box.least_tpot(), .chips = 0, .first = {}};
  leave_open(node);
}

/// Depth first, the better half first.
void DeploymentSearch::search(const Root& root, std::size_t worker) {
  at_work_[worker] = root.quick;
  std::vector<Node> stack = {{{space_, *root.chain, root.prefill}, LeastFigures{}, root.quick}};
  while (!stack.empty()) {
    Node node = stack.back();
    stack.pop_back();
    if (is_over()) {
      node.least.value > 0.0 ? leave_open(node) : leave_unbounded(node);
      continue;
    }
    nodes_.fetch_add(1, std::memory_order_relaxed);
    try {
      if (!bound(node)) continue;
      if (node.box.is_single()) {
        leaf(node);
        continue;
      }
    } catch (const Stopped&) {
      leave_unbounded(node);
      static_cast<void>(is_over());  // it keeps the reason
      continue;
    }
    const auto [lower, upper] = node.box.halves();
    Node below{lower, node.least, node.quick}, above{upper, node.least, node.quick};
    const bool fast = question_.objective == Objective::Interactivity ||
                      question_.objective == Objective::Ttft ||
                      question_.objective == Objective::E2e;
    if (fast) std::swap(below, above);
    stack.push_back(below);
    stack.push_back(above);
  }
  at_work_[worker] = kNever;
}

/// Whether its value alone is worse than the best one.
bool DeploymentSearch::is_beaten(const Root& root) const {
  return question_.has_floors && question_.objective != Objective::Front &&
         incumbents_.best_value() < root.quick * (1.0 - kRounding) * (1.0 - kTie);
}

void DeploymentSearch::start_from(const Deployment& deployment) {
  if (ruled_out(task_, deployment).empty()) offer(deployment, evaluate(task_, deployment));
}

void DeploymentSearch::run() {
  std::exception_ptr thrown;
  const auto work = [&](std::size_t worker) {
    try {
      for (std::size_t i = next_++; i < roots_.size(); i = next_++) {
        if (is_beaten(roots_[i])) {
          // All roots that follow are beaten as well.
          const std::size_t next = std::min(next_.exchange(roots_.size()), roots_.size());
          const std::size_t left = roots_.size() - next + 1;
          closed_[static_cast<std::size_t>(Closed::Bound)] += static_cast<std::int64_t>(left);
          break;
        }
        search(roots_[i], worker);
      }
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
