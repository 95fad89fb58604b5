// Fits an engine as a stack is fitted: by absolute logarithms, so that a few rows with another
// cause do not decide, along one constant after the other and along the change of a round.

#include "io/predict/fit_engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <set>
#include <utility>

#include "base/error.hpp"
#include "base/hash.hpp"
#include "base/parallel_for.hpp"
#include "io/config/serving_text.hpp"
#include "io/schema/write_schema.hpp"
#include "io/text/input_messages.hpp"
#include "io/text/text_table.hpp"
#include "model/serving/measured_class.hpp"
#include "model/serving/steady_state.hpp"

namespace dfsearch {
namespace {

using serving::Engine;
using Values = std::vector<double>;
using ServiceRows = std::vector<MeasuredService*>;

/// A row for each constant that times of tokens depend on.
struct FittedRow {
  std::string_view key;
  FitRange range;
  double (*get)(const Engine&);
  void (*put)(Engine&, double);
};
#define DFSEARCH_TIME(member, low, high)                                                           \
  {                                                                                                \
#member,                                                                                       \
        {low, high },                                                                              \
         [](const Engine&                                                                          \
                e) { return e.member.in_base_units(); },                                           \
                                                      [](Engine & e,                               \
                                                         double                                    \
                                                             value) { e.member = Seconds(value); } \
  }
#define DFSEARCH_SHARE(member, low, high)                                                          \
  {                                                                                                \
#member, {low, high },                                                                         \
              [](const Engine&                                                                     \
                     e) { return e.shares.member; }, [](Engine & e,                                \
                                                        double value) { e.shares.member = value; } \
  }
constexpr FittedRow kFitted[] = {
    DFSEARCH_TIME(layer, 2e-6, 150e-6),
    DFSEARCH_TIME(expert_layer, 1e-6, 150e-6),
    DFSEARCH_TIME(rank_layer, 1e-6, 150e-6),
    DFSEARCH_TIME(request, 1e-7, 60e-6),
    DFSEARCH_TIME(prefill, 1e-5, 60e-3),
    DFSEARCH_TIME(answer, 5e-3, 0.3),
    // Products of 8 and 4 bits keep their ratio to products of 16.
    {"matrix",
     {0.3, 0.95},
     [](const Engine& e) { return e.shares.matrix; },
     [](Engine& e, double value) {
       for (auto* small : {&e.shares.matrix_8bit, &e.shares.matrix_4bit}) {
         if (*small) **small *= value / e.shares.matrix;
       }
       e.shares.matrix = value;
     }},
    DFSEARCH_SHARE(memory, 0.4, 0.97),
    {"experts_memory",
     {0.4, 0.97},
     [](const Engine& e) { return e.shares.experts_memory.value_or(e.shares.memory); },
     [](Engine& e, double value) { e.shares.experts_memory = value; }},
    DFSEARCH_SHARE(cache, 0.3, 0.97),
    DFSEARCH_SHARE(experts_scale, 0.25, 1.0)};
#undef DFSEARCH_TIME
#undef DFSEARCH_SHARE

constexpr double kFirstTokens = 0.03;  // weight of the time to the first token
constexpr double kMostOff = 3.0;       // greatest logarithm that one adds
constexpr std::size_t kFewRows = 20;   // with fewer, halves are not fitted

void put(const Values& values, MeasuredService& row) {
  Engine& engine = row.task->pools[0].engine;
  for (std::size_t i = 0; i < values.size(); ++i) kFitted[i].put(engine, values[i]);
}

double rounded(double value) {
  const std::string text = fmt::format("{:.3g}", value);
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

/// The mean of `count` over the rows.
template <class Count>
double mean_of(const ServiceRows& rows, const Values& values, const Count& count) {
  Values terms(rows.size());
  parallel_for(rows.size(), [&](std::size_t i) {
    MeasuredService row = *rows[i];
    put(values, row);
    terms[i] = count(row, serving::evaluate(*row.task, row.deployment));
  });
  double sum = 0.0;
  for (const double term : terms) sum += term;
  return rows.empty() ? 0.0 : sum / static_cast<double>(rows.size());
}

double error_of(const ServiceRows& rows, const Values& values) {
  return mean_of(rows, values, [](const MeasuredService& row, const serving::Figures& figures) {
    return std::fabs(row.error(figures));
  });
}

Values fitted(const ServiceRows& rows, const Values& start, FitState state,
              const std::atomic<bool>* stop, const std::function<void(const FitState&)>& tell) {
  std::vector<FitRange> ranges;
  Values first = start;
  for (std::size_t i = 0; i < first.size(); ++i) {
    ranges.push_back(kFitted[i].range);
    first[i] = std::clamp(first[i], ranges[i].low, ranges[i].high);
  }
  double least = kMostOff;
  const auto objective = [&](const Values& values) {
    const double off =
        mean_of(rows, values, [](const MeasuredService& row, const serving::Figures& figures) {
          const double first_off = row.ttft ? std::fabs(std::log(figures.ttft / *row.ttft)) : 0.0;
          return std::fabs(std::log(row.time_ratio(figures))) +
                 kFirstTokens * std::min(first_off, kMostOff);
        });
    least = std::min(least, off);
    ++state.tries;
    state.error = least;
    tell(state);
    return off;
  };
  Values values =
      least_by_coordinates(ranges, first, objective, [&] { return !(stop && stop->load()); });
  for (double& value : values) value = rounded(value);
  return values;
}

/// The engine that is to be fitted; it must be the engine of some row.
std::string chosen_engine(const std::vector<MeasuredService>& services, const std::string& asked) {
  std::set<std::string> names;
  for (const MeasuredService& row : services) {
    if (row.task && row.is_timed() && row.doubtful.empty()) names.insert(row.engine);
  }
  if (names.empty()) throw InputError("--fit: no row has a time per token and a known deployment");
  if (asked.empty() && names.size() == 1) return *names.begin();
  if (names.contains(asked)) return asked;
  const std::vector<std::string_view> known(names.begin(), names.end());
  throw InputError("--fit: rows have several engines, expected --stack " + joined_choices(known));
}

/// The errors of all rows by their classes.
std::vector<serving::MeasuredClass> measured_classes(const ServiceRows& rows,
                                                     const Values& values) {
  std::vector<serving::MeasuredClass> classes;
  for (const MeasuredService* service : rows) {
    MeasuredService row = *service;
    put(values, row);
    const serving::Figures figures = serving::evaluate(*row.task, row.deployment);
    const auto own = class_of(*row.task, row.deployment, figures);
    auto found = std::find_if(classes.begin(), classes.end(),
                              [&](const auto& known) { return is_same_class(known, own); });
    if (found == classes.end()) found = classes.insert(classes.end(), own);
    // More throughput than measured is too fast.
    add_error(row.rate ? -row.error(figures) : row.error(figures), *found);
  }
  for (serving::MeasuredClass& each : classes) {
    each.off = rounded(each.off);
    each.bias = rounded(each.bias);
  }
  return classes;
}

double place_of(const std::string& id) {
  return static_cast<double>(hash_of(id) >> 11) / 9007199254740992.0;
}

}  // namespace

std::optional<EngineFit> fit_engine(std::vector<MeasuredService>& services, const std::string& name,
                                    const HeldOut& held_out, const std::atomic<bool>* stop,
                                    const std::function<void(const FitState&)>& tell) {
  if (!held_out.column.empty()) throw InputError("--holdout: expected a share of the deployments");
  EngineFit fit{.name = chosen_engine(services, name)};
  std::vector<MeasuredService> copies;
  for (const MeasuredService& row : services) {
    const bool counts =
        row.task && row.is_timed() && row.doubtful.empty() && row.engine == fit.name;
    if (counts) copies.push_back(row);
  }
  ServiceRows rows, others;
  std::array<ServiceRows, 2> halves;
  for (MeasuredService& row : copies) {
    const double place = place_of(row.id);
    if (place < held_out.share) {
      others.push_back(&row);
      continue;
    }
    rows.push_back(&row);
    halves[2.0 * (place - held_out.share) < 1.0 - held_out.share ? 0 : 1].push_back(&row);
  }
  if (rows.empty()) throw InputError("--fit: all deployments are held out");
  fit.engine = rows.front()->task->pools[0].engine;
  Values before;
  for (const FittedRow& row : kFitted) before.push_back(row.get(fit.engine));
  const std::size_t folds = rows.size() >= kFewRows ? 2 : 0;
  const Values after = fitted(rows, before, {.folds = folds}, stop, tell);
  for (std::size_t half = 0; half < folds; ++half) {
    const Values own = fitted(halves[half], before, {.fold = half + 1, .folds = folds}, stop, tell);
    const ServiceRows& other = halves[1 - half];
    fit.other_half +=
        error_of(other, own) * static_cast<double>(other.size()) / static_cast<double>(rows.size());
  }
  if (stop && stop->load()) return std::nullopt;
  fit.rows = rows.size();
  fit.held_out = others.size();
  fit.before = error_of(rows, before);
  fit.after = error_of(rows, after);
  fit.held_before = error_of(others, before);
  fit.held_after = error_of(others, after);
  for (std::size_t i = 0; i < after.size(); ++i) {
    fit.constants.push_back({kFitted[i].key, before[i], after[i], kFitted[i].range});
    kFitted[i].put(fit.engine, after[i]);
  }
  fit.engine.measured = measured_classes(rows, after);
  for (MeasuredService& row : services) {
    if (row.task && row.engine == fit.name) put(after, row);
  }
  return fit;
}

std::string fit_report(const EngineFit& fit) {
  TextTable table({"before", "after", "low", "high", "constant of " + fit.name});
  for (const auto& [key, before, after, range] : fit.constants) {
    const auto text = [](double value) { return fmt::format("{:.3g}", value); };
    const bool at_end = after <= range.low || after >= range.high;
    table.add({text(before), text(after), text(range.low), text(range.high)},
              {std::string(key) + (at_end ? ", at the end of its range" : "")});
  }
  const auto errors = [](double before, double after) {
    return fmt::format("{:.1f} % off before, {:.1f} % after\n", 100.0 * before, 100.0 * after);
  };
  std::string text = table.text();
  text += fmt::format("\n{} deployments that it was fitted to: {}", fit.rows,
                      errors(fit.before, fit.after));
  if (fit.other_half > 0.0) {
    text +=
        fmt::format("each half, fitted to the other one: {:.1f} % off\n", 100.0 * fit.other_half);
  }
  if (fit.held_out > 0) {
    text += fmt::format("{} deployments held out: {}", fit.held_out,
                        errors(fit.held_before, fit.held_after));
  }
  return text;
}

std::string fitted_engine_file(const EngineFit& fit, const std::string& table) {
  std::string text = fmt::format(
      "# {}, fitted to {} deployments of {}\n# source: {:.1f} % off these, {:.1f} % before\n",
      escaped(fit.name), fit.rows, escaped(table), 100.0 * fit.after, 100.0 * fit.before);
  const Json engine = written(fit.engine);
  for (const auto& entry : engine.items()) {
    const auto line = [&](const Json& json) {
      std::string value = json_line(json);
      std::erase(value, '"');  // words and quantities alone
      return value + "\n";
    };
    const bool is_list = entry.value().is_array() && entry.value().front().is_object();
    text += entry.key() + (is_list ? ":\n" : ": " + line(entry.value()));
    if (!is_list) continue;
    for (const Json& item : entry.value()) text += "  - " + line(item);
  }
  return text;
}

}  // namespace dfsearch
