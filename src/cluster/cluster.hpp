#pragma once
// The points of a study on many machines.

#include <functional>
#include <string>

#include "study/point_answer.hpp"
#include "study/point_source.hpp"

namespace dfsearch::study {

/// The processes that work on one study together: rank 0 hands out points, all solve them.  Each
/// process has one object, used by the thread that made it.
class Cluster {
 public:
  Cluster() = default;
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;
  /// Rank 0 ends the other ranks, if it has not yet.
  virtual ~Cluster() = default;

  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;

  /// Called by rank 0: run_points with the threads of all ranks.  `read` turns the text that
  /// `write` of another rank made back into an answer.
  virtual bool run(PointSource& source, const SolvePoint& solve,
                   const std::function<PointAnswer(const std::string&)>& read,
                   const RunOptions& options) = 0;

  /// The other ranks wait here until rank 0 begins; false if it never does.
  virtual bool wait_for_begin() = 0;
  /// Solves points until rank 0 has no more.  Points that the deadline stops are left to other
  /// ranks, as it may be the deadline of this rank alone.
  virtual void serve(const SolvePoint& solve,
                     const std::function<std::string(const PointAnswer&)>& write, int threads,
                     const Deadline& deadline) = 0;
};

}  // namespace dfsearch::study

/// The only function of the module, which is loaded if MPI has started the program.  The caller
/// owns the result.
extern "C" dfsearch::study::Cluster* dfsearch_open_cluster();
