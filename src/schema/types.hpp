#pragma once
// Type-erased types of the values of a config: their notation, and functions that set a member.

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/units.hpp"
#include "base/words.hpp"

namespace dfsearch {

struct Schema;

/// Tag of a struct with rows: the function `const Schema& schema_of(Rows<T>)` beside the struct, in
/// this namespace, returns them.
template <class T>
struct Rows {};
template <class T>
const Schema& schema_of(Rows<T>);  // declared for types without rows
template <class T>
const Schema& schema_of() {
  return schema_of(Rows<T>{});
}

/// The largest extent, degree or count in any config.  Sums or products of two such numbers that
/// overflow are always noticed.
inline constexpr std::int64_t kLargestCount = std::int64_t{1} << 40;

/// Limits in base units.  Counts without limits of their own have at least 1 and at most
/// kLargestCount.
struct Interval {
  double least = 1.0;
  double most = 0.0;

  [[nodiscard]] constexpr bool given() const { return least <= most; }
};

enum class Form : std::uint8_t {
  Flag,      ///< true or false
  Count,     ///< a whole number
  Number,    ///< a plain number
  Quantity,  ///< a number with a unit; with `inner` a plain number as well
  Choice,    ///< one of some words; with `inner` a count as well
  Word,      ///< any text
  Object,    ///< a map with keys of its own
  Optional,  ///< `inner`, or nothing if it is left out
  Each,      ///< one `inner` for all elements, or a list with one `inner` for each
  Values,    ///< one `inner`, or a list of `inner`
  Range,     ///< a count, a list of counts or a range of counts, `2..8`
  List,      ///< a list of `inner`
  Map,       ///< a map from names to `inner`; read by code
  Either,    ///< `other` if a map has the key `name`, or if `other` fits; else `inner`; by code
  Variant,   ///< a map whose keys depend on the word of its key `name`
  Pair,      ///< a list of `inner` and `other`
  Words,     ///< a list of words, each once, or `none`
  Any,       ///< read by code
};

/// A word and the value of an enumeration that it denotes.
struct Choice {
  std::string_view name;
  std::int64_t value;
};

/// Notation of the quantities of a dimension.
struct Unit {
  std::string_view name;     ///< of the dimension: "bandwidth"
  std::string_view base;     ///< the unit of the stored number
  std::string_view pattern;  ///< a regular expression of all units
  double (*parse)(std::string_view text);
  std::string (*text)(double base_units);
};

/// Counts to choose from: `values` if there are any, else the range from `least` to `most`.
struct CountSet {
  std::vector<std::int64_t> values;
  std::int64_t least = 1;
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
};

/// A type has the functions that its form needs.  For a quantity with `inner`, `get` returns 0 if
/// the value is an `inner`, and 1 if it is a quantity.  For Words, `get` has a bit for each word.
struct Type {
  Form form = Form::Any;
  /// Name of the elements, or the key that distinguishes maps.
  std::string_view name = {};
  void (*put)(void* member, std::int64_t value) = nullptr;
  std::int64_t (*get)(const void* member) = nullptr;
  void (*put_real)(void* member, double value) = nullptr;
  double (*get_real)(const void* member) = nullptr;
  const Unit* unit = nullptr;
  std::vector<Choice> (*choices)() = nullptr;
  const Schema& (*schema)() = nullptr;
  const Schema& (*schema_for)(std::int64_t choice) = nullptr;  ///< of a Variant
  const Type* inner = nullptr;
  const Type* other = nullptr;
  Interval limits = {};     ///< limits of the values, in place of the row's limits
  std::size_t most = 1000;  ///< elements of Values and of List
  void (*resize)(void* member, std::size_t size) = nullptr;
  std::size_t (*size)(const void* member) = nullptr;
  void* (*at)(void* member, std::size_t index) = nullptr;
  void (*put_set)(void* member, CountSet set) = nullptr;
  CountSet (*get_set)(const void* member) = nullptr;
};

template <class T>
struct TypeOf;

namespace units {
extern const Unit kTime, kFrequency, kSize, kBandwidth, kWork, kRate, kArea, kLength, kDensity,
    kPower, kVoltage, kCellArea, kEnergy, kWorkEnergy, kLeakage;
}  // namespace units

/// The unit of a quantity; null for quantities that configs do not have.
template <class Q>
inline constexpr const Unit* kUnitOf = nullptr;
template <>
inline constexpr const Unit* kUnitOf<Seconds> = &units::kTime;
template <>
inline constexpr const Unit* kUnitOf<Hertz> = &units::kFrequency;
template <>
inline constexpr const Unit* kUnitOf<Bytes> = &units::kSize;
template <>
inline constexpr const Unit* kUnitOf<BytesPerSecond> = &units::kBandwidth;
template <>
inline constexpr const Unit* kUnitOf<Flops> = &units::kWork;
template <>
inline constexpr const Unit* kUnitOf<FlopsPerSecond> = &units::kRate;
template <>
inline constexpr const Unit* kUnitOf<Area> = &units::kArea;
template <>
inline constexpr const Unit* kUnitOf<Length> = &units::kLength;
template <>
inline constexpr const Unit* kUnitOf<PerLength> = &units::kDensity;
template <>
inline constexpr const Unit* kUnitOf<Watts> = &units::kPower;
template <>
inline constexpr const Unit* kUnitOf<Volts> = &units::kVoltage;
template <>
inline constexpr const Unit* kUnitOf<AreaPerByte> = &units::kCellArea;
template <>
inline constexpr const Unit* kUnitOf<JoulesPerByte> = &units::kEnergy;
template <>
inline constexpr const Unit* kUnitOf<JoulesPerFlop> = &units::kWorkEnergy;
template <>
inline constexpr const Unit* kUnitOf<WattsPerByte> = &units::kLeakage;

template <>
struct TypeOf<bool> {
  static constexpr Type type{
      .form = Form::Flag,
      .put = [](void* member, std::int64_t value) { *static_cast<bool*>(member) = value != 0; },
      .get = [](const void* member) -> std::int64_t { return *static_cast<const bool*>(member); }};
};

template <std::integral T>
struct TypeOf<T> {
  static constexpr Type type{
      .form = Form::Count,
      .put = [](void* member,
                std::int64_t value) { *static_cast<T*>(member) = static_cast<T>(value); },
      .get =
          [](const void* member) {
            return static_cast<std::int64_t>(*static_cast<const T*>(member));
          }};
};

template <>
struct TypeOf<double> {
  static constexpr Type type{
      .form = Form::Number,
      .put_real = [](void* member, double value) { *static_cast<double*>(member) = value; },
      .get_real = [](const void* member) { return *static_cast<const double*>(member); }};
};

template <>
struct TypeOf<std::string> {
  static constexpr Type type{.form = Form::Word};
};

template <int... exponents>
struct TypeOf<Quantity<exponents...>> {
  using Q = Quantity<exponents...>;
  static constexpr Type type{
      .form = Form::Quantity,
      .put_real = [](void* member, double value) { *static_cast<Q*>(member) = Q(value); },
      .get_real = [](const void* member) { return static_cast<const Q*>(member)->in_base_units(); },
      .unit = kUnitOf<Q>};
};

template <class E>
std::vector<Choice> choices_of() {
  std::vector<Choice> choices;
  for (const auto& word : words(E{})) {
    choices.push_back({word.name, static_cast<std::int64_t>(word.value)});
  }
  return choices;
}

template <class E>
requires std::is_enum_v<E>
struct TypeOf<E> {
  static constexpr Type type{
      .form = Form::Choice,
      .put = [](void* member,
                std::int64_t value) { *static_cast<E*>(member) = static_cast<E>(value); },
      .get =
          [](const void* member) {
            return static_cast<std::int64_t>(*static_cast<const E*>(member));
          },
      .choices = &choices_of<E>};
};

template <class T>
requires std::is_class_v<T>
struct TypeOf<T> {
  static constexpr Type type{.form = Form::Object, .schema = &schema_of<T>};
};

template <class T>
struct TypeOf<std::optional<T>> {
  using Member = std::optional<T>;
  static constexpr Type type{
      .form = Form::Optional,
      .inner = &TypeOf<T>::type,
      .resize =
          [](void* member, std::size_t size) {
            size > 0 ? void(static_cast<Member*>(member)->emplace())
                     : static_cast<Member*>(member)->reset();
          },
      .size = [](const void* member) -> std::size_t {
        return static_cast<const Member*>(member)->has_value() ? 1 : 0;
      },
      .at = [](void* member, std::size_t) -> void* { return &**static_cast<Member*>(member); }};
};

/// A word of an enumeration; only the values that pass `fits` are choices.
template <class E, auto fits>
inline constexpr Type kOneOf = [] {
  Type type = TypeOf<E>::type;
  type.choices = [] {
    std::vector<Choice> choices = choices_of<E>();
    std::erase_if(choices,
                  [](const Choice& choice) { return !fits(static_cast<E>(choice.value)); });
    return choices;
  };
  return type;
}();
template <class E, auto fits>
inline constexpr Type kOneOrNone = [] {
  Type type = TypeOf<std::optional<E>>::type;
  type.inner = &kOneOf<E, fits>;
  return type;
}();

/// A flag with a word for each of its values.
constexpr Type flag_type(std::vector<Choice> (*choices)()) {
  return {.form = Form::Choice,
          .put = TypeOf<bool>::type.put,
          .get = TypeOf<bool>::type.get,
          .choices = choices};
}

/// A quantity as a plain number in base units.
template <class Q>
inline constexpr Type kPlainNumber{.form = Form::Number,
                                   .put_real = TypeOf<Q>::type.put_real,
                                   .get_real = TypeOf<Q>::type.get_real};

/// A vector as one of the list forms.
template <class T, Form list, const Type* inner = &TypeOf<T>::type>
constexpr Type list_type(std::string_view name = {}, std::size_t most = 1000) {
  using Member = std::vector<T>;
  return {
      .form = list,
      .name = name,
      .inner = inner,
      .most = most,
      .resize = [](void* member, std::size_t size) { static_cast<Member*>(member)->resize(size); },
      .size = [](const void* member) { return static_cast<const Member*>(member)->size(); },
      .at = [](void* member, std::size_t index) -> void* {
        return &(*static_cast<Member*>(member))[index];
      }};
}

template <class T>
struct TypeOf<std::vector<T>> {
  static constexpr Type type = list_type<T, Form::Values>();
};

/// `yes` and `no`, which JSON writes as true and false.
extern const Type kYesOrNoType;
/// Type of a value that code reads.
extern const Type kAny;

/// Types that are used only for their form.
constexpr Type list_of(const Type& inner) { return {.form = Form::List, .inner = &inner}; }
constexpr Type map_to(const Type& inner) { return {.form = Form::Map, .inner = &inner}; }
constexpr Type either(const Type& inner, const Type& other, std::string_view key = {}) {
  return {.form = Form::Either, .name = key, .inner = &inner, .other = &other};
}

}  // namespace dfsearch
