#pragma once
// Setters of the rows of options: an option sets a member of the command line, or a member of a
// member, by its type.  All report a wrong value as a usage error.

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/units_text.hpp"
#include "cli/option_rows.hpp"
#include "cli/options.hpp"
#include "io/text/input_messages.hpp"
#include "model/machine/machine_schema.hpp"

namespace dfsearch {

inline void put(std::string& to, const OptionRow&, const std::string& value) { to = value; }
inline void put(bool& to, const OptionRow&, const std::string&) { to = true; }
inline void put(int& to, const OptionRow& row, const std::string& value) {
  to = static_cast<int>(parse_count(row.name(), value, row.most));
}
inline void put(std::int64_t& to, const OptionRow& row, const std::string& value) {
  to = parse_count(row.name(), value, row.most);
}
inline void put(double& to, const OptionRow& row, const std::string& value) {
  to = converted(row.name(), [&] { return parse_number(value); });
  if (to >= 0.0 && to <= 1.0) return;
  usage_error(row.name() + ": expected a number from 0 to 1, got " + in_quotes(value));
}
template <int... exponents>
void put(Quantity<exponents...>& to, const OptionRow& row, const std::string& value) {
  to = converted(row.name(), [&] { return parse_quantity<Quantity<exponents...>>(value); });
}
template <HasWords E>
void put(E& to, const OptionRow& row, const std::string& value) {
  to = parse_word<E>(row.name(), value);
}
template <class T>
void put(std::optional<T>& to, const OptionRow& row, const std::string& value) {
  put(to.emplace(), row, value);
}
template <class T>
void put(std::vector<T>& to, const OptionRow& row, const std::string& value) {
  put(to.emplace_back(), row, value);
}

template <auto... members>
void set(CommandLine& line, const OptionRow& row, const std::string& value) {
  put((line.*....*members), row, value);
}

/// Sets a quantity within the limits of machines, so that every time is finite.
template <const Interval& limits, auto... members>
void set_within(CommandLine& line, const OptionRow& row, const std::string& value) {
  set<members...>(line, row, value);
  const auto quantity = (line.*....*members);
  const double amount = quantity.in_base_units();
  if (amount >= limits.least && amount <= limits.most) return;
  using Q = std::remove_const_t<decltype(quantity)>;
  usage_error(fmt::format("{}: expected a quantity from {} to {}, got {}", row.name(),
                          to_text(Q(limits.least)), to_text(Q(limits.most)), in_quotes(value)));
}

/// Sets a member that two flags set to opposite values.
template <bool value>
void set_lookahead(CommandLine& line, const OptionRow&, const std::string&) {
  if (line.hpc.lookahead) usage_error("--lookahead and --no-lookahead exclude each other");
  line.hpc.lookahead = value;
}

/// Sets the value if the row lists it among its words.
template <auto... members>
void set_word(CommandLine& line, const OptionRow& row, const std::string& value) {
  std::vector<std::string_view> words;
  for (std::string_view rest = row.value; !rest.empty();) {
    words.push_back(rest.substr(0, rest.find('|')));
    if (words.back() == value) return set<members...>(line, row, value);
    rest.remove_prefix(std::min(rest.size(), words.back().size() + 1));
  }
  refuse_word(row.name(), value, words);
}

}  // namespace dfsearch
