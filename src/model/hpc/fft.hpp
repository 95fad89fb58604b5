#pragma once
// Fourier transforms of one, two and three dimensions on one chip and on many (docs/hpc.md,
// section 2): passes through memory, butterflies on the vector engine, and transpositions of slabs
// and pencils over the network.

#include <cstdint>
#include <optional>
#include <vector>

#include "base/units.hpp"
#include "base/words.hpp"
#include "model/machine/collective_forms.hpp"

namespace dfsearch {

/// The division of the points among the chips.
enum class FftLayout : std::uint8_t {
  Slab,    ///< cut along one dimension: one transposition among all chips
  Pencil,  ///< cut along two: one transposition along each side of the grid
};
constexpr auto words(FftLayout) { return named<FftLayout>("slab", "pencil"); }

/// Number of passes of the data of `points` points through memory, in and out, when
/// `fast` bytes hold the points of a pass.
std::int64_t fft_passes(std::int64_t points, Bytes fast, Bytes element);

/// A transposition among `members` chips.
struct FftExchange {
  std::int64_t members = 1;
  BytesPerSecond out{};  ///< rate at which a chip sends to the others
  std::int64_t messages = 0;
};

struct FftTask {
  std::vector<std::int64_t> sides;  ///< points along each dimension
  std::int64_t chips = 1;
  Bytes element{8.0};    ///< of a complex point
  bool is_real = false;  ///< half of the bytes and of the work
  Bytes fast{};          ///< memory of a core that holds the points of a pass
  double repack =
      0.0;  ///< further passes for packing: 2 in MPI libraries, 1 if the exchange reorders
  BytesPerSecond memory{};  ///< of a chip
  FlopsPerSecond vector{};  ///< of a chip, in the format of the points
  Seconds alpha{};          ///< of a message
};

Bytes fft_local_bytes(const FftTask& task);
/// The time of the passes and butterflies of a chip, which overlap.
Seconds fft_local_time(const FftTask& task);
/// The time with these transpositions, which overlap with nothing.
Seconds fft_time(const FftTask& task, const std::vector<FftExchange>& exchanges);

struct FftNetwork {
  std::vector<collective::Axis> axes;  ///< innermost first
  double share = 0.75;                 ///< share of the bandwidth that exchanges reach
};

/// A way to do a transform.
struct FftPlan {
  FftLayout layout = FftLayout::Slab;
  std::int64_t p = 1;  ///< first side of the grid of chips, whose members are neighbours
  std::int64_t q = 1;
  std::vector<FftExchange> exchanges;
  Seconds time{};
};

/// The fastest of slabs and of pencils over all grids; if `natural`, the output has the order of
/// the input.  `layout` and `p`, the side P of pencils, restrict the choice.  Nothing if no layout
/// has a part for each chip.
std::optional<FftPlan> best_fft(const FftTask& task, const FftNetwork& network, bool natural,
                                std::optional<FftLayout> layout = std::nullopt,
                                std::optional<std::int64_t> p = std::nullopt);

/// A lower bound on the time of all layouts, grids and orders: the longest of the passes with all
/// fast memory of a chip, the butterflies, and the least exchange over all axes at once.
Seconds fft_bound(const FftTask& task, Bytes all_fast, const FftNetwork& network);

}  // namespace dfsearch
