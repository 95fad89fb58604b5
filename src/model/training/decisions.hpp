#pragma once
// The decisions of a plan that choose one of a few values, as rows (docs/training.md, section 1).
// The key of configs, the place among the decisions of the search, the values that are searched,
// the key of results, reasons, remedies and lines of reports follow from a row.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/training/task.hpp"
#include "schema/schema.hpp"

namespace dfsearch::training {

/// Values of a decision as numbers: the number itself, or the index in an enumeration.
using Values = std::vector<std::int64_t>;

/// The plan up to a decision, and the number of layers of its model.
struct Decided {
  const Task& task;
  const Plan& plan;
  std::int64_t layers;
};

struct Decision {
  Field given;  ///< key of the section `training`: the values that a config allows
  Field taken;  ///< key of a plan
  std::int64_t (*get)(const Plan& plan);
  void (*set)(Plan& plan, std::int64_t value);
  Values (*allowed)(const Choices& choices);  ///< empty: all values are allowed
  std::string (*text)(std::int64_t value);

  /// Removes the given choice and returns whether there was one; null: another decision removes it.
  bool (*open)(Choices& choices);
  std::string_view pin;  ///< the keys that `open` opens
  /// The values that are searched; null for the layout, which is decided first.
  Values (*values)(const Decided& decided) = nullptr;
  /// Whether plans with these degrees differ by its values; null: all do.
  bool (*matters)(const Task& task, const Degrees& degrees) = nullptr;
  std::string_view label = {};   ///< label of its line in reports; empty: another line includes it
  std::string_view remedy = {};  ///< text before the value in a remedy
  /// Whether reports include the line; null: always.
  bool (*is_reported)(const Task& task) = nullptr;
  /// The words of a value that is a set; null: each value has one word.
  std::vector<std::string> (*words)(const Plan& plan) = nullptr;

  [[nodiscard]] std::string text_of(const Plan& plan) const { return text(get(plan)); }
};

/// All decisions, the layout first.  Their order is the order of the search, and it decides ties.
std::span<const Decision> decisions();
/// Rows of all keys of the section `training` that exclude plans, decisions first.
std::vector<Field> choice_rows();
/// The decision with this key, or null.
const Decision* decision_of(std::string_view key);

/// The ways of recomputation that plans of a task may have; without a stack the fastest first.
std::vector<Recompute> recomputes_of(const Task& task);

/// Removes given choices; true if there was one.
template <class... Lists>
bool open_lists(Lists&... lists) {
  const bool was_given = (!lists.empty() || ...);
  (lists.clear(), ...);
  return was_given;
}

/// The values that are in `chosen`; all values if `chosen` is empty.
template <class Value>
std::vector<Value> within(std::vector<Value> all, const std::vector<Value>& chosen) {
  if (!chosen.empty()) {
    std::erase_if(all, [&](const Value& value) {
      return std::find(chosen.begin(), chosen.end(), value) == chosen.end();
    });
  }
  return all;
}

}  // namespace dfsearch::training
