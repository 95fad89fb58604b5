#include "engine/sharding/loop_sum.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace dfsearch {
namespace {

constexpr double kMostInTable = 4096.0;  // combinations of the loops of a value's ends
constexpr double kNotAllowed = std::numeric_limits<double>::infinity();

}  // namespace

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

ValueTimes::ValueTimes(const NetworkContext& context, const std::vector<Tensor>& tensors,
                       const LoopSets& sets)
    : producer_(tensors.front().from.index()), ends_{producer_} {
  for (const Tensor& tensor : tensors) {
    Reader& reader = readers_.emplace_back(Reader{.kernel = tensor.to.index()});
    ends_.push_back(reader.kernel);
    reader.wants.resize(sets[reader.kernel].back().index() + 1);
    reader.seconds.resize(reader.wants.size());
    for (const LoopPair to : sets[reader.kernel]) {
      reader.wants[to.index()] = static_cast<std::uint8_t>(index_of(context.wanted(tensor, to)));
      reader.seconds[to.index()].resize(sets[producer_].back().index() + 1);
      for (const LoopPair from : sets[producer_]) {
        reader.seconds[to.index()][from.index()] =
            static_cast<double>(context.tiles) *
            (conversion_time(context, tensor, from, to) / Seconds(1.0));
      }
    }
  }
  std::sort(ends_.begin(), ends_.end());
  ends_.erase(std::unique(ends_.begin(), ends_.end()), ends_.end());
}

double ValueTimes::seconds(const std::vector<LoopPair>& sharding) const {
  const std::size_t from = sharding[producer_].index();
  std::array<double, kLayoutPairs> most{};
  for (const Reader& reader : readers_) {
    const std::size_t to = sharding[reader.kernel].index();
    double& of_layout = most[reader.wants[to]];
    of_layout = std::max(of_layout, reader.seconds[to][from]);
  }
  return std::accumulate(most.begin(), most.end(), 0.0);
}

class ValueTermMaker {
 public:
  ValueTermMaker(const ValueTimes& value, const LoopSets& sets, std::vector<std::size_t>& sizes)
      : value_(value), sets_(sets), sizes_(sizes) {}

  std::vector<ValueTerm> make() && {
    double combinations = 1.0;
    for (const std::size_t k : value_.ends()) combinations *= static_cast<double>(sizes_[k]);
    if (combinations <= kMostInTable) {
      add_table();
    } else {
      for (std::size_t layout = 0; layout < kLayoutPairs; ++layout) add_layout(layout);
    }
    return std::move(made_);
  }

 private:
  void add_table() {
    ValueTerm& term = made_.emplace_back(ValueTerm{.variables = value_.ends()});
    std::vector<LoopPair> sharding;
    for (const LoopSet set : sets_) sharding.push_back(set.front());
    std::vector<LoopSet::Iterator> at;
    for (const std::size_t k : term.variables) at.push_back(sets_[k].begin());
    for (std::size_t i = at.size(); i > 0;) {
      term.seconds.push_back(value_.seconds(sharding));
      for (i = at.size(); i > 0; --i) {
        const std::size_t k = term.variables[i - 1];
        const bool is_over = ++at[i - 1] == sets_[k].end();
        if (is_over) at[i - 1] = sets_[k].begin();
        sharding[k] = *at[i - 1];
        if (!is_over) break;
      }
    }
  }

  /// For each loop of the producer, the least time of making the layout if some reader requires it.
  [[nodiscard]] std::vector<double> prices(std::size_t layout) const {
    std::vector<double> prices;
    for (const LoopPair from : sets_[value_.producer_]) {
      double least = kNotAllowed;
      double sure = 0.0;  // time of readers that require this layout with every loop
      for (const ValueTimes::Reader& reader : value_.readers_) {
        double of_reader = kNotAllowed;
        bool may_other = false;
        for (const LoopPair to : sets_[reader.kernel]) {
          const bool wants = reader.wants[to.index()] == layout;
          may_other = may_other || !wants;
          if (wants) of_reader = std::min(of_reader, reader.seconds[to.index()][from.index()]);
        }
        least = std::min(least, of_reader);
        if (!may_other) sure = std::max(sure, of_reader);
      }
      prices.push_back(std::max(least, sure));
    }
    return prices;
  }

  /// Adds a variable that decides whether the value is made in this layout: if it is, the
  /// conversion takes its time; if not, no reader may require the layout.
  void add_layout(std::size_t layout) {
    const std::vector<double> prices = this->prices(layout);
    const auto is_paid = [](double price) { return 0.0 < price && price < kNotAllowed; };
    if (std::none_of(prices.begin(), prices.end(), is_paid)) return;
    const std::size_t made = sizes_.size();
    sizes_.push_back(2);
    ValueTerm price{.variables = {value_.producer_, made}};
    for (const double of_loop : prices) price.seconds.insert(price.seconds.end(), {0.0, of_loop});
    made_.push_back(std::move(price));
    for (const ValueTimes::Reader& reader : value_.readers_) {
      ValueTerm needs{.variables = {reader.kernel, made}};
      bool is_wanted = false;
      for (const LoopPair to : sets_[reader.kernel]) {
        const bool wants = reader.wants[to.index()] == layout;
        is_wanted = is_wanted || wants;
        needs.seconds.insert(needs.seconds.end(), {wants ? kNotAllowed : 0.0, 0.0});
      }
      if (is_wanted) made_.push_back(std::move(needs));
    }
  }

  const ValueTimes& value_;
  const LoopSets& sets_;
  std::vector<std::size_t>& sizes_;
  std::vector<ValueTerm> made_;
};

std::vector<ValueTerm> value_terms(const ValueTimes& value, const LoopSets& sets,
                                   std::vector<std::size_t>& sizes) {
  return ValueTermMaker(value, sets, sizes).make();
}

}  // namespace dfsearch
