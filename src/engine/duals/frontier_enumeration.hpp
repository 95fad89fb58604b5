#pragma once
// The partitions that duals overpay, for graphs with a small frontier
// (engine/duals/partition_pricing.hpp).

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/deadline.hpp"
#include "engine/duals/frontier_plan.hpp"
#include "engine/duals/frontier_promise.hpp"
#include "engine/duals/frontier_worth.hpp"
#include "engine/duals/partition_pricing.hpp"
#include "engine/tables/allowance.hpp"

namespace dfsearch {

/// Does what PartitionPricing::find asks for, once, but for `among`, `with` and sets of which one
/// could stand for others: all are found.  Refers to all it is given.
class FrontierEnumeration {
 public:
  /// `plans` are those of the tables.
  FrontierEnumeration(const FusionTables& tables, const PartitionPricing& pricing,
                      const std::vector<FrontierPlanOfGroup>& plans, const Duals& duals,
                      const PartitionPricing::Query& query, std::int64_t& steps);

  [[nodiscard]] PartitionPricing::Found run();

 private:
  /// A set so far: of its kernels only the frontier matters to what comes.
  struct Partial {
    std::uint32_t frontier = 0;  // which of it are inside
    double sram = 0.0;
    FrontierExcess excess{};  // by the parts that take time; the others are 0
  };
  /// A plan with what is known of it.
  struct Planned {
    const FrontierPlan& plan;
    std::size_t group;
    std::size_t first_place;  // of its first step, among the steps of all plans
    FrontierGains gains;
    std::vector<std::size_t> timed;
    std::vector<FrontierPromise> promises;
    std::vector<PromisedMixture> mixtures;  // with these
    // By the number of steps that are decided: those kernels, and all that are in no set here.
    std::vector<KernelSet> decided;
  };

  void add_alone();
  [[nodiscard]] Planned planned(const FrontierPlanOfGroup& of, std::size_t first_place,
                                std::size_t states);
  [[nodiscard]] bool firsts(std::size_t begin, std::size_t end);
  void go_on(std::size_t step, const Partial& set);
  void put_in(std::size_t step, const Partial& set);
  [[nodiscard]] bool may_exceed(std::size_t step, const Partial& set) const;
  [[nodiscard]] bool is_between(std::size_t kernel) const {
    return after_[size_].contains(kernel) && before_[size_].contains(kernel);
  }
  void close();
  void keep(PartitionColumn&& partition);

  const FusionTables& tables_;
  const PartitionPricing& pricing_;
  const Duals& duals_;
  const PartitionPricing::Query query_;
  const double sram_;
  FineTicks threshold_;
  std::int64_t& steps_;
  PacedDeadline deadline_;
  bool adds_up_ = true;  // what duals make of all sets; else no set is looked at
  std::vector<Planned> plans_;
  MemoryCharge memory_;  // of these
  const Planned* now_ = nullptr;
  KernelSet inside_;
  std::size_t size_ = 0;           // of inside_
  std::vector<KernelSet> after_;   // by the number of kernels inside: these and all after them
  std::vector<KernelSet> before_;  // and all before them
  std::vector<PartitionColumn> found_;
  std::size_t next_ = 0;
};

}  // namespace dfsearch
