#include "engine/sharding/loop_sum.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace dfsearch {

LoopSum::LoopSum(const NetworkContext& context, const LoopSets& sets,
                 std::vector<std::size_t> groups, const Deadline& deadline)
    : sets_(sets), groups_(std::move(groups)), deadline_(deadline) {
  for (std::size_t k = 0; k < sets.size(); ++k) {
    sizes_.push_back(static_cast<std::size_t>(sets[k].size()));
    terms_.push_back({.variables = {k}, .shares = {}});
  }
  for (const std::vector<TensorId>& ids : converted_together(context.problem)) {
    std::vector<Tensor> tensors;
    for (const TensorId t : ids) tensors.push_back(context.problem.workload.graph.tensor(t));
    add_value(ValueTimes(context, tensors, sets));
  }
  for (const Tensor& seam : charged_seams(context.problem)) {
    add_value(ValueTimes(context, {seam}, sets));
  }
}

void LoopSum::add_value(const ValueTimes& value) {
  deadline_.check();
  for (ValueTerm& of : value_terms(value, sets_, sizes_)) {
    Term& term = terms_.emplace_back(Term{.variables = std::move(of.variables), .shares = {}});
    Share& share = term.shares.emplace_back(Share{.group = groups_[value.producer()], .times = {}});
    for (const double seconds : of.seconds) share.times.push_back({.network = seconds});
  }
}

bool LoopSum::find_order(double most_steps) {
  std::vector<std::vector<std::size_t>> variables;
  for (std::size_t t = 0; t < terms_.size(); ++t) {
    SumTerm sum;
    for (const std::size_t v : terms_[t].variables) {
      if (sizes_[v] > 1) sum.variables.push_back(v);
    }
    if (sum.variables.empty()) continue;
    sum.values.resize(terms_[t].shares.front().times.size());
    variables.push_back(sum.variables);
    summed_.push_back(std::move(sum));
    of_sum_.push_back(t);
  }
  order_ = find_elimination_order(sizes_, variables, most_steps, deadline_);
  values_.assign(sizes_.size(), 0);
  return order_.effort <= most_steps;
}

void LoopSum::weigh(const std::vector<LoopTimes>& weights) {
  for (std::size_t s = 0; s < summed_.size(); ++s) {
    std::vector<double>& values = summed_[s].values;
    std::fill(values.begin(), values.end(), 0.0);
    for (const Share& share : terms_[of_sum_[s]].shares) {
      const LoopTimes& weight = weights[share.group];
      for (std::size_t i = 0; i < values.size(); ++i) {
        // Forbidden combinations stay infinite whatever the weight.
        const LoopTimes& times = share.times[i];
        values[i] += std::isinf(times.network) ? times.network : times.times(weight);
      }
    }
  }
}

void LoopSum::minimize(const std::vector<LoopTimes>& weights) {
  weigh(weights);
  values_ = least_sum(sizes_, summed_, order_, deadline_);
}

std::size_t LoopSum::place(const Term& term, const std::vector<std::uint8_t>& values) const {
  std::size_t place = 0;
  for (const std::size_t v : term.variables) place = place * sizes_[v] + values[v];
  return place;
}

std::vector<LoopPair> LoopSum::loops() const { return loops_at(sets_, values_); }

std::vector<LoopTimes> LoopSum::sums() const {
  std::vector<LoopTimes> sums(1 + *std::max_element(groups_.begin(), groups_.end()));
  for (const Term& term : terms_) {
    for (const Share& share : term.shares) sums[share.group] += share.times[place(term, values_)];
  }
  return sums;
}

std::vector<double> LoopSum::excess(const std::vector<LoopTimes>& weights,
                                    const std::vector<std::uint8_t>& values) {
  weigh(weights);
  std::vector<double> excess(sets_.size(), 0.0);
  for (std::size_t s = 0; s < summed_.size(); ++s) {
    const Term& term = terms_[of_sum_[s]];
    const std::vector<double>& all = summed_[s].values;
    const double more = all[place(term, values)] - *std::min_element(all.begin(), all.end());
    for (const std::size_t v : term.variables) {
      if (v < excess.size()) excess[v] += more;
    }
  }
  return excess;
}

LoopPair loop_at(LoopSet set, std::size_t place) {
  auto loop = set.begin();
  for (; place > 0; --place) ++loop;
  return *loop;
}

std::vector<LoopPair> loops_at(const LoopSets& sets, const std::vector<std::uint8_t>& places) {
  std::vector<LoopPair> loops;
  for (std::size_t k = 0; k < sets.size(); ++k) loops.push_back(loop_at(sets[k], places[k]));
  return loops;
}

}  // namespace dfsearch
