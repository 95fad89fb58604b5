// Nodes are intervals of the batch of one structure, or of a pair of structures that prefill and
// decode.  In an interval the time per token is least at its low end and the capacity greatest at
// its high end, which gives an ideal point; a node whose ideal point is no better than the
// incumbents is closed, all others are halved.  Branch and bound: Land and Doig, Econometrica 1960;
// with two objectives and ideal points: Ehrgott, Multicriteria Optimization, 2005.

#include "engine/serving/deployment_search.hpp"

#include <algorithm>
#include <exception>
#include <thread>
#include <utility>

#include "base/error.hpp"

namespace dfsearch::serving {
namespace {

// Some milliseconds.
constexpr std::int64_t kPairsBetweenChecks = 1 << 15;
/// Limit of the counts of replicas that are tried for an interval of batches while no answer is
/// known.
constexpr double kMostCounts = 1 << 10;

/// The reason why an interval is closed if each of its deployments breaks a limit.
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
      is_free_(!task_.rate && !task_.limits.any()),
      quick_(task_, space.means(), question_.objective),
      roots_(space, quick_),
      at_work_(static_cast<std::size_t>(std::max(threads, 1))) {
  for (auto& bound : at_work_) bound = kNever;
  const auto wants = [&](Mode mode) { return question_.mode.value_or(mode) == mode; };
  if (wants(Mode::Aggregated)) {
    for (const Chain& chain : space.aggregated()) {
      if (!chain.batches.empty()) roots_.add_aggregated(chain);
    }
  }
  if (wants(Mode::Disaggregated)) roots_.add_pairs(space.decoders(), space.prefillers());
}

bool DeploymentSearch::is_excluded(const Root& root) const {
  return std::any_of(
      question_.excluded.begin(), question_.excluded.end(), [&](const Deployment& known) {
        const bool pair = known.mode == Mode::Disaggregated;
        return pair == (root.prefill != nullptr) &&
               known.decode.structure == root.chain->decoder->structure() &&
               (!pair || known.prefill.structure == root.prefill->prefiller->structure());
      });
}

/// The numbers of replicas whose value may be as good as the best one.
CountWindow DeploymentSearch::window_of(const SideBound& decode, const SideBound& prefill) const {
  return quick_.window(decode, prefill,
                       question_.has_floors ? incumbents_.most_value(decode.tpot) : kNever);
}

/// Bounds the node; returns false if all its deployments break a limit, or none can be a better
/// answer.
bool DeploymentSearch::bound(Node& node) {
  LeastFigures& least = node.least;
  const auto [decode, prefill] = quick_.sides(node.box);
  const double there = quick_.chips_there(node.box.decode(), node.box.prefill());
  least = {.value = quick_.value(decode, prefill, there) * (1.0 - kRounding),
           .tpot = decode.tpot,
           .chips = decode.chips + prefill.chips,
           .first = {}};
  if (question_.has_floors && incumbents_.beats(least)) {
    close(Closed::Bound);
    return false;
  }
  const auto window = [&, &one = decode, &other = prefill] { return window_of(one, other); };
  // If there are many counts and no known answer rules some out, they are tried at single batches
  // only.
  if (is_free_ && !node.box.is_single() && node.box.counts() > kMostCounts &&
      !(incumbents_.most_value(least.tpot) < kNever)) {
    return true;
  }
  least.value = least.tpot = kNever;
  least.chips = std::numeric_limits<std::int64_t>::max();
  // No deployment with counts outside the window is as good as the best answer.
  Closed reason = incumbents_.most_value(decode.tpot) < kNever ? Closed::Bound : Closed::Chips;
  PacedDeadline paced(limits_.deadline, kPairsBetweenChecks);
  node.box.each_count(window, [&](std::int64_t x, std::int64_t y, const Figures& figures) {
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
  // A deployment with an infinite queue is no answer.
  if (!(value < kNever)) return;
  if (!incumbents_.add({deployment, figures, value})) return;
  improvements_.fetch_add(1);
  if (on_incumbent_) on_incumbent_(progress(), deployment);
}

void DeploymentSearch::leaf(const Node& node) {
  leaves_.fetch_add(1, std::memory_order_relaxed);
  PacedDeadline paced(limits_.deadline, kPairsBetweenChecks);
  const auto [decode, prefill] = quick_.sides(node.box);
  const auto window = [&, &one = decode, &other = prefill] { return window_of(one, other); };
  node.box.each_count(window, [&](std::int64_t x, std::int64_t y, const Figures& figures) {
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
      static_cast<void>(is_over());  // stores the reason
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

void DeploymentSearch::start_from(const Deployment& deployment) {
  if (ruled_out(task_, deployment).empty()) offer(deployment, evaluate(task_, deployment));
}

void DeploymentSearch::run() {
  std::exception_ptr thrown;
  const auto is_beaten = [this](const LeastFigures& least) {
    return question_.has_floors && incumbents_.beats(least);
  };
  const auto work = [&](std::size_t worker) {
    try {
      std::int64_t closed = 0;
      while (!is_over()) {
        const std::optional<Root> root = roots_.pop(is_beaten, closed);
        if (!root) break;
        if (!is_excluded(*root)) search(*root, worker);
      }
      closed_[static_cast<std::size_t>(Closed::Bound)] += closed;
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!thrown) thrown = std::current_exception();
      stopped_by_.store(StopReason::Signal);
    }
  };
  std::vector<std::jthread> others;
  const auto useful = static_cast<std::size_t>(std::min<std::int64_t>(threads_, roots_.size()));
  for (std::size_t i = 1; i < useful; ++i) others.emplace_back(work, i);
  work(0);
  others.clear();
  if (thrown) std::rethrow_exception(thrown);
  if (stopped_by_.load() != StopReason::None) {
    for (const LeastFigures& root : roots_.left()) open_.push_back(root);
  }
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
  progress.open = roots_.size();
  const double best = incumbents_.best_value();
  if (best < kNever) {
    progress.incumbent = Score(best);
    progress.found_by = 'B';
  }
  if (question_.objective == Objective::Front) return progress;
  double bound = std::min(best, roots_.least());
  for (const auto& at_work : at_work_) bound = std::min(bound, at_work.load());
  if (bound < kNever) progress.lower_bound = Score(bound);
  return progress;
}

}  // namespace dfsearch::serving
