// Bucket elimination (Dechter 1999).
//
// Such a sum is minimised by eliminating variables one after the other: all
// terms that mention the variable are added, its best value is taken for every
// combination of its neighbours, and the result is a new term over these.
// Layers are nearly series-parallel, so the tables stay tiny.  Where they would
// not, one variable is tried value by value instead, which is slower and as exact.
//
// Ties: wanted is, among all optima, the first variable by variable.  Every
// entry of a table therefore carries the first of the best choices of all
// variables eliminated into it.  Choices made in different terms are
// independent, and the first of a combination of independent choices is the
// combination of their firsts, whatever their places in the list; so one pass
// suffices, in any order of elimination.
//
// Nothing but + and < is asked of the values, so numbers that are compared one after the
// other do as well as numbers.
//
// Against brute force: tests/base/least_sum_test.cpp and
// tests/model/layer/least_bytes_sharding_test.cpp.

#include "base/least_sum.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

namespace dfsearch {
namespace {

constexpr std::size_t kLargestTable = std::size_t{1} << 16;

// Some milliseconds.
constexpr std::int64_t kStepsBetweenLooks = 100'000;

using Variables = std::vector<std::size_t>;  // ascending
using Values = std::vector<std::uint8_t>;    // one for each variable of a list

void add(double& sum, double value) { sum += value; }
void add(LexicographicSum& sum, const LexicographicSum& value) {
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += value[i];
}

/// The best that is known for one combination of a term's variables.
template <class Value>
struct LeastOf {
  Value sum{};
  Values chosen;  // of the term's eliminated variables
};

/// A term over a few variables, the first of them running slowest in `entries`.
template <class Value>
struct TableOf {
  Variables variables;
  Variables eliminated;
  std::vector<LeastOf<Value>> entries;
};

Variables united(const Variables& a, const Variables& b) {
  Variables both;
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  return both;
}

// More means that the terms are too entangled, as too many steps do.
constexpr double kMostBytes = 2.5e8;

template <class Value>
double bytes_of(const TableOf<Value>& term) {
  constexpr std::size_t kAllocation = 16;
  return static_cast<double>(term.entries.size() *
                             (sizeof(LeastOf<Value>) + kAllocation + term.eliminated.size()));
}

/// What a sum may still cost.
struct Effort {
  double steps_left;
  PacedDeadline deadline;
  double bytes = 0.0;  // of all tables
};

template <class Value>
class Elimination {
 public:
  using Least = LeastOf<Value>;
  using Term = TableOf<Value>;

  /// `effort` is spent by all eliminations of a sum.
  Elimination(std::vector<std::size_t> sizes, std::vector<Term> terms, Effort& effort)
      : sizes_(std::move(sizes)),
        terms_(std::move(terms)),
        neighbours_(sizes_.size()),
        terms_of_(sizes_.size()),
        effort_(&effort) {
    std::vector<bool> mentioned(sizes_.size(), false);
    for (std::size_t t = 0; t < terms_.size(); ++t) {
      join(terms_[t].variables);
      for (const std::size_t v : terms_[t].variables) {
        mentioned[v] = true;
        terms_of_[v].push_back(t);
      }
    }
    for (std::size_t v = 0; v < mentioned.size(); ++v) {
      if (mentioned[v]) open_.push_back(v);
    }
  }

  /// The best values of all variables, or some values once no steps are left.
  Least solve() && {
    while (!open_.empty() && effort_->steps_left >= 0.0) {
      const std::size_t variable = cheapest();
      if (table_size(neighbours_[variable]) > kLargestTable) return split();
      eliminate(variable);
    }
    Least best{.sum = {}, .chosen = Values(sizes_.size(), 0)};
    for (const Term& term : terms_) {
      if (term.entries.empty()) continue;
      add(best.sum, term.entries.front().sum);
      for (std::size_t i = 0; i < term.eliminated.size(); ++i) {
        best.chosen[term.eliminated[i]] = term.entries.front().chosen[i];
      }
    }
    return best;
  }

 private:
  void join(const Variables& variables) {
    for (const std::size_t v : variables) {
      neighbours_[v] = united(neighbours_[v], variables);
      std::erase(neighbours_[v], v);
    }
  }

  [[nodiscard]] std::size_t table_size(const Variables& variables) const {
    std::size_t size = 1;
    for (const std::size_t v : variables) {
      size *= sizes_[v];
      if (size > kLargestTable) break;
    }
    return size;
  }

  [[nodiscard]] std::size_t cheapest() const {
    std::size_t best = open_.front();
    std::size_t best_size = std::numeric_limits<std::size_t>::max();
    for (const std::size_t v : open_) {
      const std::size_t size = table_size(neighbours_[v]);
      if (size >= best_size) continue;
      best = v;
      best_size = size;
      if (size == 1) break;
    }
    return best;
  }

  void eliminate(std::size_t variable) {
    // Ascending, so that sums are in the order in which the terms came up.
    std::vector<Term> merged;
    for (const std::size_t t : terms_of_[variable]) {
      if (!terms_[t].entries.empty()) merged.push_back(std::exchange(terms_[t], {}));
    }
    Term result{.variables = neighbours_[variable], .eliminated = {variable}, .entries = {}};
    for (const Term& term : merged) result.eliminated = united(result.eliminated, term.eliminated);
    const std::vector<Variables> places = places_in(result.eliminated, merged);
    std::vector<std::uint8_t> value(sizes_.size(), 0);
    const std::size_t rows = table_size(result.variables);
    effort_->steps_left -= static_cast<double>(rows * sizes_[variable]) *
                           static_cast<double>(merged.size() + result.eliminated.size());
    for (const Term& term : merged) effort_->bytes -= bytes_of(term);
    effort_->bytes += static_cast<double>(rows * (sizeof(Least) + 16 + result.eliminated.size()));
    if (effort_->bytes > kMostBytes) effort_->steps_left = -1.0;
    const auto of_row =
        static_cast<std::int64_t>(sizes_[variable] * (merged.size() + result.eliminated.size()));
    for (std::size_t row = 0; row < rows; ++row) {
      effort_->deadline.check(of_row);
      std::size_t left = row;
      for (std::size_t i = result.variables.size(); i-- > 0;) {
        value[result.variables[i]] = static_cast<std::uint8_t>(left % sizes_[result.variables[i]]);
        left /= sizes_[result.variables[i]];
      }
      result.entries.push_back(best_entry(variable, merged, places, result.eliminated, value));
    }
    for (const std::size_t v : result.variables) terms_of_[v].push_back(terms_.size());
    terms_.push_back(std::move(result));

    std::erase(open_, variable);
    for (const std::size_t v : neighbours_[variable]) std::erase(neighbours_[v], variable);
    join(neighbours_[variable]);
  }

  /// Of each merged term, where its eliminated variables are among all of them.
  static std::vector<Variables> places_in(const Variables& eliminated,
                                          const std::vector<Term>& merged) {
    std::vector<Variables> places;
    for (const Term& term : merged) {
      Variables& own = places.emplace_back();
      for (const std::size_t v : term.eliminated) {
        const auto place = std::lower_bound(eliminated.begin(), eliminated.end(), v);
        own.push_back(static_cast<std::size_t>(place - eliminated.begin()));
      }
    }
    return places;
  }

  [[nodiscard]] Least best_entry(std::size_t variable, const std::vector<Term>& merged,
                                 const std::vector<Variables>& places, const Variables& eliminated,
                                 std::vector<std::uint8_t>& value) const {
    const auto own = static_cast<std::size_t>(
        std::lower_bound(eliminated.begin(), eliminated.end(), variable) - eliminated.begin());
    Least best;  // nothing chosen: none yet
    Values chosen(eliminated.size(), 0);
    for (std::size_t v = 0; v < sizes_[variable]; ++v) {
      value[variable] = static_cast<std::uint8_t>(v);
      Value sum{};
      for (const Term& term : merged) add(sum, entry_at(term, value).sum);
      if (!best.chosen.empty() && sum > best.sum) continue;
      chosen[own] = value[variable];
      for (std::size_t t = 0; t < merged.size(); ++t) {
        const Least& entry = entry_at(merged[t], value);
        for (std::size_t i = 0; i < places[t].size(); ++i) chosen[places[t][i]] = entry.chosen[i];
      }
      if (best.chosen.empty() || sum < best.sum || chosen < best.chosen) best = {sum, chosen};
    }
    return best;
  }

  [[nodiscard]] const Least& entry_at(const Term& term,
                                      const std::vector<std::uint8_t>& value) const {
    std::size_t index = 0;
    for (const std::size_t v : term.variables) index = index * sizes_[v] + value[v];
    return term.entries[index];
  }

  /// Tries every value of the variable with the most neighbours.
  [[nodiscard]] Least split() const {
    const std::size_t variable =
        *std::max_element(open_.begin(), open_.end(), [this](std::size_t a, std::size_t b) {
          return neighbours_[a].size() < neighbours_[b].size();
        });
    Least best;  // nothing chosen: none yet
    for (std::size_t v = 0; v < sizes_[variable]; ++v) {
      const double before = effort_->bytes;
      for (const Term& term : terms_) effort_->bytes += bytes_of(term);
      Least entry = fixed(variable, v).solve();
      effort_->bytes = before;
      entry.chosen[variable] = static_cast<std::uint8_t>(v);
      if (best.chosen.empty() || entry.sum < best.sum ||
          (entry.sum == best.sum && entry.chosen < best.chosen)) {
        best = std::move(entry);
      }
    }
    return best;
  }

  /// The same sum with one variable's value filled in.
  [[nodiscard]] Elimination fixed(std::size_t variable, std::size_t value) const {
    std::vector<Term> terms;
    for (const Term& term : terms_) {
      if (!term.entries.empty()) terms.push_back(term);
    }
    for (Term& term : terms) {
      const auto found = std::find(term.variables.begin(), term.variables.end(), variable);
      if (found == term.variables.end()) continue;
      std::size_t stride = 1;
      for (auto later = found + 1; later != term.variables.end(); ++later) stride *= sizes_[*later];
      std::vector<Least> kept;
      for (std::size_t i = 0; i < term.entries.size(); ++i) {
        if ((i / stride) % sizes_[variable] == value) kept.push_back(std::move(term.entries[i]));
      }
      term.entries = std::move(kept);
      term.variables.erase(found);
    }
    return {sizes_, std::move(terms), *effort_};
  }

  std::vector<std::size_t> sizes_;
  std::vector<Term> terms_;            // one that was merged into another has no entries
  Variables open_;                     // not eliminated yet
  std::vector<Variables> neighbours_;  // of the open ones: those they share a term with
  std::vector<Variables> terms_of_;    // of each variable those that mention it, ascending
  Effort* effort_;
};

template <class Value>
std::optional<Values> least_sum_of(const std::vector<std::size_t>& sizes,
                                   const std::vector<SumTermOf<Value>>& terms, double most_steps,
                                   const Deadline& deadline) {
  std::vector<TableOf<Value>> tables;
  for (const SumTermOf<Value>& term : terms) {
    TableOf<Value>& table = tables.emplace_back();
    table.variables = term.variables;
    for (const Value& value : term.values) table.entries.push_back({.sum = value, .chosen = {}});
  }
  Effort effort{.steps_left = most_steps, .deadline = PacedDeadline(deadline, kStepsBetweenLooks)};
  LeastOf<Value> best = Elimination<Value>(sizes, std::move(tables), effort).solve();
  if (effort.steps_left < 0.0) return std::nullopt;
  return std::move(best.chosen);
}

}  // namespace

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
