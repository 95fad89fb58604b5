#include "schema/types.hpp"

#include "base/units_text.hpp"

namespace dfsearch {
namespace {

template <class Q>
constexpr Unit unit(std::string_view name, std::string_view base, std::string_view pattern) {
  return {.name = name,
          .base = base,
          .pattern = pattern,
          .parse = [](std::string_view text) { return parse_quantity<Q>(text).in_base_units(); },
          .text = [](double base_units) { return to_text(Q(base_units)); }};
}

}  // namespace

const Unit units::kTime = unit<Seconds>("time", "s", "(s|ms|us|ns|min|h)");
const Unit units::kFrequency = unit<Hertz>("frequency", "Hz", "[kMGTPE]?Hz");
const Unit units::kSize = unit<Bytes>("size", "B", "([kMGTPE]|[KMGTPE]i)?(B|b|bit)");
const Unit units::kBandwidth =
    unit<BytesPerSecond>("bandwidth", "B/s", "([kMGTPE]|[KMGTPE]i)?(B|b|bit)/s");
const Unit units::kWork = unit<Flops>("work", "FLOP", "[kMGTPE]?FLOP");
const Unit units::kRate = unit<FlopsPerSecond>("rate", "FLOP/s", "[kMGTPE]?FLOP/s");
const Unit units::kArea = unit<Area>("area", "mm2", "[muc]m2");
const Unit units::kLength = unit<Length>("length", "mm", "[muc]m");
const Unit units::kDensity = unit<PerLength>("density", "/mm", "/mm");
const Unit units::kPower = unit<Watts>("power", "W", "[kMGTPEmunpfa]?W");
const Unit units::kVoltage = unit<Volts>("voltage", "V", "m?V");
const Unit units::kCellArea = unit<AreaPerByte>("area of a bit", "mm2/B", "[muc]m2/bit");
const Unit units::kEnergy = unit<JoulesPerByte>("energy of a bit", "J/B", "[munpfa]?J/bit");
const Unit units::kWorkEnergy = unit<JoulesPerFlop>("energy of work", "J/FLOP", "[munpfa]?J/FLOP");
const Unit units::kLeakage = unit<WattsPerByte>("power of a bit", "W/B", "[munpfa]?W/bit");

const Type kAny{};

const Type kYesOrNoType{
    .form = Form::Choice,
    .put = TypeOf<bool>::type.put,
    .get = TypeOf<bool>::type.get,
    .choices = [] {
      return std::vector<Choice>{{"yes", 1}, {"no", 0}, {"true", 1}, {"false", 0}};
    }};

}  // namespace dfsearch
