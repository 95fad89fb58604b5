#include "io/config/serving_units.hpp"

#include <fmt/format.h>

#include <string>

#include "base/error.hpp"
#include "base/units_text.hpp"

namespace dfsearch {
namespace {

/// A number with a word after it: "2 $/h".
template <char... word>
double number_before(std::string_view text) {
  constexpr char kWord[] = {word..., '\0'};
  const std::string_view unit = kWord;
  if (text.ends_with(unit)) {
    text.remove_suffix(unit.size());
    while (text.ends_with(' ')) text.remove_suffix(1);
    return parse_number(std::string(text));
  }
  throw InputError(fmt::format("expected a number with the unit {}, got '{}'", unit, text));
}

const Unit kHourly{.name = "price",
                   .base = "$/h",
                   .pattern = "\\$/h",
                   .parse = &number_before<'$', '/', 'h'>,
                   .text = [](double value) { return fmt::format("{} $/h", value); }};
const Unit kRate{.name = "rate",
                 .base = "/s",
                 .pattern = "/s",
                 .parse = &number_before<'/', 's'>,
                 .text = [](double value) { return fmt::format("{} /s", value); }};

Type with_unit(const Unit& unit) {
  Type type = TypeOf<double>::type;
  type.form = Form::Quantity;
  type.unit = &unit;
  return type;
}

}  // namespace

const Type& price_per_hour() {
  static const Type kType = with_unit(kHourly);
  return kType;
}

const Type& requests_per_second() {
  static const Type kType = with_unit(kRate);
  return kType;
}

}  // namespace dfsearch
