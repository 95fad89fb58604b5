#include "model/machine/machine_schema.hpp"

#include <set>

#include "base/units_text.hpp"
#include "schema/report.hpp"

namespace dfsearch {
namespace {

constexpr Interval kUnitPrice{0, 1e24};
constexpr int kMostDegree = 6;

template <class Amount>
constexpr Type kPerBandwidth{
    .form = Form::Number,
    .put_real =
        [](void* member, double value) {
          using PerBandwidth = decltype(Amount() / BytesPerSecond());
          *static_cast<PerBandwidth*>(member) = Amount(value) / BytesPerSecond(1e9);
        },
    .get_real =
        [](const void* member) {
          using PerBandwidth = decltype(Amount() / BytesPerSecond());
          return static_cast<const PerBandwidth*>(member)->in_base_units() * 1e9;
        },
};

template <class Amount>
constexpr Type kPerLink = list_type<decltype(Amount() / BytesPerSecond()), Form::Each,
                                    &kPerBandwidth<Amount>>("dimensions of the network");

/// The price or power of a chip as a plain number, which is a member beside the polynomial.
template <class Units>
constexpr Type kFixed{.form = Form::Number,
                      .put_real =
                          [](void* object, double value) {
                            auto& amount = static_cast<Units*>(object)->accelerator;
                            amount = std::remove_reference_t<decltype(amount)>(value);
                          },
                      .get_real =
                          [](const void* object) {
                            return static_cast<const Units*>(object)->accelerator.in_base_units();
                          }};
template <class Units>
constexpr Type kChipRate = either(kFixed<Units>, kInPlace<&Units::by_peak>);

using ChipPoint = std::pair<double, double>;
constexpr Type kCoefficient = [] {
  Type type = TypeOf<double>::type;
  type.limits = {-1e24, 1e24};
  return type;
}();
constexpr Type kTflops = [] {
  Type type = TypeOf<double>::type;
  type.limits = {1e-9, 1e12};
  return type;
}();
constexpr Type kRate = [] {
  Type type = TypeOf<double>::type;
  type.limits = kUnitPrice;
  return type;
}();
constexpr Type kChipPoint{.form = Form::Pair,
                          .name = "the TFLOP/s and the rate of a chip",
                          .inner = &kTflops,
                          .other = &kRate,
                          .at = [](void* member, std::size_t index) -> void* {
                            auto& point = *static_cast<ChipPoint*>(member);
                            return index == 0 ? &point.first : &point.second;
                          }};
constexpr Type kChipPoints =
    list_type<ChipPoint, Form::List, &kChipPoint>("pairs of TFLOP/s and a rate", 1000);
constexpr Type kCoefficients =
    list_type<double, Form::List, &kCoefficient>("coefficients", kMostDegree + 1);
/// The quantity that a polynomial is in; so far there is only one.
constexpr Type kOfTflops{.form = Form::Choice,
                         .put = [](void*, std::int64_t) {},
                         .get = [](const void*) { return std::int64_t{0}; },
                         .choices =
                             [] {
                               return std::vector<Choice>{{"tflops", 0}};
                             }};

/// Replaces a fit by its polynomial.
void settle_rate(void* object, Report& report) {
  auto& rate = *static_cast<RateByPeak*>(object);
  if (rate.polynomial.empty() == rate.chips.empty()) {
    report.at({&rate.polynomial}, "expected either a polynomial or chips to fit one to");
    return;
  }
  if (rate.chips.empty()) {
    if (report.given(&rate.degree)) report.at_key(&rate.degree, "only with 'chips'");
    return;
  }
  std::set<double> peaks;
  for (const auto& [peak, amount] : rate.chips) peaks.insert(peak);
  if (static_cast<std::int64_t>(peaks.size()) <= rate.degree) {
    report.at({&rate.chips}, "expected more different TFLOP/s than the degree, " +
                                 std::to_string(rate.degree) + ", got " +
                                 std::to_string(peaks.size()));
    return;
  }
  rate.polynomial = least_squares(rate.chips, static_cast<std::size_t>(rate.degree));
  rate.chips.clear();
  rate.degree = RateByPeak().degree;
}

/// Price and power have the same keys.
template <class Units, class Amount>
constexpr std::array kUnits = {
    whole("accelerator", "of a chip: a number, or a polynomial of its TFLOP/s", kChipRate<Units>,
          {.limits = kUnitPrice}),
    field<&Units::memory>("memory", "of a GB/s of memory bandwidth",
                          {.type = &kPerBandwidth<Amount>, .limits = kUnitPrice}),
    field<&Units::link>("link",
                        "of a GB/s of a link; one number, or one for each dimension of the network",
                        {.type = &kPerLink<Amount>, .limits = kUnitPrice, .preset = "0"}),
    field<&Units::switch_port>("switch", "of a GB/s of a switch port",
                               {.type = &kPerBandwidth<Amount>, .limits = kUnitPrice})};

}  // namespace

const Schema& schema_of(Rows<Accelerator>) {
  using A = Accelerator;
  static constexpr Field kFields[] = {
      field<&A::cores>("cores", "cores of a chip", {.flags = kRequired}),
      field<&A::lanes>("lanes", "width of the systolic array of a core", {.flags = kRequired}),
      field<&A::stages>("stages", "height of the systolic array of a core", {.flags = kRequired}),
      field<&A::frequency>("frequency", "clock of a chip",
                           {.limits = kFrequencyLimits, .flags = kRequired}),
      field<&A::sram>("sram", "SRAM of a chip", {.limits = kSizeLimits, .flags = kRequired}),
      field<&A::dataflow>(
          "dataflow",
          "the operand of a product that stays in the arrays, or `best` for the one "
          "with the fewest cycles; counts if cores are allocated")};
  return schema<Accelerator, kFields>("accelerator");
}

const Schema& schema_of(Rows<EnginePeaks>) {
  using P = EnginePeaks;
  static constexpr Extra kPeak{.limits = {1.0, 1e24}, .preset = "not stated"};
  static constexpr Field kFields[] = {
      element<0, &P::of>("fp64", "", kPeak), element<1, &P::of>("fp32", "", kPeak),
      element<2, &P::of>("tf32", "", kPeak), element<3, &P::of>("bf16", "", kPeak),
      element<4, &P::of>("fp16", "", kPeak), element<5, &P::of>("fp8", "", kPeak),
      element<6, &P::of>("fp6", "", kPeak),  element<7, &P::of>("fp4", "", kPeak),
      element<8, &P::of>("int8", "", kPeak)};
  return schema<P, kFields>("peaks of an engine");
}

const Schema& schema_of(Rows<Peaks>) {
  using P = Peaks;
  static constexpr Field kFields[] = {
      field<&P::matrix>("matrix", "dense products"),
      field<&P::vector>("vector", "elementwise kernels, and products in formats without arrays")};
  return schema<P, kFields>("peaks of a chip");
}

const Schema& schema_of(Rows<RateByPeak>) {
  using R = RateByPeak;
  static constexpr Field kFields[] = {
      field<&R::polynomial>("polynomial", "coefficients, the highest power first",
                            {.type = &kCoefficients, .preset = "fitted to `chips`"}),
      field<&R::chips>("chips", "pairs of TFLOP/s and a rate, for a fit by least squares",
                       {.type = &kChipPoints, .preset = "none"}),
      field<&R::degree>("degree", "degree of the fit", {.limits = {1, kMostDegree}}),
      whole("of", "the variable of the polynomial", kOfTflops, {.flags = kRequired})};
  return schema<R, kFields>("rate by peak", settle_rate);
}

const Schema& schema_of(Rows<Price>) { return schema<Price, kUnits<Price, Dollars>>("price"); }

const Schema& schema_of(Rows<FlopEnergies>) {
  using E = FlopEnergies;
  static constexpr Extra kFlop{.limits = {0, 1.0}, .preset = "as bf16, else the most stated"};
  static constexpr Field kFields[] = {
      element<0, &E::of>("fp64", "", kFlop), element<1, &E::of>("fp32", "", kFlop),
      element<2, &E::of>("tf32", "", kFlop), element<3, &E::of>("bf16", "", kFlop),
      element<4, &E::of>("fp16", "", kFlop), element<5, &E::of>("fp8", "", kFlop),
      element<6, &E::of>("fp6", "", kFlop),  element<7, &E::of>("fp4", "", kFlop),
      element<8, &E::of>("int8", "", kFlop)};
  return schema<E, kFields>("energies of a FLOP");
}

namespace {

void check_energy(void* object, Report& report) {
  const EnergyRates& energy = *static_cast<const EnergyRates*>(object);
  if (energy.cap > energy.idle) return;
  report.at({&energy.cap}, "expected more than the static power of " + to_text(energy.idle));
}

}  // namespace

const Schema& schema_of(Rows<EnergyRates>) {
  using E = EnergyRates;
  static constexpr Interval kWatts{0, 1e9};
  static constexpr Field kFields[] = {
      field<&E::idle>("static", "static power of a chip", {.limits = kWatts}),
      field<&E::host>("host", "a chip's share in the power of the rest of its node",
                      {.limits = kWatts}),
      field<&E::flop>("flop", "energy of a FLOP, by number format"),
      field<&E::memory>("memory", "energy of a bit to or from memory", {.limits = {0, 1.0}}),
      field<&E::link>("link", "energy of a bit over a link", {.limits = {0, 1.0}}),
      field<&E::cap>("cap", "greatest power of a chip, which lowers its clock if necessary",
                     {.limits = kWatts, .preset = "none"})};
  return schema<E, kFields>("energy", &check_energy);
}

const Schema& schema_of(Rows<Power>) { return schema<Power, kUnits<Power, Watts>>("power"); }

}  // namespace dfsearch
