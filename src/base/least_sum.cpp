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
constexpr double kNone = std::numeric_limits<double>::infinity();

// Some milliseconds.
constexpr double kStepsBetweenLooks = 1e5;

using Variables = std::vector<std::size_t>;  // ascending
using Values = std::vector<std::uint8_t>;    // one for each variable of a list

/// The best that is known for one combination of a term's variables.
struct Least {
  double sum = 0.0;
  Values chosen;  // of the term's eliminated variables
};

/// A term over a few variables, the first of them running slowest in `entries`.
struct Term {
  Variables variables;
  Variables eliminated;
  std::vector<Least> entries;
};

Variables united(const Variables& a, const Variables& b) {
  Variables both;
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  return both;
}

/// What a sum may still cost.
struct Effort {
  double steps_left;
  PacedDeadline deadline;

  void spend(double steps) {
    steps_left -= steps;
    deadline.check(static_cast<std::int64_t>(std::min(steps, kStepsBetweenLooks)));
  }
};

class Elimination {
 public:
  /// `effort` is spent by all eliminations of a sum.
  Elimination(std::vector<std::size_t> sizes, std::vector<Term> terms, Effort& effort)
      : sizes_(std::move(sizes)),
        terms_(std::move(terms)),
        neighbours_(sizes_.size()),
        effort_(&effort) {
    Variables mentioned;
    for (const Term& term : terms_) mentioned = united(mentioned, term.variables);
    open_ = mentioned;
    for (const Term& term : terms_) join(term.variables);
  }

  /// The best values of all variables, or some values once no steps are left.
  Least solve() && {
    while (!open_.empty() && effort_->steps_left >= 0.0) {
      const std::size_t variable = cheapest();
      if (table_size(neighbours_[variable]) > kLargestTable) return split();
      eliminate(variable);
    }
    Least best{.sum = 0.0, .chosen = Values(sizes_.size(), 0)};
    for (const Term& term : terms_) {
      best.sum += term.entries.front().sum;
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
    const auto mentions = [variable](const Term& term) {
      return std::binary_search(term.variables.begin(), term.variables.end(), variable);
    };
    const auto rest = std::stable_partition(terms_.begin(), terms_.end(),
                                            [&](const Term& term) { return !mentions(term); });
    const std::vector<Term> merged(std::make_move_iterator(rest),
                                   std::make_move_iterator(terms_.end()));
    terms_.erase(rest, terms_.end());

    Term result{.variables = neighbours_[variable], .eliminated = {variable}, .entries = {}};
    for (const Term& term : merged) result.eliminated = united(result.eliminated, term.eliminated);
    std::vector<std::uint8_t> value(sizes_.size(), 0);
    const std::size_t rows = table_size(result.variables);
    effort_->spend(static_cast<double>(rows * sizes_[variable]) *
                   static_cast<double>(merged.size() + result.eliminated.size()));
    for (std::size_t row = 0; row < rows; ++row) {
      std::size_t left = row;
      for (std::size_t i = result.variables.size(); i-- > 0;) {
        value[result.variables[i]] = static_cast<std::uint8_t>(left % sizes_[result.variables[i]]);
        left /= sizes_[result.variables[i]];
      }
      result.entries.push_back(best_entry(variable, merged, result.eliminated, value));
    }
    terms_.push_back(std::move(result));

    std::erase(open_, variable);
    for (const std::size_t v : neighbours_[variable]) std::erase(neighbours_[v], variable);
    join(neighbours_[variable]);
  }

  [[nodiscard]] Least best_entry(std::size_t variable, const std::vector<Term>& merged,
                                 const Variables& eliminated,
                                 std::vector<std::uint8_t>& value) const {
    Least best{.sum = kNone, .chosen = {}};
    for (std::size_t v = 0; v < sizes_[variable]; ++v) {
      value[variable] = static_cast<std::uint8_t>(v);
      double sum = 0.0;
      for (const Term& term : merged) sum += entry_at(term, value).sum;
      if (sum > best.sum) continue;
      Values chosen(eliminated.size(), 0);
      const auto choose = [&](std::size_t which, std::uint8_t what) {
        const auto place = std::lower_bound(eliminated.begin(), eliminated.end(), which);
        chosen[static_cast<std::size_t>(place - eliminated.begin())] = what;
      };
      choose(variable, value[variable]);
      for (const Term& term : merged) {
        const Least& entry = entry_at(term, value);
        for (std::size_t i = 0; i < term.eliminated.size(); ++i) {
          choose(term.eliminated[i], entry.chosen[i]);
        }
      }
      if (sum < best.sum || chosen < best.chosen) best = {sum, std::move(chosen)};
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
    Least best{.sum = kNone, .chosen = {}};
    for (std::size_t v = 0; v < sizes_[variable]; ++v) {
      Least entry = fixed(variable, v).solve();
      entry.chosen[variable] = static_cast<std::uint8_t>(v);
      if (entry.sum < best.sum || (entry.sum == best.sum && entry.chosen < best.chosen)) {
        best = std::move(entry);
      }
    }
    return best;
  }

  /// The same sum with one variable's value filled in.
  [[nodiscard]] Elimination fixed(std::size_t variable, std::size_t value) const {
    std::vector<Term> terms = terms_;
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
  std::vector<Term> terms_;
  Variables open_;                     // not eliminated yet
  std::vector<Variables> neighbours_;  // of the open ones: those they share a term with
  Effort* effort_;
};

}  // namespace

std::optional<std::vector<std::uint8_t>> least_sum(const std::vector<std::size_t>& sizes,
                                                   const std::vector<SumTerm>& terms,
                                                   double most_steps, const Deadline& deadline) {
  std::vector<Term> tables;
  for (const SumTerm& term : terms) {
    Term& table = tables.emplace_back();
    table.variables = term.variables;
    for (const double value : term.values) table.entries.push_back({.sum = value, .chosen = {}});
  }
  Effort effort{.steps_left = most_steps,
                .deadline = PacedDeadline(deadline, static_cast<std::int64_t>(kStepsBetweenLooks))};
  Least best = Elimination(sizes, std::move(tables), effort).solve();
  if (effort.steps_left < 0.0) return std::nullopt;
  return std::move(best.chosen);
}

}  // namespace dfsearch
