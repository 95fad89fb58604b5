// Elimination without numbers: which tables merge, and how large the results are.
//
// The size of a table follows from its variables, so the whole effort is known before the first
// number is added.  A sum that would take too long is thus given up at once.
//
// Tested with the sums: tests/base/least_sum_test.cpp.

#include "base/elimination_order.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <queue>
#include <utility>

namespace dfsearch {
namespace {

using Variables = std::vector<std::size_t>;

constexpr std::size_t kLargestTable = std::size_t{1} << 16;
constexpr double kMostBytes = 2.5e8;
// Memory of an entry while it is computed.
constexpr double kBytesOfValue = 24.0;
// An effort below a millisecond or two does not justify another order.
constexpr double kShortEffort = 1e6;
// The order from the last variable to the first may take this many times the effort, since its ties
// are cheap: eliminated variables come after all remaining variables, so that one comparison
// decides a tie instead of many.
constexpr double kWorthOfTies = 4.0;
// Steps of the search for the order between two checks of the clock: some milliseconds.
constexpr std::int64_t kStepsBetweenChecks = 100'000;
constexpr double kNever = std::numeric_limits<double>::infinity();

void insert(Variables& into, std::size_t variable) {
  const auto place = std::lower_bound(into.begin(), into.end(), variable);
  if (place == into.end() || *place != variable) into.insert(place, variable);
}

void drop(Variables& from, std::size_t variable) {
  const auto place = std::lower_bound(from.begin(), from.end(), variable);
  if (place != from.end() && *place == variable) from.erase(place);
}

class OrderFinder {
 public:
  OrderFinder(const std::vector<std::size_t>& sizes, const std::vector<Variables>& terms,
              double most_effort, const Deadline& deadline)
      : sizes_(sizes),
        most_effort_(most_effort),
        deadline_(deadline, kStepsBetweenChecks),
        tables_(terms),
        is_merged_(terms.size(), false),
        neighbours_(sizes.size()),
        tables_of_(sizes.size()),
        is_open_(sizes.size(), false) {
    for (std::size_t t = 0; t < terms.size(); ++t) {
      live_entries_ += static_cast<double>(table_size(terms[t]));
      for (const std::size_t v : terms[t]) {
        tables_of_[v].push_back(t);
        is_open_[v] = true;
      }
      join(terms[t]);
    }
  }

  EliminationOrder in_smallest_table_order() && {
    for (std::size_t v = 0; v < sizes_.size(); ++v) queue(v);
    while (!queue_.empty() && order_.effort < kNever) {
      const auto [size, variable] = queue_.top();
      queue_.pop();
      // Skips entries of variables that were queued again with another size.
      if (!is_open_[variable] || size != table_size(neighbours_[variable])) continue;
      if (size > kLargestTable) {
        try_values();
        queue(variable);
      } else {
        eliminate(variable);
      }
    }
    return std::move(order_);
  }

  EliminationOrder from_last_to_first() && {
    for (std::size_t v = sizes_.size(); v-- > 0 && order_.effort < kNever;) {
      while (is_open_[v] && table_size(neighbours_[v]) > kLargestTable) try_values();
      if (is_open_[v]) eliminate(v);
    }
    return std::move(order_);
  }

 private:
  void join(const Variables& variables) {
    for (const std::size_t v : variables) {
      deadline_.check(static_cast<std::int64_t>(variables.size()));
      for (const std::size_t other : variables) {
        if (other != v) insert(neighbours_[v], other);
      }
    }
  }

  [[nodiscard]] std::size_t table_size(const Variables& variables) const {
    std::size_t size = 1;
    for (const std::size_t v : variables) {
      size *= sizes_[v];
      if (size > kLargestTable) return kLargestTable + 1;
    }
    return size;
  }

  void queue(std::size_t variable) {
    if (is_open_[variable]) queue_.emplace(table_size(neighbours_[variable]), variable);
  }

  void take(double effort) {
    order_.effort += branches_ * effort;
    const double bytes = choices_ + live_entries_ * kBytesOfValue;
    if (order_.effort > most_effort_ || bytes > kMostBytes) order_.effort = kNever;
  }

  void eliminate(std::size_t variable) {
    EliminationOrder::Step step{.variable = variable,
                                .is_tried = false,
                                .neighbours = std::move(neighbours_[variable]),
                                .merged = {}};
    for (const std::size_t t : tables_of_[variable]) {
      if (!is_merged_[t]) step.merged.push_back(t);
    }
    const auto rows = static_cast<double>(table_size(step.neighbours));
    choices_ += rows;
    live_entries_ += rows;
    take(rows * static_cast<double>(sizes_[variable] * step.merged.size()));
    for (const std::size_t t : step.merged) {
      live_entries_ -= static_cast<double>(table_size(tables_[t]));
      is_merged_[t] = true;
    }
    is_open_[variable] = false;
    for (const std::size_t v : step.neighbours) {
      tables_of_[v].push_back(tables_.size());
      drop(neighbours_[v], variable);
    }
    join(step.neighbours);
    for (const std::size_t v : step.neighbours) queue(v);
    tables_.push_back(step.neighbours);
    is_merged_.push_back(false);
    order_.steps.push_back(std::move(step));
  }

  /// Tries the values of the variable with the most neighbours.
  void try_values() {
    std::size_t most = sizes_.size();
    for (std::size_t v = 0; v < sizes_.size(); ++v) {
      if (!is_open_[v]) continue;
      if (most == sizes_.size() || neighbours_[v].size() > neighbours_[most].size()) most = v;
    }
    is_open_[most] = false;
    branches_ *= static_cast<double>(sizes_[most]);
    for (const std::size_t v : std::exchange(neighbours_[most], {})) {
      drop(neighbours_[v], most);
      queue(v);
    }
    for (const std::size_t t : tables_of_[most]) {
      if (is_merged_[t]) continue;
      live_entries_ -= static_cast<double>(table_size(tables_[t]));
      drop(tables_[t], most);
      live_entries_ += static_cast<double>(table_size(tables_[t]));
    }
    // Every step adds a table, so that tables are numbered by steps; this one is empty.
    tables_.emplace_back();
    is_merged_.push_back(true);
    order_.steps.push_back({.variable = most, .is_tried = true, .neighbours = {}, .merged = {}});
    take(live_entries_ + static_cast<double>(tables_.size()));
  }

  const std::vector<std::size_t>& sizes_;
  const double most_effort_;
  PacedDeadline deadline_;
  std::vector<Variables> tables_;  // variables of each
  std::vector<bool> is_merged_;    // into another table
  std::vector<Variables> neighbours_;
  std::vector<std::vector<std::size_t>> tables_of_;  // by variable, ascending, with merged tables
  std::vector<bool> is_open_;                        // mentioned by a term and not eliminated yet
  std::priority_queue<std::pair<std::size_t, std::size_t>,
                      std::vector<std::pair<std::size_t, std::size_t>>, std::greater<>>
      queue_;  // size of the table, variable
  EliminationOrder order_;
  double branches_ = 1.0;  // product of the sizes of the variables that are tried
  double live_entries_ = 0.0;
  double choices_ = 0.0;
};

}  // namespace

EliminationOrder find_elimination_order(const std::vector<std::size_t>& sizes,
                                        const std::vector<Variables>& terms, double most_effort,
                                        const Deadline& deadline) {
  EliminationOrder order =
      OrderFinder(sizes, terms, most_effort, deadline).in_smallest_table_order();
  if (order.effort <= kShortEffort) return order;
  EliminationOrder swept =
      OrderFinder(sizes, terms, std::min(most_effort, kWorthOfTies * order.effort), deadline)
          .from_last_to_first();
  return swept.effort < kNever ? swept : order;
}

}  // namespace dfsearch
