#pragma once
// Expressions of family files: sizes and choices, computed from the fields of a config.json.
//
// Grammar, loosest first: `c ? x : y`, `or`, `and`, `??` (left if not null), `== != < > <= >= in`,
// `+ -`, `* // %`, `- not`, `x[y] x.name f(x, ...)`, numbers, 'text', names, true false null,
// `[x, ...]`.  Whole numbers have 64 bits, and an overflow is an error; decimals are only compared
// and multiplied.  A key that a map lacks, and any key or element of null, is null; arithmetic with
// null is an error.  `//` and `%` round down.

#include <cstddef>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dfsearch {

/// A fault of an expression or of the values in it; readers add the place.
class ExpressionError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct Expression {
  enum class Op : std::uint8_t {
    Literal,
    Name,
    List,
    Index,
    Key,
    Call,
    Not,
    Minus,
    Choose,
    Binary
  };

  Op op = Op::Literal;
  std::string word;        ///< a name, a key, a function or an operator
  nlohmann::json literal;  ///< of a Literal
  std::vector<Expression> parts;
};

/// Throws ExpressionError for a text that is no expression, an unknown function or a wrong number
/// of its arguments.
Expression parse_expression(std::string_view text);

/// The values of names, and the least and greatest length of lists indexed by the layer `i`.
struct NameScope {
  std::function<nlohmann::json(std::string_view name)> value_of;
  /// The stored value, so that lists are not copied; null for computed values.
  std::function<const nlohmann::json*(std::string_view name)> field_of = {};
  std::optional<std::pair<std::size_t, std::size_t>> layers = {};
};

/// The value; only the branch that is taken is evaluated.  Throws ExpressionError.
nlohmann::json evaluate(const Expression& expression, const NameScope& scope);

/// A value as text for messages.
std::string shown(const nlohmann::json& value);

/// Whether a value counts as true: neither null, false, 0 nor empty.
bool is_true(const nlohmann::json& value);

}  // namespace dfsearch
