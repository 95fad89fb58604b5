#pragma once
// Figures that judge the points of a study.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dfsearch::study {

/// One number of an answer, under its key in results (docs/results.md).
enum class Figure : std::uint8_t {
  StepTime,         ///< s
  Price,            ///< $
  Power,            ///< W
  Utilization,      ///< share of the peak
  CostEfficiency,   ///< FLOP/s per $
  PowerEfficiency,  ///< FLOP/s per W
  TokensPerSecond,
  TimeToFirstToken,    ///< s
  TimePerOutputToken,  ///< s
  TokensPerSecondPerChip,
  TokensPerSecondPerDollar,  ///< of the price of the machine
  DollarsPerMtoken,          ///< $ for a million tokens of output
  JoulePerToken,             ///< of output, or of training
  Energy,                    ///< J of a step
  Edp,                       ///< J s of a step; the last
};
/// All of them, in their order.
inline constexpr auto kFigures = [] {
  std::array<Figure, static_cast<std::size_t>(Figure::Edp) + 1> all{};
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<Figure>(i);
  return all;
}();

/// Parts of an answer, as bits: which figures it has depends on them.
enum AnswerPart : unsigned {
  kStep = 1,
  kPrice = 2,
  kPower = 4,
  kEnergy = 8,
  kTokens = 16,      ///< that a step makes
  kTokenRates = 32,  ///< tokens a second
  kPrefill = 64,
  kDecode = 128,
  kDeployment = 256,  ///< it has the figures of requests, and no others
};
/// The figures of an answer with these parts.
std::vector<Figure> figures_with(unsigned parts);

/// The key in results and studies.
std::string_view name_of(Figure figure);
/// The unit in heads of tables; empty for a pure number.
std::string_view unit_of(Figure figure);
/// Whether a greater value is the better one.
bool more_is_better(Figure figure);
/// A value as reports print it, with a fitting unit.
std::string figure_text(Figure figure, double value);

/// A value for each figure; NaN where an answer has none.
class Figures {
 public:
  Figures();

  [[nodiscard]] double operator[](Figure figure) const {
    return values_[static_cast<std::size_t>(figure)];
  }
  double& operator[](Figure figure) { return values_[static_cast<std::size_t>(figure)]; }
  [[nodiscard]] bool has(Figure figure) const;
  /// The value so that less is better; infinite where there is none.
  [[nodiscard]] double badness(Figure figure) const;

 private:
  std::array<double, kFigures.size()> values_;
};

/// Facts about a point that need no search.  Price, power and peak are zero where they are not
/// known, which is a lower bound.
struct PointFacts {
  double price = 0.0;            ///< $
  double power = 0.0;            ///< W
  double peak = 0.0;             ///< FLOP/s of all chips
  std::optional<double> flop{};  ///< of a step
  bool grows = false;  ///< no quantity of the machine that grows alone makes its step slower
};

/// The best figures of a point that has at least the facts `least` and whose step takes at least
/// `step_time` seconds; infinitely good where nothing is known. docs/search.md, section 16
Figures optimistic_figures(const PointFacts& least, double step_time);

}  // namespace dfsearch::study
