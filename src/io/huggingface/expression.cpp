// A parser by recursive descent and an evaluator of its trees.

#include "io/huggingface/expression.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>

#include "io/text/input_messages.hpp"

namespace dfsearch {
namespace {

using Value = nlohmann::json;
using Op = Expression::Op;

constexpr int kDeepestExpression = 60;

[[noreturn]] void fail(const std::string& what) { throw ExpressionError(what); }

std::int64_t whole(const Value& value) {
  if (value.is_null()) fail("a field is missing");
  if (!value.is_number_integer()) fail("expected a whole number, got " + shown(value));
  return value.get<std::int64_t>();
}

[[noreturn]] void overflow() { fail("a number is beyond 64 bits"); }
std::int64_t sum_of(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (__builtin_add_overflow(a, b, &result)) overflow();
  return result;
}
std::int64_t product_of(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result)) overflow();
  return result;
}
/// Rounded down.
std::int64_t quotient_of(std::int64_t a, std::int64_t b) {
  if (b == 0) fail("a division by 0");
  if (b == -1) return product_of(a, -1);
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}
std::int64_t ceiling_of(std::int64_t a, std::int64_t b) {
  return product_of(quotient_of(product_of(a, -1), b), -1);
}

Value item_of(const Value& list, const Value& index) {
  if (list.is_null()) return {};
  if (list.is_object()) {
    const auto found = index.is_string() ? list.find(index.get<std::string>()) : list.end();
    return found == list.end() ? Value() : *found;
  }
  const bool is_text = list.is_string();
  if (!is_text && !list.is_array()) fail("expected a list, got " + shown(list));
  const std::size_t size = is_text ? list.get_ref<const std::string&>().size() : list.size();
  const std::int64_t at = whole(index);
  if (at < 0 || static_cast<std::size_t>(at) >= size) {
    fail(fmt::format("a list of {} elements has none at {}", size, at));
  }
  const auto place = static_cast<std::size_t>(at);
  if (is_text) return std::string(1, list.get_ref<const std::string&>()[place]);
  return list[place];
}

struct Function {
  std::string_view name;
  std::size_t least, most;  ///< arguments
  Value (*call)(const std::vector<Value>& arguments);
};

/// The numbers of the list if it is the only argument, else the arguments themselves.
std::vector<std::int64_t> numbers_of(const std::vector<Value>& arguments) {
  const bool is_list = arguments.size() == 1 && arguments[0].is_array();
  const Value list = is_list ? arguments[0] : Value(arguments);
  std::vector<std::int64_t> numbers;
  for (const Value& number : list) numbers.push_back(whole(number));
  if (numbers.empty()) fail("expected a list with elements");
  return numbers;
}

Value length(const std::vector<Value>& a) {
  if (a[0].is_string()) return static_cast<std::int64_t>(a[0].get_ref<const std::string&>().size());
  if (!a[0].is_structured()) fail("expected a list or text, got " + shown(a[0]));
  return static_cast<std::int64_t>(a[0].size());
}

Value sum(const std::vector<Value>& a) {
  std::int64_t total = 0;
  for (const std::int64_t number : numbers_of(a)) total = sum_of(total, number);
  return total;
}

Value truncated(const std::vector<Value>& a) {
  if (!a[0].is_number_float()) return whole(a[0]);
  const double number = a[0].get<double>();
  if (std::abs(number) >= 9e18) overflow();
  return static_cast<std::int64_t>(number);
}

Value range(const std::vector<Value>& a) {
  constexpr std::int64_t kLongest = 100'000;
  const std::int64_t begin = a.size() > 1 ? whole(a[0]) : 0;
  const std::int64_t end = whole(a.back());
  if (sum_of(end, product_of(begin, -1)) > kLongest) fail("a range of more than 100000 numbers");
  Value list = Value::array();
  for (std::int64_t number = begin; number < end; ++number) list.push_back(number);
  return list;
}

std::int64_t occurrences(const Value& list, const Value& item) {
  if (!list.is_array()) fail("expected a list, got " + shown(list));
  return std::count(list.begin(), list.end(), item);
}

bool ends(const Value& text, const Value& end) {
  return text.is_string() && end.is_string() &&
         text.get_ref<const std::string&>().ends_with(end.get_ref<const std::string&>());
}

Value member_or(const std::vector<Value>& a) {
  const bool has = a[0].is_object() && a[1].is_string() && a[0].contains(a[1].get<std::string>());
  return has ? a[0].at(a[1].get<std::string>()) : a[2];
}

constexpr std::array kFunctions = {
    Function{"len", 1, 1, length},
    Function{"min", 1, 99, [](const auto& a) { return Value(std::ranges::min(numbers_of(a))); }},
    Function{"max", 1, 99, [](const auto& a) { return Value(std::ranges::max(numbers_of(a))); }},
    Function{"sum", 1, 99, sum},
    Function{"ceil", 2, 2,
             [](const auto& a) { return Value(ceiling_of(whole(a[0]), whole(a[1]))); }},
    Function{"round_up", 2, 2,
             [](const auto& a) {
               return Value(product_of(ceiling_of(whole(a[0]), whole(a[1])), whole(a[1])));
             }},
    Function{"int", 1, 1, truncated},
    Function{"count", 2, 2, [](const auto& a) { return Value(occurrences(a[0], a[1])); }},
    Function{"ends", 2, 2, [](const auto& a) { return Value(ends(a[0], a[1])); }},
    Function{"range", 1, 2, range},
    Function{"get", 3, 3, member_or},
    Function{"at", 2, 2, [](const auto& a) { return item_of(a[0], a[1]); }},
    Function{"is_list", 1, 1, [](const auto& a) { return Value(a[0].is_array()); }},
};

const Function& function_of(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Function& function : kFunctions) {
    if (function.name == name) return function;
    names.push_back(function.name);
  }
  fail("unknown function " + in_quotes(name) + suggestion(name, names));
}

/// Binary operators by precedence, lowest first; an operator stands before its own prefixes.
constexpr std::array<std::array<std::string_view, 7>, 6> kLevels = {{
    {"or"},
    {"and"},
    {"??"},
    {"==", "!=", "<=", ">=", "<", ">", "in"},
    {"+", "-"},
    {"*", "//", "%"},
}};

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Expression all() {
    Expression tree = choice();
    skip_blanks();
    if (at_ < text_.size()) fail("expected an operator at " + in_quotes(text_.substr(at_)));
    return tree;
  }

 private:
  static bool is_of_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

  void skip_blanks() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }
  bool take(std::string_view word) {
    skip_blanks();
    if (word.empty() || !text_.substr(at_).starts_with(word)) return false;
    const std::size_t end = at_ + word.size();
    if (is_of_name(word[0]) && end < text_.size() && is_of_name(text_[end])) return false;
    if (word == "?" && text_.substr(at_).starts_with("??")) return false;
    at_ = end;
    return true;
  }
  void need(std::string_view word) {
    if (!take(word)) fail(fmt::format("expected '{}' at {}", word, in_quotes(text_.substr(at_))));
  }
  std::string name() {
    skip_blanks();
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_of_name(text_[at_])) ++at_;
    if (begin == at_) fail("expected a value at " + in_quotes(text_.substr(at_)));
    return std::string(text_.substr(begin, at_ - begin));
  }

  Expression choice() {
    if (++depth_ > kDeepestExpression) fail("nested too deeply");
    Expression tree = binary(0);
    if (take("?")) {
      Expression first = choice();
      need(":");
      tree = {Op::Choose, "", {}, {std::move(tree), std::move(first), choice()}};
    }
    --depth_;
    return tree;
  }
  Expression binary(std::size_t level) {
    if (level == kLevels.size()) return unary();
    Expression tree = binary(level + 1);
    for (bool again = true; again;) {
      again = false;
      for (const std::string_view word : kLevels[level]) {
        if (!take(word)) continue;
        tree = {Op::Binary, std::string(word), {}, {std::move(tree), binary(level + 1)}};
        again = true;
        break;
      }
    }
    return tree;
  }
  Expression unary() {
    const bool negates = take("not");
    if (!negates && !take("-")) return postfix();
    if (++depth_ > kDeepestExpression) fail("nested too deeply");
    Expression tree{negates ? Op::Not : Op::Minus, "", {}, {unary()}};
    --depth_;
    return tree;
  }
  Expression postfix() {
    Expression tree = primary();
    while (true) {
      if (take("[")) {
        tree = {Op::Index, "", {}, {std::move(tree), choice()}};
        need("]");
      } else if (take(".")) {
        tree = {Op::Key, name(), {}, {std::move(tree)}};
      } else {
        return tree;
      }
    }
  }
  std::vector<Expression> list(std::string_view end) {
    std::vector<Expression> items;
    while (!take(end)) {
      if (!items.empty()) need(",");
      items.push_back(choice());
    }
    return items;
  }
  Expression primary() {
    if (take("(")) {
      Expression tree = choice();
      need(")");
      return tree;
    }
    if (take("[")) return {Op::List, "", {}, list("]")};
    if (take("'")) {
      const std::size_t end = text_.find('\'', at_);
      if (end == std::string_view::npos) fail("a quote is never closed");
      Expression tree{Op::Literal, "", std::string(text_.substr(at_, end - at_)), {}};
      at_ = end + 1;
      return tree;
    }
    const std::string word = name();
    if (std::isdigit(static_cast<unsigned char>(word[0]))) return number(word);
    if (word == "true" || word == "false") return {Op::Literal, "", word == "true", {}};
    if (word == "null") return {};
    if (!take("(")) return {Op::Name, word, {}, {}};
    Expression call{Op::Call, word, {}, list(")")};
    const Function& function = function_of(word);
    if (call.parts.size() < function.least || call.parts.size() > function.most) {
      fail(fmt::format("{} takes {} arguments, got {}", word, function.least, call.parts.size()));
    }
    return call;
  }
  Expression number(std::string word) {
    if (at_ + 1 < text_.size() && text_[at_] == '.' &&
        std::isdigit(static_cast<unsigned char>(text_[at_ + 1]))) {
      ++at_;
      word += "." + name();
    }
    if (!Value::accept(word) || word.size() > 18) {
      fail("expected a number, got " + in_quotes(word));
    }
    return {Op::Literal, "", Value::parse(word), {}};
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

bool is_less(const Value& a, const Value& b) {
  if (a.is_null() || b.is_null()) fail("a field is missing");
  if (!a.is_number() || !b.is_number()) fail("expected numbers, got " + shown(a) + ", " + shown(b));
  return a < b;
}

bool is_in(const Value& item, const Value& list) {
  if (list.is_null()) fail("a field is missing");
  if (list.is_string() && item.is_string()) {
    return list.get_ref<const std::string&>().find(item.get_ref<const std::string&>()) !=
           std::string::npos;
  }
  return occurrences(list, item) > 0;
}

Value element(const Value& list, const Value& index, const Expression& by, const NameScope& scope) {
  if (scope.layers && by.op == Op::Name && by.word == "i" && list.is_array() &&
      (list.size() < scope.layers->first || list.size() > scope.layers->second)) {
    fail(fmt::format("a list of {} elements, expected one for each of {} layers", list.size(),
                     scope.layers->first));
  }
  return item_of(list, index);
}

Value operated(const std::string& word, const Value& a, const Value& b) {
  if (word == "==") return a == b;
  if (word == "!=") return a != b;
  if (word == "<") return is_less(a, b);
  if (word == ">") return is_less(b, a);
  if (word == "<=") return !is_less(b, a);
  if (word == ">=") return !is_less(a, b);
  if (word == "in") return is_in(a, b);
  if (word == "+" && a.is_array() && b.is_array()) {
    Value list = a;
    list.insert(list.end(), b.begin(), b.end());
    return list;
  }
  if (word == "*" && a.is_number() && b.is_number() &&
      (a.is_number_float() || b.is_number_float())) {
    return a.get<double>() * b.get<double>();
  }
  const std::int64_t left = whole(a), right = whole(b);
  if (word == "+") return sum_of(left, right);
  if (word == "-") return sum_of(left, product_of(right, -1));
  if (word == "*") return product_of(left, right);
  const std::int64_t quotient = quotient_of(left, right);
  return word == "//" ? quotient : left - quotient * right;
}

}  // namespace

std::string shown(const Value& value) {
  if (value.is_array()) return "a list";
  if (value.is_object()) return "a map";
  return in_quotes(value.is_string() ? value.get<std::string>() : value.dump());
}

Expression parse_expression(std::string_view text) { return Parser(text).all(); }

bool is_true(const Value& value) {
  if (value.is_null()) return false;
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number()) return value.get<double>() != 0.0;
  return value.is_string() ? !value.get_ref<const std::string&>().empty() : !value.empty();
}

Value evaluate(const Expression& expression, const NameScope& scope) {
  const auto part = [&](std::size_t index) { return evaluate(expression.parts[index], scope); };
  Value made;
  const auto first = [&]() -> const Value& {
    const Expression& of = expression.parts[0];
    const Value* kept = of.op == Op::Name && scope.field_of ? scope.field_of(of.word) : nullptr;
    if (!kept) made = part(0);
    return kept ? *kept : made;
  };
  switch (expression.op) {
    case Op::Literal:
      return expression.literal;
    case Op::Name:
      return scope.value_of(expression.word);
    case Op::List: {
      Value list = Value::array();
      for (const Expression& item : expression.parts) list.push_back(evaluate(item, scope));
      return list;
    }
    case Op::Index:
      return element(first(), part(1), expression.parts[1], scope);
    case Op::Key: {
      const Value& map = first();
      if (map.is_null()) return {};
      if (!map.is_object()) fail("expected a map, got " + shown(map));
      return map.contains(expression.word) ? map.at(expression.word) : Value();
    }
    case Op::Call: {
      std::vector<Value> arguments;
      for (const Expression& item : expression.parts) arguments.push_back(evaluate(item, scope));
      return function_of(expression.word).call(arguments);
    }
    case Op::Not:
      return !is_true(part(0));
    case Op::Minus:
      return product_of(whole(part(0)), -1);
    case Op::Choose:
      return part(is_true(first()) ? 1 : 2);
    case Op::Binary:
      break;
  }
  const Value left = part(0);
  if (expression.word == "or") return is_true(left) || is_true(part(1));
  if (expression.word == "and") return is_true(left) && is_true(part(1));
  if (expression.word == "??") return left.is_null() ? part(1) : left;
  return operated(expression.word, left, part(1));
}

}  // namespace dfsearch
