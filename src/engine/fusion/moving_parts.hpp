#pragma once
// A complete fusion whose kernels move from partition to partition, with its costs kept up to date.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/fusion/fusion_tree.hpp"
#include "engine/tables/fusion_tables.hpp"
#include "engine/tables/partition_rules.hpp"
#include "engine/tables/partition_time.hpp"
#include "model/layer/core_allocation.hpp"

namespace dfsearch {

/// The partitions of a fusion in an order in which they may run; each has kernels of one phase.
/// Kernels of one partition can be chosen to move; computing the effect of a move takes time in
/// proportion to their tensors (if cores are divided, also to the kernels of both partitions).
/// Refers to the tables.  Used by one thread.
class MovingParts {
 public:
  static constexpr std::size_t kNewPart = ~std::size_t{0};

  /// `start` is a fusion of `tables`; is_possible(tables) is true.
  MovingParts(const FusionTables& tables, const Fusion& start);

  /// Whether kernels may move: no kernel is pinned, and no partition has both phases.
  [[nodiscard]] static bool is_possible(const FusionTables& tables);

  [[nodiscard]] Ticks time() const { return time_; }
  [[nodiscard]] std::size_t count() const { return order_.size(); }
  [[nodiscard]] std::size_t part_at(std::size_t place) const { return order_[place]; }
  [[nodiscard]] std::size_t part_of(std::size_t kernel) const { return part_of_[kernel]; }
  [[nodiscard]] std::size_t place_of(std::size_t part) const { return parts_[part].place; }

  /// The tensors of the kernel, those from its producers first.
  [[nodiscard]] std::span<const Arc> links(std::size_t kernel) const {
    return std::span(links_).subspan(begin_[kernel], begin_[kernel + 1] - begin_[kernel]);
  }

  // Choice of the kernels to move, all from one partition:

  void choose(std::size_t kernel);
  /// Chooses the kernel and all kernels of its partition that depend on it.
  void choose_with_followers(std::size_t kernel);
  /// Chooses the kernel and all kernels of its partition on which it depends.
  void choose_with_leaders(std::size_t kernel);

  /// Change of the fusion's time if the chosen kernels move to partition `to`, or to a new one
  /// (kNewPart); kNever if they do not fit there, or if the change exceeds `limit`.
  [[nodiscard]] Ticks change(std::size_t to, Ticks limit);
  /// Makes the last move that `change` costed, if that was not kNever.  Returns false and changes
  /// nothing if no order of the partitions allows it, or if memory does not.  A new partition runs
  /// just before or after the one that the kernels leave.
  enum class Side : std::uint8_t { Before, After };
  [[nodiscard]] bool move(Side side);

  /// Returns the number of steps that costing and moving kernels took since the last call.
  [[nodiscard]] std::int64_t take_steps();

  /// The place of each kernel's partition.
  [[nodiscard]] std::vector<std::uint32_t> places() const;
  /// Replaces the current fusion.
  void restore(const Fusion& fusion);

 private:
  struct Sums : SummedTimes {
    Bytes sram{};
  };
  struct Part {
    std::vector<std::uint32_t> kernels;
    Sums sums;
    Ticks time = 0;
    std::size_t place = 0;
    bool backward = false;
  };

  void index_links();
  [[nodiscard]] std::span<const Arc> outputs(std::size_t kernel) const {
    return links(kernel).subspan(outputs_[kernel]);
  }
  void add_choice(std::size_t kernel);
  [[nodiscard]] bool is_chosen(std::size_t kernel) const { return chosen_at_[kernel] == choice_; }
  [[nodiscard]] bool has_index_for_one_more() const;
  [[nodiscard]] bool goes_to(std::size_t to) const;
  void add_sums(std::size_t to);
  void fill(Part& part);
  [[nodiscard]] Ticks time_with(std::size_t part, const Sums& sums);
  [[nodiscard]] Ticks time_without(std::size_t part, const Sums& sums);
  std::size_t insert_part(std::size_t place, bool backward);
  void remove_part(std::size_t part);
  void renumber(std::size_t from, std::size_t to);
  void transfer(std::size_t from, std::size_t to);
  [[nodiscard]] bool put_in_order(std::size_t part);
  [[nodiscard]] bool reaches_itself(std::size_t part, std::size_t last);
  [[nodiscard]] bool fits_in_memory() const;

  const FusionTables& tables_;
  const PartitionRules rules_;
  const bool allocates_;  // cores are divided, as no utilization is given
  bool limited_ = false;  // memory may be too small for the waiting tensors
  std::vector<Arc> links_;
  std::vector<std::uint32_t> begin_;
  std::vector<std::uint32_t> outputs_;  // index of the first output among a kernel's links

  std::vector<Part> parts_;                // parts in use, and free ones
  std::vector<std::size_t> free_;          // free indices of parts_
  std::vector<std::size_t> order_;         // parts in the order of their places
  std::vector<std::size_t> part_of_;       // of each kernel
  std::vector<std::uint32_t> slot_of_;     // index of each kernel in its part's list
  std::array<std::size_t, 2> of_phase_{};  // number of partitions
  Ticks time_ = 0;

  // The chosen kernels, and the results of `change`.
  std::vector<std::uint32_t> chosen_;
  std::vector<std::uint64_t> chosen_at_;  // of each kernel: the choice_ that chose it last
  std::uint64_t choice_ = 0;
  std::size_t from_ = 0;
  std::size_t to_ = 0;
  Sums left_;
  Sums joined_;
  Ticks change_ = 0;

  std::int64_t steps_ = 0;
  // Scratch of put_in_order() and of the computation of times.
  std::vector<std::uint64_t> reached_at_;  // of each part: the reach_ that met it last
  std::uint64_t reach_ = 0;
  std::vector<std::size_t> stack_;
  std::vector<std::size_t> later_;
  std::vector<const std::vector<CoreOption>*> options_;
};

}  // namespace dfsearch
