#pragma once
// Branch and bound over intervals of batches (docs/serving.md, section 6).

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

#include "engine/serving/deployment_space.hpp"
#include "engine/serving/find_deployment.hpp"
#include "engine/serving/incumbents.hpp"
#include "engine/serving/quick_bound.hpp"
#include "engine/serving/root_queue.hpp"

namespace dfsearch::serving {

/// One search over a space.  `run` is called once; any thread may call `progress`.
class DeploymentSearch {
 public:
  /// A question about the space.  Structures of the deployments in `excluded` are left out.
  struct Question {
    Objective objective;
    std::optional<Mode> mode;  ///< nothing: all
    std::vector<Deployment> excluded;
    bool has_floors = true;   ///< close intervals by their bound
    bool to_the_bit = false;  ///< find the least value itself, not a value that ties with it
  };

  DeploymentSearch(const DeploymentSpace& space, Question question, const dfsearch::Limits& limits,
                   int threads);

  /// A known deployment; it is ignored if it is ruled out or breaks a limit.
  void start_from(const Deployment& deployment);
  void on_incumbent(std::function<void(const Progress&, const Deployment&)> call) {
    on_incumbent_ = std::move(call);
  }
  void run();

  [[nodiscard]] const Incumbents& incumbents() const { return incumbents_; }
  [[nodiscard]] StopReason stopped_by() const { return stopped_by_.load(); }
  /// Lower bound on the values of all deployments: the least of the best value and the bounds of
  /// open intervals.
  [[nodiscard]] double lower_bound() const;
  /// Greatest relative distance of the answer from the optimum; for a front the greatest at any
  /// speed.
  [[nodiscard]] double gap() const;
  [[nodiscard]] std::int64_t nodes() const { return nodes_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::int64_t leaves() const { return leaves_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::int64_t improvements() const { return improvements_.load(); }
  [[nodiscard]] std::array<std::int64_t, kClosed> closed() const;
  /// Whether this limit was the first that some deployment or interval broke.
  [[nodiscard]] bool broke(Broken limit) const {
    return broken_[static_cast<std::size_t>(limit)].load();
  }
  [[nodiscard]] Progress progress() const;

 private:
  struct Node {
    DeploymentBox box;
    LeastFigures least;
    double quick = 0.0;  ///< a lower bound on the value for any counts of replicas
  };
  [[nodiscard]] bool is_excluded(const Root& root) const;
  [[nodiscard]] CountWindow window_of(const SideBound& decode, const SideBound& prefill) const;
  [[nodiscard]] bool bound(Node& node);
  void leaf(const Node& node);
  void offer(const Deployment& deployment, const Figures& figures);
  void search(const Root& root, std::size_t worker);
  [[nodiscard]] bool is_over();
  void leave_open(const Node& node);
  void leave_unbounded(Node& node);  // for a node whose own bound is incomplete
  void close(Closed reason) { closed_[static_cast<std::size_t>(reason)].fetch_add(1); }

  const DeploymentSpace& space_;
  const Task& task_;
  const Question question_;
  const dfsearch::Limits limits_;
  const int threads_;
  Incumbents incumbents_;
  std::function<void(const Progress&, const Deployment&)> on_incumbent_;
  const bool is_free_;  ///< the task has neither a rate nor limits
  const QuickBound quick_;
  RootQueue roots_;
  std::vector<std::atomic<double>> at_work_;  // by worker: the bound of its root, or infinity
  std::atomic<std::int64_t> nodes_ = 0, leaves_ = 0, improvements_ = 0;
  std::array<std::atomic<std::int64_t>, kClosed> closed_{};
  std::array<std::atomic<bool>, kBroken> broken_{};
  std::atomic<StopReason> stopped_by_ = StopReason::None;
  mutable std::mutex mutex_;        // guards the members below
  std::vector<LeastFigures> open_;  // intervals that were open when the search was stopped
};

}  // namespace dfsearch::serving
