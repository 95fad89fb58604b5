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

/// The partitions of a fusion in an order in which they may run, each of one phase.  Some kernels
/// of one partition are chosen; computing the effect of moving them takes time in proportion to
/// their tensors.  Refers to the tables.  Used by one thread.
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

  // Chooses the kernels to move, all of one partition:

  void choose(std::size_t kernel);
  /// The kernel and all of its partition that depend on it.
  void choose_with_followers(std::size_t kernel);
  /// The kernel and all of its partition that it depends on.
  void choose_with_leaders(std::size_t kernel);

  /// Change of the fusion's time if the chosen kernels move to another partition, or to one of
  /// their own; kNever if they do not fit there, or if the change exceeds `limit` for sure.
  [[nodiscard]] Ticks change(std::size_t to, Ticks limit);
  /// Makes the move that `change` costed last and allowed; false, and nothing is changed, if no
  /// order of the partitions allows it.  In a partition of their own the chosen kernels run before
  /// the rest of theirs, or after it.
  enum class Side : std::uint8_t { Before, After };
  [[nodiscard]] bool move(Side side);

  /// Returns the number of steps to choose, cost and move kernels since the last call.
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
  const bool allocates_;  // cores, as no utilization is given
  bool limited_ = false;  // memory may be too small for the waiting tensors
  std::vector<Arc> links_;
  std::vector<std::uint32_t> begin_;
  std::vector<std::uint32_t> outputs_;  // where they begin among the links of a kernel

  std::vector<Part> parts_;                // parts in the order, and free ones
  std::vector<std::size_t> free_;          // of parts_
  std::vector<std::size_t> order_;         // of parts
  std::vector<std::size_t> part_of_;       // kernel
  std::vector<std::uint32_t> slot_of_;     // kernel: where it is in its part's list
  std::array<std::size_t, 2> of_phase_{};  // partitions
  Ticks time_ = 0;

  // The chosen kernels, and the results of `change`.
  std::vector<std::uint32_t> chosen_;
  std::vector<std::uint64_t> chosen_at_;  // kernel
  std::uint64_t choice_ = 0;
  std::size_t from_ = 0;
  std::size_t to_ = 0;
  Sums left_;
  Sums joined_;
  Ticks change_ = 0;

  std::int64_t steps_ = 0;
  // Scratch.
  std::vector<std::uint64_t> reached_at_;  // part
  std::uint64_t reach_ = 0;
  std::vector<std::size_t> stack_;
  std::vector<std::size_t> later_;
  std::vector<const std::vector<CoreOption>*> options_;
};

}  // namespace dfsearch
