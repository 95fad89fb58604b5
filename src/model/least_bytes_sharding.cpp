// The sharding of least communicated bytes, exactly.
//
// Bytes are a sum of one term per kernel (its own all-reduce) and one per tensor
// (the conversion between two layouts): a weighted constraint graph whose
// variables are the kernels with a choice.  Such a sum is minimised by
// eliminating variables one after the other (bucket elimination, Dechter 1999):
// all terms that mention the variable are added, its best value is taken for
// every combination of its neighbours, and the result is a new term over these.
// Layers are nearly series-parallel, so the tables stay tiny.  Where they would
// not, one variable is tried value by value instead, which is slower and as exact.
//
// Ties: wanted is, among all optima, the first in the order of `Loop`, kernel by
// kernel.  Every entry of a table therefore carries the first of the best choices
// of all variables eliminated into it.  Choices made in different terms are
// independent, and the first of a combination of independent choices is the
// combination of their firsts, whatever their places in the list; so one pass
// suffices, in any order of elimination.
//
// Against brute force: tests/model/least_bytes_sharding_test.cpp.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "model/sharding.hpp"

namespace dfsearch {
namespace {

constexpr std::size_t kLargestTable = std::size_t{1} << 16;
constexpr double kNone = std::numeric_limits<double>::infinity();
// Elementary steps before the graph is declared too entangled: some seconds.
// Layers of transformers, experts and the like take less than a thousandth.
constexpr double kMostSteps = 4e9;

using Variables = std::vector<std::size_t>;  // ascending
using Values = std::vector<std::uint8_t>;    // one for each variable of a list

/// The best that is known for one combination of a term's variables.
struct Entry {
  double bytes = 0.0;
  Values chosen;  // of the term's eliminated variables
};

/// A term over a few variables, the first of them running slowest in `entries`.
struct Term {
  Variables variables;
  Variables eliminated;
  std::vector<Entry> entries;
};

Variables united(const Variables& a, const Variables& b) {
  Variables both;
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  return both;
}

class Elimination {
 public:
  /// `sizes` has the number of values of every variable; the terms mention only
  /// those with more than one.
  /// `steps` counts what all eliminations of a problem do.
  Elimination(std::vector<std::size_t> sizes, std::vector<Term> terms, double& steps)
      : sizes_(std::move(sizes)),
        terms_(std::move(terms)),
        neighbours_(sizes_.size()),
        steps_(&steps) {
    Variables mentioned;
    for (const Term& term : terms_) mentioned = united(mentioned, term.variables);
    open_ = mentioned;
    for (const Term& term : terms_) join(term.variables);
  }

  /// The best values of all variables; those without a choice have value 0.
  Entry solve() && {
    while (!open_.empty()) {
      const std::size_t variable = cheapest();
      if (table_size(neighbours_[variable]) > kLargestTable) return split();
      eliminate(variable);
    }
    Entry best{.bytes = 0.0, .chosen = Values(sizes_.size(), 0)};
    for (const Term& term : terms_) {
      best.bytes += term.entries.front().bytes;
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
    spend(static_cast<double>(rows * sizes_[variable]) *
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

  void spend(double steps) {
    *steps_ += steps;
    if (*steps_ <= kMostSteps) return;
    throw InputError(
        "sharding: the tensors entangle too many kernels for an exact least_bytes sharding, "
        "expected sharding pins for some of them");
  }

  [[nodiscard]] Entry best_entry(std::size_t variable, const std::vector<Term>& merged,
                                 const Variables& eliminated,
                                 std::vector<std::uint8_t>& value) const {
    Entry best{.bytes = kNone, .chosen = {}};
    for (std::size_t v = 0; v < sizes_[variable]; ++v) {
      value[variable] = static_cast<std::uint8_t>(v);
      double bytes = 0.0;
      for (const Term& term : merged) bytes += entry_at(term, value).bytes;
      if (bytes > best.bytes) continue;
      Values chosen(eliminated.size(), 0);
      const auto choose = [&](std::size_t which, std::uint8_t what) {
        const auto place = std::lower_bound(eliminated.begin(), eliminated.end(), which);
        chosen[static_cast<std::size_t>(place - eliminated.begin())] = what;
      };
      choose(variable, value[variable]);
      for (const Term& term : merged) {
        const Entry& entry = entry_at(term, value);
        for (std::size_t i = 0; i < term.eliminated.size(); ++i) {
          choose(term.eliminated[i], entry.chosen[i]);
        }
      }
      if (bytes < best.bytes || chosen < best.chosen) best = {bytes, std::move(chosen)};
    }
    return best;
  }

  [[nodiscard]] const Entry& entry_at(const Term& term,
                                      const std::vector<std::uint8_t>& value) const {
    std::size_t index = 0;
    for (const std::size_t v : term.variables) index = index * sizes_[v] + value[v];
    return term.entries[index];
  }

  /// Tries every value of the variable with the most neighbours.
  [[nodiscard]] Entry split() const {
    const std::size_t variable =
        *std::max_element(open_.begin(), open_.end(), [this](std::size_t a, std::size_t b) {
          return neighbours_[a].size() < neighbours_[b].size();
        });
    Entry best{.bytes = kNone, .chosen = {}};
    for (std::size_t v = 0; v < sizes_[variable]; ++v) {
      Entry entry = fixed(variable, v).solve();
      entry.chosen[variable] = static_cast<std::uint8_t>(v);
      if (entry.bytes < best.bytes || (entry.bytes == best.bytes && entry.chosen < best.chosen)) {
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
      std::vector<Entry> kept;
      for (std::size_t i = 0; i < term.entries.size(); ++i) {
        if ((i / stride) % sizes_[variable] == value) kept.push_back(std::move(term.entries[i]));
      }
      term.entries = std::move(kept);
      term.variables.erase(found);
    }
    return {sizes_, std::move(terms), *steps_};
  }

  std::vector<std::size_t> sizes_;
  std::vector<Term> terms_;
  Variables open_;                     // not eliminated yet
  std::vector<Variables> neighbours_;  // of the open ones: those they share a term with
  double* steps_;
};

/// The choices of a problem as variables and terms.
struct Choices {
  std::vector<std::vector<Loop>> loops;  // per kernel
  std::vector<std::size_t> sizes;        // their number
  std::vector<Term> terms;
};

/// A term over the kernels among `kernels` (ascending) that have a choice.
template <class Bytes>
void add_term(Choices& choices, const Variables& kernels, const Bytes& bytes) {
  Term term;
  for (const std::size_t k : kernels) {
    if (choices.sizes[k] > 1) term.variables.push_back(k);
  }
  const std::vector<Loop>& first = choices.loops[kernels.front()];
  const std::vector<Loop>& last = choices.loops[kernels.back()];
  for (const Loop a : first) {
    if (kernels.size() == 1) {
      term.entries.push_back({.bytes = bytes(a, a), .chosen = {}});
      continue;
    }
    for (const Loop b : last) term.entries.push_back({.bytes = bytes(a, b), .chosen = {}});
  }
  choices.terms.push_back(std::move(term));
}

Choices choices_of(const Problem& problem) {
  const DataflowGraph& graph = problem.workload.graph;
  // Elements in place of bytes: whole numbers, so that ties are exact whatever
  // the word.
  const Bytes word(1.0);
  Choices choices;
  for (std::size_t i = 0; i < graph.kernel_count(); ++i) {
    const Kernel& kernel = graph.kernels()[i];
    const bool pinned = !problem.sharding_pins.empty() && problem.sharding_pins[i];
    choices.loops.push_back(pinned ? std::vector{*problem.sharding_pins[i]}
                                   : shardable_loops(kernel));
    choices.sizes.push_back(choices.loops[i].size());
  }
  for (std::size_t i = 0; i < graph.kernel_count(); ++i) {
    add_term(choices, {i}, [&](Loop loop, Loop) {
      return own_bytes(graph.kernels()[i], loop, word).in_base_units();
    });
  }
  for (const Tensor& tensor : graph.tensors()) {
    const bool forwards = tensor.from < tensor.to;
    Variables ends{tensor.from.index(), tensor.to.index()};
    if (!forwards) std::swap(ends[0], ends[1]);
    add_term(choices, ends, [&](Loop a, Loop b) {
      return conversion_bytes(graph.kernel(tensor.from), forwards ? a : b, graph.kernel(tensor.to),
                              forwards ? b : a, tensor.operand, word)
          .in_base_units();
    });
  }
  return choices;
}

}  // namespace

std::vector<Loop> least_bytes_sharding(const Problem& problem) {
  Choices choices = choices_of(problem);
  double steps = 0.0;
  const Entry best = Elimination(choices.sizes, std::move(choices.terms), steps).solve();
  std::vector<Loop> sharding;
  for (std::size_t k = 0; k < choices.loops.size(); ++k) {
    sharding.push_back(choices.loops[k][best.chosen[k]]);
  }
  return sharding;
}

}  // namespace dfsearch
