#pragma once
// The techniques that keep the tree of the search small.  Each has a name by which it can be left
// out, so that an ablation shows its effect.  The answer is the same without them and only the
// effort differs, since an omitted bound is 0 and an omitted rule drops nothing.

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace dfsearch {

/// In the order of docs/search.md.
enum class SearchBound : std::uint8_t {
  Point,
  Tiles,
  Compute,
  Network,
  Memory,
  Hidden,
  Partial,
  Partitions,
  Duals,
  Transpositions,
  Symmetry,
  Relaxation,
  Multipliers,
  LoneKernels,
  Completion,
  DominatedLoops,
  Segments,
  Moves,
  Floors,
};

struct SearchBoundName {
  SearchBound bound;
  std::string_view name;
  std::string_view meaning;  ///< the technique, with its section of docs/search.md
  /// Name of the finds that calls of the technique count (engine/tables/effort.hpp): better bounds,
  /// or better mappings of a point; empty if calls are not counted.
  std::string_view finds{};
};

inline constexpr std::array kSearchBounds = {
    SearchBoundName{SearchBound::Point, "point", "closed-form bound of an outer point (3)"},
    SearchBoundName{SearchBound::Tiles, "tiles", "tiles that smaller ones replace (3)"},
    SearchBoundName{SearchBound::Compute, "compute", "compute time of the kernels left (5.1)"},
    SearchBoundName{SearchBound::Network, "network", "network time of the kernels left (5.2)"},
    SearchBoundName{SearchBound::Memory, "memory", "tensors that must pass through memory (5.3)"},
    SearchBoundName{SearchBound::Hidden, "hidden",
                    "time that nothing is long enough to hide (5.4)"},
    SearchBoundName{SearchBound::Partial, "partial", "bound of a partition in the making (5.5)"},
    SearchBoundName{SearchBound::Partitions, "partitions",
                    "partitions that the kernels left need (5.6)"},
    SearchBoundName{SearchBound::Duals, "duals",
                    "dual values of the kernels left, by column generation (5.7)", "bounds"},
    SearchBoundName{SearchBound::Transpositions, "transpositions",
                    "nodes with the same kernels done (6)"},
    SearchBoundName{SearchBound::Symmetry, "symmetry", "kernels that can be exchanged (6, 9)"},
    SearchBoundName{SearchBound::Relaxation, "relaxation",
                    "bound of a sharding decided in part (9)", "bounds"},
    SearchBoundName{SearchBound::Multipliers, "multipliers",
                    "shardings that make compute and network small at once (9)"},
    SearchBoundName{SearchBound::LoneKernels, "lone_kernels",
                    "best sharding left, for execution kernel by kernel (9)"},
    SearchBoundName{SearchBound::Completion, "completion",
                    "shardings tried for a relaxed fusion (9)"},
    SearchBoundName{SearchBound::DominatedLoops, "dominated_loops",
                    "loops that another one replaces (9)"},
    SearchBoundName{SearchBound::Segments, "segments", "first mappings by segments (10)",
                    "mappings"},
    SearchBoundName{SearchBound::Moves, "moves", "better mappings, a few kernels at a time (10)",
                    "mappings"},
    SearchBoundName{SearchBound::Floors, "floors",
                    "least costs below a node, of plans, deployments and stages (13)"},
};

/// The bounds that a search uses: all, unless some are dropped.
class SearchBounds {
 public:
  constexpr void drop(SearchBound bound) { dropped_ |= bit(bound); }
  [[nodiscard]] constexpr bool use(SearchBound bound) const { return (dropped_ & bit(bound)) == 0; }
  [[nodiscard]] constexpr bool use_all() const { return dropped_ == 0; }

  /// A copy that uses SearchBound::Floors, the only bound that a search for plans, executions,
  /// deployments or stages can drop.
  [[nodiscard]] constexpr SearchBounds but_floors() const {
    SearchBounds others = *this;
    others.dropped_ &= ~bit(SearchBound::Floors);
    return others;
  }

  [[nodiscard]] std::vector<std::string_view> dropped() const {
    std::vector<std::string_view> names;
    for (const SearchBoundName& known : kSearchBounds) {
      if (!use(known.bound)) names.push_back(known.name);
    }
    return names;
  }

  friend constexpr bool operator==(const SearchBounds&, const SearchBounds&) = default;

 private:
  static constexpr std::uint32_t bit(SearchBound bound) {
    return std::uint32_t{1} << static_cast<std::uint32_t>(bound);
  }

  std::uint32_t dropped_ = 0;
};

}  // namespace dfsearch
