// Rank 0 has the source of points and a list of lanes that can take more.  It sends out points, to
// its own lanes as well, and receives answers as they come; between two checks it sleeps for a
// moment, which leaves its core to its lanes.  Rank 0 makes all decisions, so all ranks share one
// front.  Only the thread that opened the cluster calls MPI.

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <deque>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cluster/cluster.hpp"
#include "study/lanes.hpp"

namespace dfsearch::study {
namespace {

enum Tag : int { kBegin, kPoint, kAnswer, kEnd };

/// Requests of rank 0 to a rank.
struct Order {
  std::int64_t point = 0;
  std::int64_t whole = 0;
};

constexpr auto kPause = std::chrono::microseconds(100);
// Several, so that no lane waits for the next point while its answer is on the way.
constexpr int kPointsOfALane = 4;

/// Number of further points that each rank can take.
class Desk {
 public:
  explicit Desk(std::vector<int> places) : places_(places), free_(std::move(places)) {}

  /// The rank with the most free places; with `whole` a rank whose places are all free.
  [[nodiscard]] std::optional<int> rank(bool whole) const {
    std::optional<int> best;
    for (std::size_t r = 0; r < free_.size(); ++r) {
      if (whole ? free_[r] < places_[r] || places_[r] == 0 : free_[r] == 0) continue;
      if (!best || free_[r] > free_[static_cast<std::size_t>(*best)]) best = static_cast<int>(r);
    }
    return best;
  }
  void occupy(int rank, bool whole) {
    int& free = free_[static_cast<std::size_t>(rank)];
    free -= whole ? free : 1;
    ++at_work_;
  }
  void release(int rank, bool whole) {
    int& free = free_[static_cast<std::size_t>(rank)];
    const int places = places_[static_cast<std::size_t>(rank)];
    free = whole ? places : std::min(free + 1, places);  // none after its retirement
    --at_work_;
  }
  /// Takes all places from a rank that gave back a point.
  void retire(int rank) {
    places_[static_cast<std::size_t>(rank)] = free_[static_cast<std::size_t>(rank)] = 0;
    --at_work_;
  }
  [[nodiscard]] int at_work() const { return at_work_; }

 private:
  std::vector<int> places_;
  std::vector<int> free_;
  int at_work_ = 0;
};

class MpiCluster : public Cluster {
 public:
  MpiCluster() {
    int provided = 0;
    if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS ||
        provided < MPI_THREAD_FUNNELED) {
      throw std::runtime_error("MPI does not allow threads beside the one that uses it");
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
  }

  ~MpiCluster() override {
    if (rank_ == 0) send_home();
    MPI_Finalize();
  }

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return size_; }

  bool run(PointSource& source, const SolvePoint& solve,
           const std::function<PointAnswer(const std::string&)>& read,
           const RunOptions& options) override;
  bool wait_for_begin() override;
  void serve(const SolvePoint& solve, const std::function<std::string(const PointAnswer&)>& write,
             int threads, const Deadline& deadline) override;

 private:
  struct Run;

  void work(const SolvePoint& solve, const std::function<std::string(const PointAnswer&)>& write,
            int threads, const Deadline& deadline);
  void send_home() {
    if (is_home_) return;
    is_home_ = true;
    for (int r = 1; r < size_; ++r) MPI_Send(nullptr, 0, MPI_BYTE, r, kEnd, MPI_COMM_WORLD);
  }

  int rank_ = 0;
  int size_ = 1;
  bool is_home_ = false;
};

/// A message that has arrived, if there is one.
struct Message {
  int from = 0;
  int tag = 0;
  std::string bytes;
};

std::optional<Message> receive(bool wait) {
  MPI_Status status;
  int there = 0;
  if (wait) {
    MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
  } else {
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &there, &status);
    if (there == 0) return std::nullopt;
  }
  int size = 0;
  MPI_Get_count(&status, MPI_BYTE, &size);
  Message message{status.MPI_SOURCE, status.MPI_TAG,
                  std::string(static_cast<std::size_t>(size), ' ')};
  MPI_Recv(message.bytes.data(), size, MPI_BYTE, message.from, message.tag, MPI_COMM_WORLD,
           MPI_STATUS_IGNORE);
  return message;
}

/// How the search of a point ended, which the line of its answer does not contain.
enum Ending : char { kWhole = '0', kByEffort = '1', kCutShort = '2' };

std::string packed(const PointAnswer& answer, bool cut_short, const std::string& text) {
  const Ending ending = cut_short ? kCutShort : answer.stopped_by_effort ? kByEffort : kWhole;
  return static_cast<char>(ending) + text;
}

/// Rank 0 at work.
struct MpiCluster::Run {
  PointSource& source;
  const SolvePoint& solve;
  const std::function<PointAnswer(const std::string&)>& read;
  const RunOptions& options;
  Desk desk;
  Lanes lanes{solve, options.threads, options.threads};
  std::deque<PointIndex> later{};      // that need more effort
  std::deque<PointIndex> returned{};   // by ranks that have to end
  std::vector<PointIndex> whole_of{};  // by rank: the point that has all of its lanes, or -1
  bool has_more = true;

  bool run() {
    for (;;) {
      const bool over = options.deadline.has_passed();
      bool moved = !over && hand_out();
      while (std::optional<PointAnswer> answer = lanes.take()) {
        take(0, *answer);
        moved = true;
      }
      while (const std::optional<Message> message = receive(false)) {
        PointAnswer answer = read(message->bytes.substr(1));
        answer.stopped_by_effort = message->bytes[0] == kByEffort;
        if (message->bytes[0] == kCutShort) {
          take_back(message->from, answer.index);
        } else {
          take(message->from, answer);
        }
        moved = true;
      }
      if (desk.at_work() == 0 && (over || (!has_more && later.empty() && returned.empty()))) {
        return !over;
      }
      if (!moved) std::this_thread::sleep_for(kPause);
    }
  }

  /// Gives points to all free lanes; returns true if there was one.
  bool hand_out() {
    bool moved = false;
    while (const std::optional<int> rank = desk.rank(false)) {
      const std::optional<PointIndex> point = next();
      if (!point) break;
      give(*rank, *point, false);
      moved = true;
    }
    // Long points wait until no short one is at work.
    const bool only_long = !has_more && desk.at_work() == long_at_work();
    while (only_long && !later.empty()) {
      const std::optional<int> rank = desk.rank(true);
      if (!rank) break;
      give(*rank, later.front(), true);
      later.pop_front();
      moved = true;
    }
    return moved;
  }

  std::optional<PointIndex> next() {
    if (!returned.empty()) {
      const PointIndex point = returned.front();
      returned.pop_front();
      return point;
    }
    const std::optional<PointIndex> point = source.next();
    has_more = point.has_value();
    return point;
  }

  /// A rank that has to end gives a point back, and gets no further ones.
  void take_back(int rank, PointIndex point) {
    PointIndex& of_all = whole_of[static_cast<std::size_t>(rank)];
    (of_all == point ? later : returned).push_back(point);
    if (of_all == point) of_all = -1;
    desk.retire(rank);
  }

  [[nodiscard]] int long_at_work() const {
    int count = 0;
    for (const PointIndex point : whole_of) count += point >= 0 ? 1 : 0;
    return count;
  }

  void give(int rank, PointIndex point, bool whole) {
    desk.occupy(rank, whole);
    if (whole) whole_of[static_cast<std::size_t>(rank)] = point;
    if (rank == 0) return lanes.put(point, whole);
    const Order order{point, whole ? 1 : 0};
    MPI_Send(&order, sizeof order, MPI_BYTE, rank, kPoint, MPI_COMM_WORLD);
  }

  void take(int rank, const PointAnswer& answer) {
    PointIndex& of_all = whole_of[static_cast<std::size_t>(rank)];
    const bool whole = of_all == answer.index;
    if (whole) of_all = -1;
    desk.release(rank, whole);
    if (answer.stopped_by_effort && source.wants(answer)) {
      later.push_back(answer.index);
      return;
    }
    // Points that the deadline stopped are left to the next run, even if proved: the row would
    // differ.
    if (answer.stopped_by_clock && options.deadline.has_passed()) return;
    has_more = true;  // the answer may open further boxes
    source.take(answer);
    if (!answer.stopped_by_effort && options.on_answer) options.on_answer(answer);
  }
};

bool MpiCluster::run(PointSource& source, const SolvePoint& solve,
                     const std::function<PointAnswer(const std::string&)>& read,
                     const RunOptions& options) {
  std::vector<int> places{options.threads * kPointsOfALane};
  for (int r = 1; r < size_; ++r) {
    MPI_Send(nullptr, 0, MPI_BYTE, r, kBegin, MPI_COMM_WORLD);
    places.push_back(options.threads * kPointsOfALane);
  }
  Run run{source, solve, read, options, Desk(places)};
  run.whole_of.assign(static_cast<std::size_t>(size_), -1);
  const bool done = run.run();
  send_home();
  return done;
}

bool MpiCluster::wait_for_begin() { return receive(true)->tag == kBegin; }

void MpiCluster::serve(const SolvePoint& solve,
                       const std::function<std::string(const PointAnswer&)>& write, int threads,
                       const Deadline& deadline) {
  try {
    work(solve, write, threads, deadline);
  } catch (...) {
    // Otherwise rank 0 would wait forever for the answer.
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

void MpiCluster::work(const SolvePoint& solve,
                      const std::function<std::string(const PointAnswer&)>& write, int threads,
                      const Deadline& deadline) {
  Lanes lanes(solve, threads, threads);
  for (;;) {
    bool moved = false;
    while (const std::optional<Message> message = receive(false)) {
      if (message->tag == kEnd) return;
      Order order;
      std::memcpy(&order, message->bytes.data(), sizeof order);
      lanes.put(order.point, order.whole != 0);
      moved = true;
    }
    while (const std::optional<PointAnswer> answer = lanes.take()) {
      const bool cut_short = answer->stopped_by_clock && deadline.has_passed();
      const std::string bytes = packed(*answer, cut_short, write(*answer));
      MPI_Send(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, 0, kAnswer, MPI_COMM_WORLD);
      moved = true;
    }
    if (!moved) std::this_thread::sleep_for(kPause);
  }
}

}  // namespace
}  // namespace dfsearch::study

extern "C" dfsearch::study::Cluster* dfsearch_open_cluster() {
  return new dfsearch::study::MpiCluster();
}
