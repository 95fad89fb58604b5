// Random sequences of calls on the open nodes, beside a twin that keeps everything in a list.
// One thread plays all workers, so a call that would wait is not made.

#include <doctest/doctest.h>
#include <rapidcheck/state.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <ostream>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "engine/tree/open_nodes.hpp"
#include "support/check_property.hpp"

namespace dfsearch {
namespace {

using Nodes = OpenNodes<int>;
using Entries = std::vector<Nodes::Entry>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// A plain model of the open nodes.
struct Twin {
  struct Open {
    double bound;
    int node;
  };

  explicit Twin(std::size_t workers) : held(workers) {}

  std::vector<Open> open;                   // in the order in which they were handed in
  std::vector<std::optional<double>> held;  // by each worker
  std::vector<double> popped;               // since the last release
  int next_node = 0;
  bool begun = false;  // something was pushed
  bool away = false;   // `open` was taken
  bool closed = false;

  void put(const std::vector<double>& bounds) {
    for (const double bound : bounds) open.push_back({bound, next_node++});
  }

  /// The one that comes next: of least bound, among those the newest.
  [[nodiscard]] const Open& first() const {
    const Open* best = &open.front();
    for (const Open& other : open) {
      if (other.bound <= best->bound) best = &other;
    }
    return *best;
  }

  Open take() {
    const Open taken = first();
    std::erase_if(open, [&](const Open& other) { return other.node == taken.node; });
    return taken;
  }

  [[nodiscard]] bool any_held() const {
    return std::any_of(held.begin(), held.end(), [](const auto& bound) { return bound; });
  }

  [[nodiscard]] double lower_bound() const {
    if (!begun) return 0.0;
    double least = kInfinity;
    for (const Open& other : open) least = std::min(least, other.bound);
    for (const auto& bound : held) least = std::min(least, bound.value_or(kInfinity));
    for (const double bound : popped) least = std::min(least, bound);
    return least;
  }
};

struct Real {
  explicit Real(std::size_t workers) : nodes(static_cast<int>(workers)) {}
  Nodes nodes;
  Entries away;
};

using Command = rc::state::Command<Twin, Real>;

Entries entries(const Twin& before, const std::vector<double>& bounds) {
  Entries made;
  for (const double bound : bounds) {
    made.push_back({.bound = Score(bound),
                    .sequence = 0,
                    .node = before.next_node + static_cast<int>(made.size())});
  }
  return made;
}

/// A few bounds out of few, so that many are equal.
std::vector<double> some_bounds() {
  const auto numbers =
      *rc::gen::resize(5, rc::gen::container<std::vector<int>>(rc::gen::resize(
                              100, rc::gen::elementOf(std::vector<int>{0, 1, 1, 2, 3, 3, 4, 9}))));
  std::vector<double> bounds;
  for (const int number : numbers) bounds.push_back(number == 9 ? kInfinity : number);
  return bounds;
}

void check_alike(const Twin& twin, const Real& real) {
  RC_ASSERT(real.nodes.lower_bound() == Score(twin.lower_bound()));
  RC_ASSERT(real.nodes.size() == twin.open.size());
}

void check_taken(const std::optional<Nodes::Entry>& taken, const std::optional<Twin::Open>& twin) {
  RC_ASSERT(taken.has_value() == twin.has_value());
  if (!taken) return;
  RC_ASSERT(taken->node == twin->node);
  RC_ASSERT(taken->bound == Score(twin->bound));
}

class Push : public Command {
 public:
  // What is pushed while the nodes are away would be lost when they come back; nobody does.
  void checkPreconditions(const Twin& twin) const override { RC_PRE(!twin.away); }
  void apply(Twin& twin) const override {
    twin.put(bounds_);
    twin.begun = true;
  }
  void run(const Twin& twin, Real& real) const override {
    Entries produced = entries(twin, bounds_);
    real.nodes.push(produced);
    RC_ASSERT(produced.empty());
    check_alike(nextState(twin), real);
  }
  void show(std::ostream& out) const override { out << "push " << rc::toString(bounds_); }

 private:
  std::vector<double> bounds_ = some_bounds();
};

class Exchange : public Command {
 public:
  explicit Exchange(const Twin& twin)
      : worker_(*rc::gen::resize(100, rc::gen::inRange<std::size_t>(0, twin.held.size()))) {}

  void checkPreconditions(const Twin& twin) const override { RC_PRE(can_be_called(twin)); }
  void apply(Twin& twin) const override { static_cast<void>(step(twin)); }
  void run(const Twin& twin, Real& real) const override {
    Entries produced = entries(twin, bounds_);
    const auto taken = real.nodes.exchange(static_cast<int>(worker_), produced);
    RC_ASSERT(produced.empty());
    Twin after = twin;
    check_taken(taken, step(after));
    check_alike(after, real);
  }
  void show(std::ostream& out) const override {
    out << "worker " << worker_ << " hands in " << rc::toString(bounds_);
  }

 private:
  [[nodiscard]] bool can_be_called(const Twin& twin) const {
    if (!twin.begun || twin.away || !twin.popped.empty()) return false;
    // Who holds nothing has nothing to hand in.
    if (!twin.held[worker_] && !bounds_.empty()) return false;
    Twin after = twin;
    after.held[worker_].reset();
    after.put(bounds_);
    if (after.closed) return true;
    return !after.open.empty() || !after.any_held();  // else it waits
  }

  std::optional<Twin::Open> step(Twin& twin) const {
    twin.held[worker_].reset();
    twin.put(bounds_);
    if (twin.open.empty() && !twin.any_held()) twin.closed = true;
    if (twin.closed) return std::nullopt;
    const Twin::Open taken = twin.take();
    twin.held[worker_] = taken.bound;
    return taken;
  }

  std::size_t worker_;
  std::vector<double> bounds_ = some_bounds();
};

class Pop : public Command {
 public:
  void checkPreconditions(const Twin& twin) const override {
    RC_PRE(!twin.away);
    RC_PRE(!twin.any_held());
  }
  void apply(Twin& twin) const override { static_cast<void>(step(twin)); }
  void run(const Twin& twin, Real& real) const override {
    Twin after = twin;
    check_taken(real.nodes.pop(), step(after));
    check_alike(after, real);
  }
  void show(std::ostream& out) const override { out << "pop"; }

 private:
  static std::optional<Twin::Open> step(Twin& twin) {
    if (twin.open.empty()) return std::nullopt;
    const Twin::Open taken = twin.take();
    twin.popped.push_back(taken.bound);
    return taken;
  }
};

class Release : public Command {
 public:
  void checkPreconditions(const Twin& twin) const override { RC_PRE(!twin.any_held()); }
  void apply(Twin& twin) const override { twin.popped.clear(); }
  void run(const Twin& twin, Real& real) const override {
    real.nodes.release();
    check_alike(nextState(twin), real);
  }
  void show(std::ostream& out) const override { out << "release"; }
};

class TakeAll : public Command {
 public:
  void checkPreconditions(const Twin& twin) const override {
    // A macro of conditions joined by && would evaluate all of them.
    RC_PRE(twin.begun);
    RC_PRE(!twin.away);
    RC_PRE(!twin.any_held());
    RC_PRE(twin.popped.empty());
  }
  void apply(Twin& twin) const override { twin.away = true; }
  void run(const Twin& twin, Real& real) const override {
    real.away = real.nodes.take_all();
    RC_ASSERT(real.away.size() == twin.open.size());
    for (std::size_t i = 0; i < real.away.size(); ++i) check_taken(real.away[i], twin.open[i]);
    check_alike(nextState(twin), real);
  }
  void show(std::ostream& out) const override { out << "take all"; }
};

class PutBack : public Command {
 public:
  void checkPreconditions(const Twin& twin) const override { RC_PRE(twin.away); }
  void apply(Twin& twin) const override { twin.away = twin.closed = false; }
  void run(const Twin& twin, Real& real) const override {
    real.nodes.put_back(std::exchange(real.away, {}));
    check_alike(nextState(twin), real);
  }
  void show(std::ostream& out) const override { out << "put back"; }
};

class DiscardAbove : public Command {
 public:
  void checkPreconditions(const Twin& twin) const override { RC_PRE(!twin.away); }
  void apply(Twin& twin) const override { static_cast<void>(step(twin)); }
  void run(const Twin& twin, Real& real) const override {
    Twin after = twin;
    RC_ASSERT(real.nodes.discard_above(Score(cutoff_)) == step(after));
    check_alike(after, real);
  }
  void show(std::ostream& out) const override { out << "discard above " << cutoff_; }

 private:
  [[nodiscard]] std::int64_t step(Twin& twin) const {
    if (twin.open.empty() || !(twin.first().bound > cutoff_)) return 0;
    const auto count = static_cast<std::int64_t>(twin.open.size());
    twin.open.clear();
    return count;
  }

  double cutoff_ = *rc::gen::resize(100, rc::gen::inRange(0, 6));
};

class Close : public Command {
 public:
  void apply(Twin& twin) const override { twin.closed = true; }
  void run(const Twin& twin, Real& real) const override {
    real.nodes.close();
    check_alike(nextState(twin), real);
  }
  void show(std::ostream& out) const override { out << "close"; }
};

}  // namespace

TEST_CASE("open nodes are those of a list that is sorted each time") {
  test::check_property(
      [] {
        const auto workers = *rc::gen::resize(100, rc::gen::inRange<std::size_t>(1, 5));
        Real real(workers);
        const Twin twin(workers);
        check_alike(twin, real);
        // Commands that keep a search going come more often than commands that end it.
        rc::state::check(
            twin, real,
            rc::state::gen::execOneOfWithArgs<Push, Exchange, Exchange, Exchange, Exchange, Pop,
                                              Pop, Release, Release, TakeAll, PutBack, PutBack,
                                              DiscardAbove, Close>());
      },
      1000);
}

// Behaviour that one thread cannot show: workers wait until others hand in nodes or all is done.
TEST_CASE("no worker leaves while another one may still hand in nodes") {
  constexpr int kWorkers = 4;
  constexpr std::size_t kNodes = 2000;
  constexpr std::size_t kChain = 300;  // in which all but one worker wait
  std::mt19937_64 random(1);
  for (int round = 0; round < 20; ++round) {
    std::vector<std::vector<int>> children(kNodes);
    for (std::size_t node = 1; node < kNodes; ++node) {
      const std::size_t parent = node < kChain ? node - 1 : random() % node;
      children[parent].push_back(static_cast<int>(node));
    }
    Nodes nodes(kWorkers);
    Entries root = entries(Twin(kWorkers), {1.0});
    nodes.push(root);
    std::vector<std::atomic<int>> taken(kNodes);
    std::vector<std::thread> workers;
    for (int worker = 0; worker < kWorkers; ++worker) {
      workers.emplace_back([&, worker] {
        Entries produced;
        while (const auto entry = nodes.exchange(worker, produced)) {
          const auto node = static_cast<std::size_t>(entry->node);
          ++taken[node];
          for (const int child : children[node]) {
            produced.push_back({.bound = Score(child % 7), .sequence = 0, .node = child});
          }
        }
      });
    }
    for (std::thread& worker : workers) worker.join();
    for (std::size_t node = 0; node < kNodes; ++node) {
      CAPTURE(node);
      REQUIRE(taken[node] == 1);
    }
    CHECK(nodes.size() == 0);
    CHECK(nodes.lower_bound() == Score::infinity());
  }
}

TEST_CASE("open nodes are visited in place, and given away without being destroyed") {
  MemoryBudget budget;
  Nodes nodes(1);
  Entries some;
  for (const double bound : {3.0, 1.0, 2.0}) {
    some.push_back({.bound = Score(bound), .node = 1, .memory = MemoryCharge(&budget, 10)});
  }
  nodes.push(some);
  double sum = 0.0;
  nodes.for_each(
      [&](Score bound, const Nodes::Entry& entry) { sum += bound.in_base_units() * entry.node; });
  CHECK(sum == 6.0);
  std::shared_ptr<const void> left = nodes.leave();
  CHECK(nodes.size() == 0);
  CHECK(budget.used() == Bytes(30.0));
  left.reset();
  CHECK(budget.used() == Bytes{});
}

}  // namespace dfsearch
