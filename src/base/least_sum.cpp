// Bucket elimination in an order found before (base/elimination_order.hpp).
//
// A step adds up the tables that mention its variable and takes the best value for every
// combination of its neighbours.  Only the value of this variable is kept: the values of variables
// eliminated earlier follow from it, table by table.
//
// Ties: the result is the first of all equal sums, variable by variable.  So two values with equal
// sums are compared by the values that they imply for all variables eliminated into the tables.
// This returns the first of all best choices, by induction: choices in different tables are
// independent, and the first of a combination of independent choices is the combination of their
// firsts, in any order of the list.  So one pass suffices, in any order of elimination.  All pairs
// of entries of a small table are compared in advance, since ties are common; entries of large
// tables are compared on demand.
//
// The values need only + and <, so tuples in lexicographic order serve as well as numbers.
//
// Tested against brute force: tests/base/least_sum_test.cpp,
// tests/model/layer/least_bytes_sharding_test.cpp.

#include "base/least_sum.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace dfsearch {
namespace {

using Values = std::vector<std::uint8_t>;

// Some milliseconds of work.
constexpr std::int64_t kAdditionsBetweenStops = 100'000;
// Entries of a table that are compared in advance.
constexpr std::size_t kFewRows = 8;
constexpr std::size_t kNoVariable = std::numeric_limits<std::size_t>::max();

void add(double& sum, double value) { sum += value; }
void add(LexicographicSum& sum, const LexicographicSum& value) {
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += value[i];
}

/// The first variable in which two choices differ, and whether the second choice has the lesser
/// value.
struct Difference {
  std::size_t variable = kNoVariable;
  bool second_is_first = false;
};

template <class Value>
class LeastSum {
 public:
  /// A merged table has no values.
  struct Table {
    std::vector<std::size_t> variables;
    std::vector<Value> values;
  };

  LeastSum(const std::vector<std::size_t>& sizes, std::size_t terms, const EliminationOrder& order,
           const Deadline& deadline)
      : sizes_(sizes),
        terms_(terms),
        steps_(order.steps),
        deadline_(deadline, kAdditionsBetweenStops),
        values_{Values(sizes.size(), 0), Values(sizes.size(), 0)},
        choices_(order.steps.size()),
        differences_(order.steps.size()) {
    for (const Step& step : steps_) {
      std::size_t lowest = step.variable;
      for (const std::size_t t : step.merged) {
        if (t >= terms_) lowest = std::min(lowest, lowest_[t - terms_]);
      }
      lowest_.push_back(lowest);
    }
  }

  Values solve(std::vector<Table> tables) {
    tables.resize(terms_ + steps_.size());
    return finish(std::move(tables), 0).values;
  }

 private:
  using Step = EliminationOrder::Step;

  struct Best {
    Value sum{};
    Values values;
  };

  /// Location of the entries of a table that is merged.
  struct Operand {
    const Value* entries;
    std::size_t at = 0;
    std::size_t stride = 0;            // of the variable that is eliminated
    std::vector<std::size_t> strides;  // of its neighbours
  };

  Best finish(std::vector<Table>&& tables, std::size_t next) {
    for (; next < steps_.size(); ++next) {
      if (steps_[next].is_tried) return try_values(tables, next);
      eliminate(tables, next);
    }
    Best best;
    for (const Table& table : tables) {
      if (!table.values.empty()) add(best.sum, table.values.front());
    }
    for (std::size_t s = steps_.size(); s-- > 0;) {
      if (!steps_[s].is_tried) values_[0][steps_[s].variable] = choices_[s][row(s, values_[0])];
    }
    best.values = values_[0];
    return best;
  }

  Best try_values(const std::vector<Table>& tables, std::size_t step) {
    const std::size_t variable = steps_[step].variable;
    Best best;
    for (std::size_t v = 0; v < sizes_[variable]; ++v) {
      deadline_.check(kAdditionsBetweenStops);
      for (Values& values : values_) values[variable] = static_cast<std::uint8_t>(v);
      Best found = finish(fixed(tables, variable, v), step + 1);
      const bool is_better = best.values.empty() || found.sum < best.sum ||
                             (found.sum == best.sum && found.values < best.values);
      if (is_better) best = std::move(found);
    }
    return best;
  }

  /// The tables with a variable's value filled in.
  std::vector<Table> fixed(const std::vector<Table>& tables, std::size_t variable,
                           std::size_t value) const {
    std::vector<Table> left = tables;
    for (Table& table : left) {
      const auto found = std::find(table.variables.begin(), table.variables.end(), variable);
      if (table.values.empty() || found == table.variables.end()) continue;
      std::size_t stride = 1;
      for (auto v = found + 1; v != table.variables.end(); ++v) stride *= sizes_[*v];
      std::size_t kept = 0;
      for (std::size_t i = 0; i < table.values.size(); ++i) {
        if ((i / stride) % sizes_[variable] == value) table.values[kept++] = table.values[i];
      }
      table.values.resize(kept);
      table.variables.erase(found);
    }
    return left;
  }

  void eliminate(std::vector<Table>& tables, std::size_t s) {
    const Step& step = steps_[s];
    std::vector<Operand> operands;
    for (const std::size_t t : step.merged) operands.push_back(operand(tables[t], step));
    std::size_t rows = 1;
    for (const std::size_t v : step.neighbours) rows *= sizes_[v];
    std::vector<Value> least(rows);
    choices_[s].assign(rows, 0);
    set_row(s, 0);
    const auto effort = static_cast<std::int64_t>(sizes_[step.variable] * operands.size());
    for (std::size_t r = 0; r < rows; ++r) {
      deadline_.check(effort);
      choose(s, r, operands, least[r]);
      for (std::size_t i = step.neighbours.size(); i-- > 0;) {
        const std::size_t v = step.neighbours[i];
        const std::size_t next = values_[0][v] + std::size_t{1};
        const bool wraps = next == sizes_[v];
        for (Operand& one : operands) {
          one.at += one.strides[i];
          if (wraps) one.at -= next * one.strides[i];
        }
        values_[0][v] = values_[1][v] = wraps ? 0 : static_cast<std::uint8_t>(next);
        if (!wraps) break;
      }
    }
    for (const std::size_t t : step.merged) tables[t] = {};
    tables[terms_ + s] = {.variables = step.neighbours, .values = std::move(least)};
    if (rows <= kFewRows) compare_rows(s, rows);
  }

  Operand operand(const Table& table, const Step& step) const {
    Operand one{.entries = table.values.data(),
                .strides = std::vector<std::size_t>(step.neighbours.size(), 0)};
    std::size_t stride = 1;
    for (std::size_t i = table.variables.size(); i-- > 0;) {
      const std::size_t v = table.variables[i];
      if (v == step.variable) {
        one.stride = stride;
      } else {
        const auto place = std::lower_bound(step.neighbours.begin(), step.neighbours.end(), v);
        one.strides[static_cast<std::size_t>(place - step.neighbours.begin())] = stride;
      }
      stride *= sizes_[v];
    }
    return one;
  }

  void choose(std::size_t s, std::size_t r, const std::vector<Operand>& operands, Value& least) {
    for (std::size_t v = 0; v < sizes_[steps_[s].variable]; ++v) {
      Value sum{};
      for (const Operand& one : operands) add(sum, one.entries[one.at + v * one.stride]);
      const bool is_better =
          v == 0 || sum < least || (sum == least && precedes(s, v, choices_[s][r]));
      if (!is_better) continue;
      least = sum;
      choices_[s][r] = static_cast<std::uint8_t>(v);
    }
  }

  /// Whether `value` implies an earlier choice than `lesser`, in the row whose neighbours have the
  /// values in `values_`.
  bool precedes(std::size_t s, std::size_t value, std::size_t lesser) {
    values_[0][steps_[s].variable] = static_cast<std::uint8_t>(lesser);
    values_[1][steps_[s].variable] = static_cast<std::uint8_t>(value);
    Difference found{.variable = steps_[s].variable, .second_is_first = false};
    for (const std::size_t t : steps_[s].merged) follow(t, found);
    return found.second_is_first;
  }

  void compare_rows(std::size_t s, std::size_t rows) {
    std::vector<Difference>& all = differences_[s];
    all.assign(rows * rows, {});
    for (std::size_t a = 0; a < rows; ++a) {
      for (std::size_t b = a + 1; b < rows; ++b) {
        set_row(s, a, values_[0]);
        set_row(s, b, values_[1]);
        Difference found;
        note_choice(s, a, b, found);
        for (const std::size_t t : steps_[s].merged) follow(t, found);
        all[a * rows + b] = found;
        if (found.variable != kNoVariable) found.second_is_first = !found.second_is_first;
        all[b * rows + a] = found;
      }
    }
  }

  /// Looks for an earlier difference among the variables eliminated into a table.
  void follow(std::size_t table, Difference& found) {
    if (table < terms_) return;
    waiting_.assign(1, table - terms_);
    while (!waiting_.empty()) {
      const std::size_t s = waiting_.back();
      waiting_.pop_back();
      if (found.variable < lowest_[s]) continue;
      const std::size_t a = row(s, values_[0]);
      const std::size_t b = row(s, values_[1]);
      if (a == b) continue;
      if (!differences_[s].empty()) {
        const Difference& known = differences_[s][a * choices_[s].size() + b];
        if (known.variable < found.variable) found = known;
        continue;
      }
      note_choice(s, a, b, found);
      for (const std::size_t t : steps_[s].merged) {
        if (t >= terms_) waiting_.push_back(t - terms_);
      }
    }
  }

  void note_choice(std::size_t s, std::size_t a, std::size_t b, Difference& found) {
    const std::size_t variable = steps_[s].variable;
    const std::uint8_t first = values_[0][variable] = choices_[s][a];
    const std::uint8_t second = values_[1][variable] = choices_[s][b];
    if (first == second || variable > found.variable) return;
    found = {.variable = variable, .second_is_first = second < first};
  }

  [[nodiscard]] std::size_t row(std::size_t s, const Values& values) const {
    std::size_t index = 0;
    for (const std::size_t v : steps_[s].neighbours) index = index * sizes_[v] + values[v];
    return index;
  }

  void set_row(std::size_t s, std::size_t r) {
    for (Values& values : values_) set_row(s, r, values);
  }
  void set_row(std::size_t s, std::size_t r, Values& values) const {
    const std::vector<std::size_t>& neighbours = steps_[s].neighbours;
    for (std::size_t i = neighbours.size(); i-- > 0;) {
      values[neighbours[i]] = static_cast<std::uint8_t>(r % sizes_[neighbours[i]]);
      r /= sizes_[neighbours[i]];
    }
  }

  const std::vector<std::size_t>& sizes_;
  const std::size_t terms_;
  const std::vector<Step>& steps_;
  PacedDeadline deadline_;
  std::array<Values, 2> values_;  // of two choices that are compared; tried variables are in both
  std::vector<Values> choices_;   // by step: the best value for each row of its result
  // Differences between each two rows of a step with a small result.
  std::vector<std::vector<Difference>> differences_;
  std::vector<std::size_t> lowest_;   // by step: the first variable eliminated into its result
  std::vector<std::size_t> waiting_;  // scratch of follow()
};

template <class Value>
Values least_sum_in(const EliminationOrder& order, const std::vector<std::size_t>& sizes,
                    const std::vector<SumTermOf<Value>>& terms, const Deadline& deadline) {
  std::vector<typename LeastSum<Value>::Table> tables;
  tables.reserve(terms.size());
  for (const SumTermOf<Value>& term : terms) tables.push_back({term.variables, term.values});
  return LeastSum<Value>(sizes, terms.size(), order, deadline).solve(std::move(tables));
}

template <class Value>
std::optional<Values> least_sum_of(const std::vector<std::size_t>& sizes,
                                   const std::vector<SumTermOf<Value>>& terms, double most_steps,
                                   const Deadline& deadline) {
  std::vector<std::vector<std::size_t>> variables;
  variables.reserve(terms.size());
  for (const SumTermOf<Value>& term : terms) variables.push_back(term.variables);
  const EliminationOrder order = find_elimination_order(sizes, variables, most_steps, deadline);
  if (order.effort > most_steps) return std::nullopt;
  return least_sum_in(order, sizes, terms, deadline);
}

}  // namespace

std::vector<std::uint8_t> least_sum(const std::vector<std::size_t>& sizes,
                                    const std::vector<SumTerm>& terms,
                                    const EliminationOrder& order, const Deadline& deadline) {
  return least_sum_in(order, sizes, terms, deadline);
}

std::optional<std::vector<std::uint8_t>> least_sum(const std::vector<std::size_t>& sizes,
                                                   const std::vector<SumTerm>& terms,
                                                   double most_steps, const Deadline& deadline) {
  return least_sum_of(sizes, terms, most_steps, deadline);
}

std::optional<std::vector<std::uint8_t>> least_sum(const std::vector<std::size_t>& sizes,
                                                   const std::vector<LexicographicSumTerm>& terms,
                                                   double most_steps, const Deadline& deadline) {
  return least_sum_of(sizes, terms, most_steps, deadline);
}

}  // namespace dfsearch
