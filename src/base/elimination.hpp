#pragma once
// Bucket elimination (Dechter 1999) of a sum, for any notion of the best. (For the least sum alone,
// base/least_sum.cpp has smaller tables.)
//
// The best of a sum of many small terms is found by eliminating variables one after the other: all
// terms that mention the variable are added, its best value is taken for every combination of its
// neighbours, and the result is a new term over these.  Layers are nearly series-parallel, so the
// tables stay tiny.  Where a table would be large, one variable is tried value by value instead,
// which is slower and equally exact.
//
// The cells of the tables define the best of several sums (in base/sum_front.cpp, all sums that no
// other sum dominates).  Any choice among sums is allowed that stays the same if a constant is
// added to all of them.
//
// Ties: the result is the first of all equal sums, variable by variable.  A cell therefore carries
// the first of the best choices of all variables eliminated into it.  Choices made in different
// terms are independent, and the first of a combination of independent choices is the combination
// of their firsts, whatever their places in the list; so one pass suffices, in any order of
// elimination.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <utility>
#include <vector>

#include "base/deadline.hpp"

namespace dfsearch::elimination {

inline constexpr std::size_t kLargestTable = std::size_t{1} << 16;
// Limit of the memory of all tables: terms that need more, or too many steps, are too entangled.
inline constexpr double kMostBytes = 2.5e8;

using Variables = std::vector<std::size_t>;  // ascending
using Values = std::vector<std::uint8_t>;    // one for each variable of a list

/// The remaining effort for a sum; once no steps remain, its result is not valid.
struct Effort {
  double steps_left;
  PacedDeadline deadline;
  double bytes = 0.0;  // of all tables

  void take(double steps) { steps_left -= steps; }
  void hold(double more) {
    bytes += more;
    if (bytes > kMostBytes) steps_left = -1.0;
  }
};

/// A term over a few variables, the first of them running slowest in `cells`.
template <class Cell>
struct Table {
  Variables variables;
  Variables eliminated;
  std::vector<Cell> cells;
};

/// A cell that is added to other cells, and the places of its choices in the sum.
template <class Cell>
struct Summand {
  const Cell* cell;
  const Variables* places;
};

/// No variable.
inline constexpr std::size_t kNone = static_cast<std::size_t>(-1);

/// A `Cell` has
///   offer(summands, width, own, value, effort): adds the summands up, with choices for `width`
///     variables, of which the variable in the place `own` has this value, and keeps the best of
///     this and earlier offers;
///   take(other, variable, value): offers another cell, where `variable` had this value;
///   bytes(width): its memory.
/// A cell without offers is empty.  Throws Stopped.  One thread.
template <class Cell>
class Elimination {
 public:
  using Term = Table<Cell>;

  /// All eliminations of a sum share `effort`.
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

  /// The best, with the values of all variables; not valid if no steps remain.
  Cell solve() && {
    while (!open_.empty() && effort_->steps_left >= 0.0) {
      const std::size_t variable = cheapest();
      if (table_size(neighbours_[variable]) > kLargestTable) return split();
      eliminate(variable);
    }
    std::vector<Summand<Cell>> summands;
    for (const Term& term : terms_) {
      if (!term.cells.empty()) summands.push_back({&term.cells.front(), &term.eliminated});
    }
    Cell best;
    best.offer(summands, sizes_.size(), kNone, 0, *effort_);
    return best;
  }

 private:
  static Variables united(const Variables& a, const Variables& b) {
    Variables both;
    std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
    return both;
  }

  static double bytes_of(const Term& term) {
    double sum = 0.0;
    for (const Cell& cell : term.cells) sum += cell.bytes(term.eliminated.size());
    return sum;
  }

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
    // Ascending, so that terms are added in the order of their creation.
    std::vector<Term> merged;
    for (const std::size_t t : terms_of_[variable]) {
      if (!terms_[t].cells.empty()) merged.push_back(std::exchange(terms_[t], {}));
    }
    Term result{.variables = neighbours_[variable], .eliminated = {variable}, .cells = {}};
    for (const Term& term : merged) result.eliminated = united(result.eliminated, term.eliminated);
    const std::vector<Variables> places = places_in(result.eliminated, merged);
    const std::size_t width = result.eliminated.size();
    const std::size_t rows = table_size(result.variables);
    effort_->take(static_cast<double>(rows * sizes_[variable]) *
                  static_cast<double>(merged.size() + width));
    for (const Term& term : merged) effort_->bytes -= bytes_of(term);
    effort_->hold(static_cast<double>(rows) * Cell().bytes(width));
    std::vector<std::uint8_t> value(sizes_.size(), 0);
    const auto of_row = static_cast<std::int64_t>(sizes_[variable] * (merged.size() + width));
    for (std::size_t row = 0; row < rows; ++row) {
      effort_->deadline.check(of_row);
      std::size_t left = row;
      for (std::size_t i = result.variables.size(); i-- > 0;) {
        value[result.variables[i]] = static_cast<std::uint8_t>(left % sizes_[result.variables[i]]);
        left /= sizes_[result.variables[i]];
      }
      result.cells.push_back(best_cell(variable, merged, places, result.eliminated, value));
      effort_->hold(result.cells.back().bytes(width) - Cell().bytes(width));
    }
    for (const std::size_t v : result.variables) terms_of_[v].push_back(terms_.size());
    terms_.push_back(std::move(result));

    std::erase(open_, variable);
    for (const std::size_t v : neighbours_[variable]) std::erase(neighbours_[v], variable);
    join(neighbours_[variable]);
  }

  /// For each merged term the places of its eliminated variables in `eliminated`.
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

  [[nodiscard]] Cell best_cell(std::size_t variable, const std::vector<Term>& merged,
                               const std::vector<Variables>& places, const Variables& eliminated,
                               std::vector<std::uint8_t>& value) const {
    const auto own = static_cast<std::size_t>(
        std::lower_bound(eliminated.begin(), eliminated.end(), variable) - eliminated.begin());
    Cell best;
    std::vector<Summand<Cell>> summands(merged.size());
    for (std::size_t v = 0; v < sizes_[variable]; ++v) {
      value[variable] = static_cast<std::uint8_t>(v);
      for (std::size_t t = 0; t < merged.size(); ++t) {
        summands[t] = {&cell_at(merged[t], value), &places[t]};
      }
      best.offer(summands, eliminated.size(), own, value[variable], *effort_);
    }
    return best;
  }

  [[nodiscard]] const Cell& cell_at(const Term& term,
                                    const std::vector<std::uint8_t>& value) const {
    std::size_t index = 0;
    for (const std::size_t v : term.variables) index = index * sizes_[v] + value[v];
    return term.cells[index];
  }

  /// Tries every value of the variable with the most neighbours.
  [[nodiscard]] Cell split() const {
    const std::size_t variable =
        *std::max_element(open_.begin(), open_.end(), [this](std::size_t a, std::size_t b) {
          return neighbours_[a].size() < neighbours_[b].size();
        });
    Cell best;
    for (std::size_t v = 0; v < sizes_[variable]; ++v) {
      const double before = effort_->bytes;
      for (const Term& term : terms_) effort_->bytes += bytes_of(term);
      Cell cell = fixed(variable, v).solve();
      effort_->bytes = before;
      best.take(std::move(cell), variable, static_cast<std::uint8_t>(v));
    }
    return best;
  }

  /// This sum with the value of one variable filled in.
  [[nodiscard]] Elimination fixed(std::size_t variable, std::size_t value) const {
    std::vector<Term> terms;
    for (const Term& term : terms_) {
      if (!term.cells.empty()) terms.push_back(term);
    }
    for (Term& term : terms) {
      const auto found = std::find(term.variables.begin(), term.variables.end(), variable);
      if (found == term.variables.end()) continue;
      std::size_t stride = 1;
      for (auto later = found + 1; later != term.variables.end(); ++later) stride *= sizes_[*later];
      std::vector<Cell> kept;
      for (std::size_t i = 0; i < term.cells.size(); ++i) {
        if ((i / stride) % sizes_[variable] == value) kept.push_back(std::move(term.cells[i]));
      }
      term.cells = std::move(kept);
      term.variables.erase(found);
    }
    return {sizes_, std::move(terms), *effort_};
  }

  std::vector<std::size_t> sizes_;
  std::vector<Term> terms_;            // a term that was merged into another has no cells
  Variables open_;                     // not eliminated yet
  std::vector<Variables> neighbours_;  // of each open variable: the variables that share a term
  std::vector<Variables> terms_of_;    // terms that mention each variable, ascending
  Effort* effort_;
};

}  // namespace dfsearch::elimination
