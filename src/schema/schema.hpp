#pragma once
// The keys of configs, declared once: a key is a row of a table beside its struct.
//
//   const Schema& schema_of(Rows<SecondMemory>) {
//     static constexpr Field kFields[] = {
//         field<&SecondMemory::bandwidth>("bandwidth", "of a chip", {.flags = kRequired, ...}),
//         field<&SecondMemory::capacity>("capacity", "of a chip", {.flags = kRequired, ...})};
//     return schema<SecondMemory, kFields>("second memory");
//   }
//
// The reader, the JSON Schema and the tables of docs/formats.md walk the rows at run time.  Only
// the lambda that finds the member in the object, and the lambdas that put a value there, are
// typed: a key with lambdas of different types does not compile.

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include "schema/types.hpp"

namespace dfsearch {

class Report;

inline constexpr unsigned kRequired = 1;
/// A map that may come from a file, with keys on top: `from: FILE`.
inline constexpr unsigned kFromFile = 2;
/// A map that may come from a model of the shelf: `model: NAME`.
inline constexpr unsigned kFromModel = 4;
/// In addition to kFromFile: the name of the file may replace the map.
inline constexpr unsigned kFileName = 16;
/// A key that does not affect costs.
inline constexpr unsigned kNoCost = 8;
/// The least flag that the rules of a struct may define for themselves.
inline constexpr unsigned kOwnFlag = 256;

struct Field {
  std::string_view key;  ///< empty: an object whose keys are in the same map
  std::string_view doc;
  const Type* type = nullptr;
  void* (*in)(void* object) = nullptr;  ///< null: read by code, listed only for its form
  Interval limits = {};
  std::string_view preset = {};  ///< value of an absent key, if it is not the member's own default
  std::string_view none = {};    ///< the word that means the same as an absent key
  std::string_view why = {};     ///< reason why the key is required
  std::string_view unless = {};  ///< the key is required if this other one is absent
  std::string_view with = {};    ///< the key is required if this other one is present
  unsigned flags = 0;

  [[nodiscard]] bool required() const { return (flags & kRequired) != 0; }
};

struct Schema {
  std::string_view name;
  std::span<const Field> fields;
  const void* (*fresh)() = nullptr;  ///< an object with the defaults of its members
  /// An object with the defaults of the preset `published`, if it has its own
  const void* (*published)() = nullptr;
  /// The rules between fields, called if each field is valid; it may also set dependent values.
  void (*check)(void* object, Report& report) = nullptr;
};

/// Further properties of a row.
struct Extra {
  /// Type to use in place of the member's.  No plain pointer, since GCC cannot compare one with
  /// null in a constant expression under -fsanitize=undefined.
  std::optional<const Type*> type = {};
  Interval limits = {};
  std::string_view preset = {};
  std::string_view none = {};
  std::string_view why = {};
  std::string_view unless = {};
  std::string_view with = {};
  unsigned flags = 0;
};

namespace detail {

template <class T>
struct Member;
template <class Object, class Value>
struct Member<Value Object::*> {
  using object = Object;
};

template <auto member>
using ObjectOf = typename Member<decltype(member)>::object;

constexpr Field row(std::string_view key, std::string_view doc, const Type* type,
                    void* (*in)(void*), const Extra& extra) {
  return {.key = key,
          .doc = doc,
          .type = extra.type.value_or(type),
          .in = in,
          .limits = extra.limits,
          .preset = extra.preset,
          .none = extra.none,
          .why = extra.why,
          .unless = extra.unless,
          .with = extra.with,
          .flags = extra.flags};
}

template <auto member, std::size_t... index>
auto& part(void* object) {
  auto& held = static_cast<ObjectOf<member>*>(object)->*member;
  if constexpr (sizeof...(index) == 0) {
    return held;
  } else {
    return (held[index], ...);
  }
}

template <class T>
const void* fresh() {
  static const T object{};
  return &object;
}

}  // namespace detail

/// The key of a member, or of a member of a member.
template <auto member, auto... inner>
constexpr Field field(std::string_view key, std::string_view doc, const Extra& extra = {}) {
  using Object = detail::ObjectOf<member>;
  using Value = std::remove_reference_t<decltype(((std::declval<Object&>().*member).*....*inner))>;
  return detail::row(
      key, doc, &TypeOf<Value>::type,
      [](void* object) -> void* { return &((static_cast<Object*>(object)->*member).*....*inner); },
      extra);
}

/// The key of an element of an array that is a member.
template <std::size_t index, auto member, auto... inner>
constexpr Field element(std::string_view key, std::string_view doc, const Extra& extra = {}) {
  using Object = detail::ObjectOf<member>;
  using Value =
      std::remove_reference_t<decltype(((std::declval<Object&>().*member).*....*inner)[index])>;
  return detail::row(
      key, doc, &TypeOf<Value>::type,
      [](void* object) -> void* {
        return &((static_cast<Object*>(object)->*member).*....*inner)[index];
      },
      extra);
}

/// The type of a value that may stand in place of the map of an object: an optional member of the
/// object, or an element of the member, found from the address of the object.
template <auto member, std::size_t... index>
inline constexpr Type kInPlace = [] {
  using Part = TypeOf<std::remove_reference_t<decltype(detail::part<member, index...>(nullptr))>>;
  Type type = Part::type;
  type.resize = [](void* object, std::size_t size) {
    Part::type.resize(&detail::part<member, index...>(object), size);
  };
  type.size = [](const void* object) {
    return Part::type.size(&detail::part<member, index...>(const_cast<void*>(object)));
  };
  type.at = [](void* object, std::size_t place) {
    return Part::type.at(&detail::part<member, index...>(object), place);
  };
  return type;
}();

/// The keys of a member that is an object; they are in the same map as the keys beside it.  An
/// optional object exists if all its required keys are given.
template <auto member>
constexpr Field keys_of() {
  return field<member>("", "");
}

/// A key for several members, which its type finds in the object.
constexpr Field whole(std::string_view key, std::string_view doc, const Type& type,
                      const Extra& extra = {}) {
  return detail::row(
      key, doc, &type, [](void* object) { return object; }, extra);
}

/// A key that code reads.
constexpr Field by_hand(std::string_view key, std::string_view doc, const Type& type,
                        const Extra& extra = {}) {
  return detail::row(key, doc, &type, nullptr, extra);
}

template <class T>
Schema schema(std::string_view name, std::span<const Field> fields,
              void (*check)(void*, Report&) = nullptr) {
  return {.name = name, .fields = fields, .fresh = &detail::fresh<T>, .check = check};
}
/// The schema of a struct, which is made at the first call.
template <class T, const auto& fields>
const Schema& schema(std::string_view name, void (*check)(void*, Report&) = nullptr) {
  static const Schema instance = schema<T>(name, fields, check);
  return instance;
}

}  // namespace dfsearch
