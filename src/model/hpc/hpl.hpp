#pragma once
// High-Performance Linpack on a grid of P x Q processes, one on each chip (docs/hpc.md, section 1):
// the time of all steps in closed form, the best grid and block, and a bound over many of both.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/units.hpp"

namespace dfsearch {

struct HplRates {
  FlopsPerSecond product{};  ///< of a product with wide blocks
  double half = 0.0;         ///< block at which products reach half of this rate
  FlopsPerSecond panel{};    ///< of the factorization of a panel
  /// Memory of a process; without it products alone count.
  BytesPerSecond memory = BytesPerSecond::infinity();
  BytesPerSecond row{};  ///< along the rows of the grid
  BytesPerSecond column{};
  Seconds alpha{};
  Seconds step{};  ///< added to each step: launches, small products
};

struct HplRun {
  std::int64_t n = 1;
  std::int64_t block = 1;
  std::int64_t p = 1;
  std::int64_t q = 1;
  bool lookahead = true;  ///< a panel is factored during the update of the step before
  double hidden = 1.0;    ///< share of the swap of rows that hides behind the update
  Bytes word{8.0};

  [[nodiscard]] std::int64_t processes() const { return p * q; }
};

/// Times of the parts of a step.
struct HplStep {
  Seconds update{};
  Seconds panel{};  ///< with its broadcast
  Seconds swap{};

  [[nodiscard]] Seconds time(const HplRun& run, Seconds beside) const;
};

struct HplTime {
  Seconds time{};
  std::int64_t steps = 0;
  std::int64_t waits = 0;  ///< number of steps that wait for the panel
};

/// FLOP that a run is credited with.
Flops hpl_flops(std::int64_t n);

/// The times of step `k`; a run has n / block steps.
HplStep hpl_step(const HplRun& run, const HplRates& rates, std::int64_t k);

/// The time of all steps and of the solution of the triangular system, by closed forms.
HplTime hpl_time(const HplRun& run, const HplRates& rates);

/// The memory of a process.
Bytes hpl_bytes(const HplRun& run);

/// A grid of processes, P rows of Q.  The squarest grid of G processes is the one with the most
/// processes among grids with P Q > 0.99 G and P <= Q <= 2 P; if there is none, it has all G.
struct HplGrid {
  std::int64_t p = 1;
  std::int64_t q = 1;
};
HplGrid squarest_grid(std::int64_t processes);

struct HplChoices {
  std::vector<std::int64_t> blocks;
  std::vector<HplGrid> grids;
  std::vector<bool> lookahead;
};

/// Nodes whose processes share their links to other nodes.
struct HplNetwork {
  std::int64_t node = 1;      ///< processes of a node
  BytesPerSecond inside{};    ///< from a process to another process of its node
  BytesPerSecond injected{};  ///< from a whole node to other nodes
  double share = 0.8;         ///< share of `injected` that messages reach
};

/// Sets the bandwidths along rows and columns of a grid; `node` is the part of it on one node.
void set_links(const HplNetwork& network, const HplGrid& node, const HplRun& run, HplRates& rates);

struct HplAnswer {
  HplRun run;
  HplGrid node;
  HplTime time;
  HplRates rates;
};

/// The run of least time among all choices and all grids of a node; ties go to the first.  Columns
/// after the last whole block form a last panel.  Nothing if no choice fits `capacity`.
std::optional<HplAnswer> best_hpl(const HplRun& given, const HplRates& rates,
                                  const HplChoices& choices, const HplNetwork& network,
                                  Bytes capacity);

/// Returns a lower bound on the time of runs with a block in [least, most] on one of the grids.
Seconds hpl_bound(const HplRun& run, const HplRates& rates, std::int64_t least, std::int64_t most,
                  std::span<const HplGrid> grids);

}  // namespace dfsearch
