#pragma once
// The loop of column generation, whoever prices.

#include <cstdint>
#include <optional>
#include <utility>

#include "base/shared_work.hpp"
#include "engine/duals/column_program.hpp"
#include "engine/duals/partition_duals.hpp"
#include "engine/duals/partition_pricing.hpp"
#include "engine/tables/fusion_tables.hpp"

namespace dfsearch {

/// The search for duals whose sum, less the charges of as many partitions as there may be, is about
/// the greatest.  It may be done bit by bit; what it finds is a function of the tables and of the
/// steps of the calls.  Refers to the tables.  Used by one thread.
class ColumnGeneration {
 public:
  ColumnGeneration(const ColumnGeneration&) = delete;
  ColumnGeneration& operator=(const ColumnGeneration&) = delete;
  virtual ~ColumnGeneration() = default;

  /// Whether nothing is left to do.
  [[nodiscard]] bool has_ended() const { return stage_ == Stage::Ended; }

  /// Goes on for about so many steps, of some hundred operations each, or until better duals are
  /// proved.  True once there is nothing more to do.  After Stopped, by the deadline of the tables,
  /// it must not be called again.
  bool advance(std::int64_t steps);
  /// The steps of the last call that it did not spend; 0 or less if it spent all.
  [[nodiscard]] std::int64_t steps_left() const { return steps_; }

  /// Gives away the best duals that were proved since the last time; nothing if none were.
  [[nodiscard]] std::optional<PartitionDuals> take() {
    return std::exchange(proved_, std::nullopt);
  }

 protected:
  /// Ended, until begin is called.
  explicit ColumnGeneration(const FusionTables& tables) : tables_(tables) {}
  /// Of kernels in these classes.  Other threads may help with the `work`; null: nobody does.
  void begin(KernelClasses alike, SharedWork* work);

  /// The program has been solved.
  virtual void begin_pricing() = 0;
  /// Looks for columns at the duals of the program, and proves them where there are none: solves the
  /// program again, goes on pricing, or ends.
  virtual void price() = 0;

  void solve_again() { stage_ = Stage::Program; }
  void end() { stage_ = Stage::Ended; }

  const FusionTables& tables_;
  std::optional<PartitionPricing> pricing_;
  std::optional<ColumnProgram> program_;
  std::int64_t steps_ = 0;  // left
  std::optional<PartitionDuals> proved_;

 private:
  enum class Stage : std::uint8_t { Program, Pricing, Ended };

  void solve_program();

  Stage stage_ = Stage::Ended;
};

}  // namespace dfsearch
