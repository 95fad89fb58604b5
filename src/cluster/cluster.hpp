#pragma once
// The points of a study on many machines.

#include <functional>
#include <string>

#include "study/point_answer.hpp"
#include "study/point_source.hpp"
#include "study/run_points.hpp"

namespace dfsearch::study {

/// The processes that work on one study together: rank 0 hands out points, all solve them.  One
/// object a process, used by the thread that made it.
class Cluster {
 public:
  Cluster() = default;
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;
  /// Rank 0 sends the others home, if it has not yet.
  virtual ~Cluster() = default;

  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;

  /// Of rank 0: like run_points, with the threads of each rank.  `read` is what `write` of the other
  /// ranks needs to come back as an answer.
  virtual bool run(PointSource& source, const SolvePoint& solve,
                   const std::function<PointAnswer(const std::string&)>& read,
                   const RunOptions& options) = 0;

  /// Of the others: waits until rank 0 begins; false if it never does.
  virtual bool wait_for_begin() = 0;
  /// Solves points until rank 0 has no more.  Once the deadline has passed, of this rank alone as
  /// it may be, what it cut short is left to other ranks.
  virtual void serve(const SolvePoint& solve,
                     const std::function<std::string(const PointAnswer&)>& write, int threads,
                     const Deadline& deadline) = 0;
};

}  // namespace dfsearch::study

/// The one function of the module that is loaded where MPI has started the program.  The caller owns
/// what it returns.
extern "C" dfsearch::study::Cluster* dfsearch_open_cluster();
