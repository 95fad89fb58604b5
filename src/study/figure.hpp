#pragma once
// Figures that judge the points of a study.

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units_text.hpp"
#include "base/words.hpp"

namespace dfsearch::study {

/// One number of an answer; kFigureRows has its name, unit and needs.
enum class Figure : std::uint8_t {
  StepTime,
  Price,
  Power,
  Utilization,
  CostEfficiency,  ///< by the price of the machine
  PowerEfficiency,
  TokensPerSecond,
  TimeToFirstToken,
  TimePerOutputToken,
  TokensPerSecondPerChip,
  TokensPerSecondPerDollar,
  DollarsPerMtoken,  ///< for a million output tokens
  JoulePerToken,     ///< output token, or trained token
  Energy,
  Edp
};

/// Parts of an answer, as bits; they determine its figures.
enum AnswerPart : unsigned {
  kStep = 1,
  kPrice = 2,
  kPower = 4,
  kEnergy = 8,
  kTokens = 16,      ///< tokens of a step
  kTokenRates = 32,  ///< tokens a second
  kPrefill = 64,
  kDecode = 128,
  kDeployment = 256,  ///< deployments: figures of requests only
};
struct FigureRow {
  Figure value;
  std::string_view name;  ///< the key in results (docs/results.md) and studies
  std::string_view unit;  ///< in heads of tables; empty for a pure number
  bool more_is_better;
  std::string (*text)(double value);  ///< as reports print it, with a fitting unit
  unsigned needs;                     ///< the AnswerParts that it requires
  bool of_requests = false;           ///< deployments have it
};

inline std::string percent_text(double value) { return fmt::format("{:.2f} %", 100.0 * value); }
inline std::string rate_text(double value) { return fmt::format("{:.6g}/s", value); }
inline std::string rate_per_dollar_text(double value) {
  return fmt::format("{:.4g}/s per $", value);
}
inline std::string dollar_text(double value) { return fmt::format("{:.4g} $", value); }

inline constexpr auto kFigureRows = std::to_array<FigureRow>(
    {{Figure::StepTime, "step_time", "s", false, quantity_text<Seconds>, kStep},
     {Figure::Price, "price", "$", false, quantity_text<Dollars>, kStep | kPrice},
     {Figure::Power, "power", "W", false, quantity_text<Watts>, kStep | kPower},
     {Figure::Utilization, "utilization", "", true, percent_text, kStep},
     {Figure::CostEfficiency, "cost_efficiency", "FLOP/s per $", true,
      quantity_text<FlopsPerSecondPerDollar>, kStep | kPrice},
     {Figure::PowerEfficiency, "power_efficiency", "FLOP/s per W", true,
      quantity_text<FlopsPerSecondPerWatt>, kStep | kPower},
     {Figure::TokensPerSecond, "tokens_per_second", "1/s", true, rate_text, kTokenRates, true},
     {Figure::TimeToFirstToken, "time_to_first_token", "s", false, quantity_text<Seconds>, kPrefill,
      true},
     {Figure::TimePerOutputToken, "time_per_output_token", "s", false, quantity_text<Seconds>,
      kDecode, true},
     {Figure::TokensPerSecondPerChip, "tokens_per_s_per_chip", "1/s", true, rate_text, kTokenRates,
      true},
     {Figure::TokensPerSecondPerDollar, "tokens_per_s_per_dollar", "1/s per $", true,
      rate_per_dollar_text, kTokenRates | kPrice},
     {Figure::DollarsPerMtoken, "dollars_per_mtoken", "$", false, dollar_text, kDeployment, true},
     {Figure::JoulePerToken, "joule_per_token", "J", false, quantity_text<Joules>,
      kEnergy | kTokens, true},
     {Figure::Energy, "joules", "J", false, quantity_text<Joules>, kEnergy},
     {Figure::Edp, "edp", "J s", false, quantity_text<JouleSeconds>, kEnergy}});

inline constexpr auto kFigures = [] {
  std::array<Figure, kFigureRows.size()> all{};
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = kFigureRows[i].value;
  return all;
}();

constexpr const FigureRow& row_of(Figure figure) { return row_with(kFigureRows, figure); }
constexpr std::string_view name_of(Figure figure) { return row_of(figure).name; }
constexpr std::string_view unit_of(Figure figure) { return row_of(figure).unit; }
constexpr bool more_is_better(Figure figure) { return row_of(figure).more_is_better; }
inline std::string figure_text(Figure figure, double value) { return row_of(figure).text(value); }

std::vector<Figure> figures_with(unsigned parts);

/// A value for each figure; NaN where an answer has none.
class Figures {
 public:
  Figures();

  [[nodiscard]] double operator[](Figure figure) const {
    return values_[static_cast<std::size_t>(figure)];
  }
  double& operator[](Figure figure) { return values_[static_cast<std::size_t>(figure)]; }
  [[nodiscard]] bool has(Figure figure) const;
  /// The value, negated if more is better, so that less is better; infinite if there is none.
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
  double idle_power = 0.0;       ///< W, static, of all chips
  double work = 0.0;             ///< J of a step at the full clock
  bool grows = false;            ///< raising any quantity of the machine never slows its step
};

/// The best figures of a point that has at least the facts `least` and whose step takes at least
/// `step_time` seconds; infinitely good where nothing is known. docs/search.md, section 16
Figures optimistic_figures(const PointFacts& least, double step_time);

}  // namespace dfsearch::study
