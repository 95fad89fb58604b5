// An object has up to three definitions: the whole object; a part of it, which requires no key, as
// a file has the other keys; and the map that names such a file.  YAML 1.1 and 1.2 read yes and no
// differently, so booleans and words are allowed.  Only the program checks ranges of quantities and
// rules between keys, which a pattern cannot express.

#include <fmt/format.h>

#include "io/schema/write_schema.hpp"

#include <algorithm>
#include "io/text/json_text.hpp"

namespace dfsearch {
namespace {

enum class Extent : std::uint8_t { Whole, Part, FromFile, FromModel };

Json plain_number(double value) { return written(value); }

/// The default of a member; null for no value or several.
Json default_of(const Type& type, const void* member) {
  const Json value = written(type, member);
  return value.is_primitive() ? value : Json();
}

/// A constant with one or more values as text: "0.13 ms", "0.8, 1, 1.25"; empty for other types.
std::string constant_of(const Type& type, void* member) {
  std::string text;
  if (type.form != Form::Values || !type.inner->get_real) return text;
  for (std::size_t i = 0; i < type.size(member); ++i) {
    const double value = type.inner->get_real(type.at(member, i));
    text += (i > 0 ? ", " : "") +
            (type.inner->unit ? type.inner->unit->text(value) : fmt::format("{}", value));
  }
  return text;
}

class SchemaWriter {
 public:
  Json write(const Type& type, std::string_view title) {
    Json top = {{"$schema", "http://json-schema.org/draft-07/schema#"}, {"title", title}};
    top.update(value(type, Field{}, Extent::Whole));
    top["definitions"] = std::move(definitions_);
    return top;
  }

 private:
  static Json words(const Type& type) {
    Json all = Json::array();
    for (const Choice& choice : type.choices()) {
      all.push_back(choice.name);
      if (choice.name == "true" || choice.name == "false") all.back() = choice.name == "true";
    }
    return {{"enum", std::move(all)}};
  }

  static Json count(const Interval& limits) {
    const double most = limits.given() ? limits.most : static_cast<double>(kLargestCount);
    return {{"type", "integer"},
            {"minimum", plain_number(limits.given() ? limits.least : 1.0)},
            {"maximum", static_cast<std::int64_t>(most)}};
  }

  static Json quantity(const Unit& unit) {
    return {
        {"title", unit.name},
        {"type", "string"},
        {"pattern", "^ *[0-9]*[.]?[0-9]*([eE][+-]?[0-9]+)? *" + std::string(unit.pattern) + " *$"}};
  }

  Json one_of(const Json& first, const Json& second) { return {{"anyOf", {first, second}}}; }

  Json value(const Type& type, const Field& field, Extent extent) {
    const auto inner = [&] { return value(*type.inner, field, extent); };
    const Interval& limits = type.limits.given() ? type.limits : field.limits;
    switch (type.form) {
      case Form::Flag:
        return {{"type", "boolean"}};
      case Form::Count:
        return count(limits);
      case Form::Number:
        return {{"type", "number"},
                {"minimum", plain_number(limits.least)},
                {"maximum", plain_number(limits.most)}};
      case Form::Quantity:
        return type.inner ? one_of(quantity(*type.unit), inner()) : quantity(*type.unit);
      case Form::Choice:
        return type.inner ? one_of(words(type), inner()) : words(type);
      case Form::Word:
        return {{"type", "string"}};
      case Form::Object:
        return object(type.schema(), extent);
      case Form::Optional:
        return inner();
      case Form::Each:
      case Form::Values:
        return one_of(inner(), {{"type", "array"}, {"items", inner()}});
      case Form::Range:
        return {{"anyOf",
                 {count({}),
                  {{"type", "array"}, {"items", count({})}, {"minItems", 1}},
                  {{"type", "string"}, {"pattern", "^[0-9]*[.][.][0-9]*$"}}}}};
      case Form::List:
        return {{"type", "array"}, {"items", inner()}};
      case Form::Map:
        return {{"type", "object"}, {"additionalProperties", inner()}};
      case Form::Either:
        return either(type, field, extent);
      case Form::Variant:
        return variant(type, extent);
      case Form::Pair:
        return {{"type", "array"},
                {"items", {inner(), value(*type.other, field, extent)}},
                {"minItems", 2},
                {"maxItems", 2}};
      case Form::Words:
        return one_of({{"const", "none"}},
                      {{"type", "array"}, {"items", words(type)}, {"uniqueItems", true}});
      case Form::Any:
        break;
    }
    return Json::object();
  }

  Json either(const Type& type, const Field& field, Extent extent) {
    const Json first = value(*type.inner, field, extent);
    const Json second = value(*type.other, field, extent);
    if (type.name.empty() || extent != Extent::Whole) return one_of(first, second);
    return {{"if", {{"required", {type.name}}}}, {"then", second}, {"else", first}};
  }

  /// For Extent::Part the key that chooses the variant may be missing.
  Json variant(const Type& type, Extent extent) {
    Json ways = Json::array();
    for (const Choice& choice : type.choices()) {
      Json way = object(type.schema_for(choice.value), extent);
      if (extent == Extent::Whole) {
        way = {{"if", {{"properties", {{type.name, {{"const", choice.name}}}}}}}, {"then", way}};
      }
      if (std::find(ways.begin(), ways.end(), way) == ways.end()) ways.push_back(way);
    }
    if (extent != Extent::Whole) return {{"anyOf", ways}};
    ways.push_back({{"required", {type.name}}, {"properties", {{type.name, words(type)}}}});
    return {{"allOf", ways}};
  }

  Json object(const Schema& schema, Extent extent) {
    std::string name(schema.name);
    if (extent == Extent::Part) name += " in part";
    if (extent == Extent::FromFile) name += " from a file";
    if (extent == Extent::FromModel) name += " from a model";
    if (!definitions_.contains(name)) {
      definitions_[name] = nullptr;  // it may contain itself
      Json properties = Json::object();
      Json rules = Json::object();
      if (extent == Extent::FromModel) {
        properties["model"] = {{"type", "string"},
                               {"description", "the model of the shelf with the other keys"}};
      }
      if (extent == Extent::FromFile || extent == Extent::FromModel) {
        properties["from"] = {
            {"type", "string"},
            {"description", "the file, or its name on the shelf, with the other keys"}};
      }
      const Extent inside = extent == Extent::Whole ? Extent::Whole : Extent::Part;
      add_keys(schema, schema.fresh ? schema.fresh() : nullptr,
               schema.published ? schema.published() : nullptr, inside, properties, rules);
      Json made = {{"type", "object"}, {"additionalProperties", false}};
      made["properties"] = std::move(properties);
      made.update(rules);
      definitions_[name] = std::move(made);
    }
    std::string path = "#/definitions/" + name;
    for (std::size_t at = 0; (at = path.find(' ', at)) != std::string::npos;) {
      path.replace(at, 1, "%20");
    }
    return {{"$ref", path}};
  }

  void add_keys(const Schema& schema, const void* fresh, const void* published, Extent extent,
                Json& properties, Json& rules) {
    for (const Field& field : schema.fields) {
      const void* member = field.in ? field.in(const_cast<void*>(fresh)) : nullptr;
      if (field.key.empty()) {
        const bool optional = field.type->form == Form::Optional;
        const Schema& inner = (optional ? field.type->inner : field.type)->schema();
        add_keys(inner, optional ? inner.fresh() : member,
                 inner.published ? inner.published() : nullptr, optional ? Extent::Part : extent,
                 properties, rules);
        continue;
      }
      const std::string key(field.key);
      properties[key] = property(field, member, published, extent);
      if (extent != Extent::Whole) continue;
      if (field.required()) rules["required"].push_back(key);
      if (!field.unless.empty()) {
        const Json either = {{{"required", {key}}}, {{"required", {field.unless}}}};
        if (rules.contains("anyOf")) {
          rules["allOf"].push_back({{"anyOf", either}});
        } else {
          rules["anyOf"] = either;
        }
      }
      if (!field.with.empty()) rules["dependencies"][std::string(field.with)].push_back(key);
    }
  }

  Json property(const Field& field, const void* member, const void* published, Extent extent) {
    Json made =
        (field.flags & kFromFile) != 0 ? section(field, extent) : value(*field.type, field, extent);
    if (!field.none.empty()) made = one_of({{"const", field.none}}, made);
    if (made.contains("$ref")) made = {{"allOf", {made}}};
    if (!field.doc.empty()) made["description"] = field.doc;
    if (!field.preset.empty()) {
      made["leftOut"] = field.preset;
    } else if (member && !field.required() && field.unless.empty() && field.with.empty()) {
      const Json held = default_of(*field.type, member);
      const std::string constant = constant_of(*field.type, const_cast<void*>(member));
      if (held.is_null()) {
        made["leftOut"] = constant.empty() ? "none" : constant;
      } else {
        made["default"] = held.is_string() && !constant.empty() ? Json(constant) : held;
      }
    }
    if (published && field.in) {
      const Json held = default_of(*field.type, field.in(const_cast<void*>(published)));
      if (!held.is_null()) made["published"] = held;
    }
    return made;
  }

  /// A map that may name a file.
  Json section(const Field& field, Extent extent) {
    if (field.type->form == Form::Any) return {{"type", "object"}};
    if ((field.flags & kFileName) != 0) {
      Field map = field;
      map.flags &= ~kFileName;
      return one_of({{"type", "string"}}, section(map, extent));
    }
    const bool model = (field.flags & kFromModel) != 0;
    Json given = {{"required", {"from"}}};
    if (model) given = one_of(given, {{"required", {"model"}}});
    return {{"if", given},
            {"then", value(*field.type, field, model ? Extent::FromModel : Extent::FromFile)},
            {"else", value(*field.type, field, extent)}};
  }

  Json definitions_ = Json::object();
};

}  // namespace

std::string json_schema(const Type& type, std::string_view title) {
  return json_text(SchemaWriter().write(type, title));
}

}  // namespace dfsearch
