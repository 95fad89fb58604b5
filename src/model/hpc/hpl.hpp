#pragma once
// High-Performance Linpack on a grid of P x Q processes, one a chip (docs/hpc.md, section 1): the
// time of all steps in closed form, the best grid and block, and a bound over many of them.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/units.hpp"

namespace dfsearch {

struct HplRates {
  FlopsPerSecond product{};  ///< of a wide product
  double half = 0.0;         ///< block at which products reach half of this rate
  FlopsPerSecond panel{};    ///< of the factorization of a panel
  /// Memory of a process; without it products alone count.
  BytesPerSecond memory = BytesPerSecond::infinity();
  BytesPerSecond row{};  ///< along the rows of the grid
  BytesPerSecond column{};
  Seconds alpha{};
  Seconds step{};  ///< of a step, beside all else: launches, small products
};

struct HplRun {
  std::int64_t n = 1;
  std::int64_t block = 1;
  std::int64_t p = 1;
  std::int64_t q = 1;
  bool lookahead = true;  ///< a panel is factored while the matrix behind the last one is updated
  double hidden = 1.0;    ///< share of the swap of rows behind the update
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

/// The times of step `k`, of n / block.
HplStep hpl_step(const HplRun& run, const HplRates& rates, std::int64_t k);

/// All steps and the solution of the triangular system, in time that does not depend on the number
/// of steps.
HplTime hpl_time(const HplRun& run, const HplRates& rates);

/// The memory of a process.
Bytes hpl_bytes(const HplRun& run);

/// A grid of processes, P rows of Q.  The squarest one has P Q > 0.99 G and P <= Q <= 2 P and the
/// most processes, if there is such a grid, else all G.
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
  BytesPerSecond inside{};    ///< of a process to another one of its node
  BytesPerSecond injected{};  ///< of a whole node to others
  double share = 0.8;         ///< of `injected` that messages reach
};

/// Bandwidths along rows and columns of a grid whose nodes are parts of p x q processes.
void set_links(const HplNetwork& network, const HplGrid& node, const HplRun& run, HplRates& rates);

struct HplAnswer {
  HplRun run;
  HplGrid node;
  HplTime time;
  HplRates rates;
};

/// The run of least time among all choices and parts of nodes; ties go to the first.  Columns that
/// no whole block has are a last panel.  Nothing if no choice fits `capacity`.
std::optional<HplAnswer> best_hpl(const HplRun& given, const HplRates& rates,
                                  const HplChoices& choices, const HplNetwork& network,
                                  Bytes capacity);

/// Returns a lower bound on the time of runs with a block in [least, most] on one of the grids.
Seconds hpl_bound(const HplRun& run, const HplRates& rates, std::int64_t least, std::int64_t most,
                  std::span<const HplGrid> grids);

}  // namespace dfsearch
