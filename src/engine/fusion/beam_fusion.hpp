#pragma once
// A good fusion is appended partition by partition, several side by side: a beam of order ideals.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "engine/fusion/fusion_tree.hpp"
#include "engine/fusion/open_partition.hpp"
#include "engine/tables/allowance.hpp"
#include "engine/tables/fusion_tables.hpp"
#include "engine/tables/partition_rules.hpp"
#include "graph/kernel_set.hpp"

namespace dfsearch {

/// Fusions led by what kernels take in the best one known, again and again and each time with a
/// wider beam: what is found is a function of the tables, to which it refers, and of the fusions it
/// is told.  Used by one thread.
class BeamSearch {
 public:
  /// `start` is a fusion of these tables, for which beams are possible.
  BeamSearch(const FusionTables& tables, Fusion start);

  /// Not where kernels are pinned or cores are shared out.
  [[nodiscard]] static bool is_possible(const FusionTables& tables);

  /// Goes on for about so many steps of an enumeration, at the most to the end of a beam.  True once
  /// that was the widest.  Throws Stopped by the deadline of the tables; what was found until then
  /// remains.  Calls `between`, if there is any, now and then.
  bool advance(std::int64_t steps, const std::function<void()>& between = {});

  /// The next beam is led by this one, unless something better is found before.
  void go_on_from(const Fusion& better);

  /// The best so far.
  [[nodiscard]] const Fusion& best() const { return best_; }

 private:
  /// Closed partitions and what they hold.
  struct State {
    KernelSet done;
    std::shared_ptr<const ClosedPartition> last;  // of the partitions; null: none
    std::shared_ptr<const OpenPartition> before;  // that one, empty and after the others; or null
    std::size_t left = 0;                         // kernels
    Ticks spent = 0;
    double worth = 0.0;  // of the kernels that are done
    std::int32_t next_index = 0;
    std::int64_t used = 0;
    /// Of states of as many partitions the one of the least rate comes first.
    [[nodiscard]] double rate() const { return static_cast<double>(spent) / worth; }
  };
  /// The first kernels of a partition in the making.
  struct Prefix {
    std::size_t kernels = 0;  // 0: none
    Ticks time = 0;
    double value = 0.0;
  };

  struct Expansion;  // of a state

  void begin();
  void learn();
  [[nodiscard]] bool is_last();
  void narrow();
  void expand(const State& state);
  void grow(const Expansion& expansion, std::size_t seed);
  [[nodiscard]] std::size_t best_to_join(OpenPartition& open);
  void close(const Expansion& expansion, const Prefix& prefix);
  [[nodiscard]] std::size_t bytes_of_place() const;

  const FusionTables& tables_;
  const FusionTree tree_;
  const PartitionRules rules_;
  Fusion best_;
  std::vector<double> worth_;  // of each kernel, in ticks
  std::size_t width_ = 1;
  bool is_first_ = true;     // beam
  std::vector<State> beam_;  // of as many partitions each
  std::size_t place_ = 0;    // of the next one to expand
  std::vector<State> next_;  // of one partition more
  MemoryCharge memory_;      // of all these
  std::int64_t steps_ = 0;
};

}  // namespace dfsearch
