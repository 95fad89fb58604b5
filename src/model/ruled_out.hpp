#pragma once
// Reasons why a config rules a given answer out.

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/problem.hpp"

namespace dfsearch {

/// One sentence for each decision that is ruled out; empty if the search may find the answer.
using RuledOut = std::vector<std::string>;

/// Reasons for mappings that the model allows and the search leaves out.
namespace not_searched {
inline constexpr const char* kNetwork =
    "network: of dimensions that are alike the search gives the inner one the smaller degree";
inline constexpr const char* kSharding =
    "sharding: it is not the one that communicates least, and search.sharding: joint would search "
    "all";
}  // namespace not_searched

std::string text_of(const RuledOut& reasons);

/// "1, 2 or 4"; "at least 2"; "2 to 8".
std::string text_of(const DegreeChoice& choice);

/// Adds a sentence if the choice does not have the value.
void check_choice(std::string_view key, const DegreeChoice& choice, std::int64_t value,
                  RuledOut& reasons);

/// "key: expected A as in the config, got B".
void add_reason(std::string_view key, const std::string& expected, const std::string& got,
                RuledOut& reasons);

/// Adds a sentence if a list does not have the value; an empty list allows all values.
template <class Value, class NameOf>
void check_list(std::string_view key, const std::vector<Value>& list, const Value& value,
                const NameOf& name, RuledOut& reasons) {
  if (list.empty() || std::find(list.begin(), list.end(), value) != list.end()) return;
  std::string expected;
  for (const Value& one : list) {
    expected += (expected.empty() ? "" : " or ") + std::string(name(one));
  }
  add_reason(key, expected, std::string(name(value)), reasons);
}

}  // namespace dfsearch
