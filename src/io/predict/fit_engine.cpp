// Fits an engine as stacks are fitted: by absolute logarithms, so that a few outliers do not
// decide, along one constant after the other and along the change of a round.

#include "io/predict/fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "base/error.hpp"
#include "base/hash.hpp"
#include "io/config/serving_text.hpp"
#include "model/serving/measured_class.hpp"
#include "model/serving/steady_state.hpp"

namespace dfsearch {
namespace {

using Values = std::vector<double>;
using ServiceRows = std::vector<MeasuredService*>;

/// A row for each constant that times of tokens depend on.
struct FittedRow {
  std::string_view key;
  FitRange range;
  double (*get)(const serving::Engine&);
  void (*put)(serving::Engine&, double);
};

template <Seconds serving::Engine::*member>
constexpr FittedRow time_row(std::string_view key, double low, double high) {
  return {key,
          {low, high},
          [](const serving::Engine& e) { return (e.*member).in_base_units(); },
          [](serving::Engine& e, double value) { e.*member = Seconds(value); }};
}
template <double serving::Shares::*member>
constexpr FittedRow share_row(std::string_view key, double low, double high) {
  return {key,
          {low, high},
          [](const serving::Engine& e) { return e.shares.*member; },
          [](serving::Engine& e, double value) { e.shares.*member = value; }};
}

constexpr FittedRow kFitted[] = {
    time_row<&serving::Engine::layer>("layer", 2e-6, 150e-6),
    time_row<&serving::Engine::expert_layer>("expert_layer", 1e-6, 150e-6),
    time_row<&serving::Engine::rank_layer>("rank_layer", 1e-6, 150e-6),
    time_row<&serving::Engine::request>("request", 1e-7, 60e-6),
    time_row<&serving::Engine::prefill>("prefill", 1e-5, 60e-3),
    time_row<&serving::Engine::answer>("answer", 5e-3, 0.3),
    // Products of 8 and 4 bits keep their ratio to products of 16.
    {"matrix",
     {0.3, 0.95},
     [](const serving::Engine& e) { return e.shares.matrix; },
     [](serving::Engine& e, double value) {
       for (auto* small : {&e.shares.matrix_8bit, &e.shares.matrix_4bit}) {
         if (*small) **small *= value / e.shares.matrix;
       }
       e.shares.matrix = value;
     }},
    share_row<&serving::Shares::memory>("memory", 0.4, 0.97),
    {"experts_memory",
     {0.4, 0.97},
     [](const serving::Engine& e) { return e.shares.experts_memory.value_or(e.shares.memory); },
     [](serving::Engine& e, double value) { e.shares.experts_memory = value; }},
    share_row<&serving::Shares::cache>("cache", 0.3, 0.97),
    share_row<&serving::Shares::experts_scale>("experts_scale", 0.25, 1.0)};

constexpr double kFirstTokens = 0.03;  // weight of the time to the first token
constexpr double kMostOff = 3.0;       // greatest logarithm that counts
constexpr int kEngineDigits = 3;
constexpr std::size_t kFewRows = 20;  // with fewer rows there is no cross-validation

void put(const Values& values, MeasuredService& row) {
  serving::Engine& engine = row.task->pools[0].engine;
  for (std::size_t i = 0; i < values.size(); ++i) kFitted[i].put(engine, values[i]);
}

double mean_error(const ServiceRows& rows, const Values& values,
                  double (*error)(const MeasuredService&, const serving::Figures&)) {
  return mean_of(rows.size(), [&](std::size_t i) {
    MeasuredService row = *rows[i];
    put(values, row);
    return error(row, serving::evaluate(*row.task, row.deployment));
  });
}

double error_of(const ServiceRows& rows, const Values& values) {
  return mean_error(rows, values, [](const MeasuredService& row, const serving::Figures& figures) {
    return std::fabs(row.error(figures));
  });
}

/// The error that a fit minimises.
double distance(const MeasuredService& row, const serving::Figures& figures) {
  const double first_off = row.ttft ? std::fabs(std::log(figures.ttft / *row.ttft)) : 0.0;
  return std::fabs(std::log(row.time_ratio(figures))) +
         kFirstTokens * std::min(first_off, kMostOff);
}

std::vector<FittedConstant> constants_of(const serving::Engine& engine) {
  std::vector<FittedConstant> constants;
  for (const FittedRow& row : kFitted) {
    const double value = row.get(engine);
    constants.push_back({row.key, value, value, row.range});
  }
  return constants;
}

/// Whether a fit uses the deployment.
bool counts(const MeasuredService& row) {
  return row.task && row.is_timed() && row.doubtful.empty();
}

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
    // A throughput above the measured one is a time below the measured one.
    add_error(row.rate ? -row.error(figures) : row.error(figures), *found);
  }
  for (serving::MeasuredClass& each : classes) {
    each.off = rounded(each.off, kEngineDigits);
    each.bias = rounded(each.bias, kEngineDigits);
  }
  return classes;
}

double place_of(const std::string& id) {
  return static_cast<double>(hash_of(id) >> 11) / 9007199254740992.0;
}

}  // namespace

std::optional<Fit> fit_engine(std::vector<MeasuredService>& services, const std::string& asked,
                              const HeldOut& held_out, const FitControl& control) {
  if (!held_out.column.empty()) throw InputError("--holdout: expected a share of the deployments");
  std::set<std::string> names;
  for (const MeasuredService& row : services) {
    if (counts(row)) names.insert(row.engine);
  }
  if (names.empty())
    throw InputError(
        "--fit: expected rows with a measured time per token and a known deployment, got none");
  Fit fit{.name = chosen_name(names, asked, "engine", "deployment"), .one = "deployment"};
  std::vector<MeasuredService> copies;
  for (const MeasuredService& row : services) {
    if (counts(row) && row.engine == fit.name) copies.push_back(row);
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
  if (rows.empty())
    throw InputError("--fit: all deployments are held out, expected some to fit to");
  serving::Engine engine = rows.front()->task->pools[0].engine;
  fit.constants = constants_of(engine);
  const auto fitted = [&](const ServiceRows& to, const FitState& state) {
    return fitted_values(fit.constants, kEngineDigits, state, control,
                         [&](const Values& values) { return mean_error(to, values, distance); });
  };
  const std::size_t folds = rows.size() >= kFewRows ? 2 : 0;
  const Values after = fitted(rows, {.folds = folds});
  double other_half = 0.0;
  for (std::size_t half = 0; half < folds; ++half) {
    const Values own = fitted(halves[half], {.fold = half + 1, .folds = folds});
    const ServiceRows& other = halves[1 - half];
    other_half +=
        error_of(other, own) * static_cast<double>(other.size()) / static_cast<double>(rows.size());
  }
  if (control.is_stopped()) return std::nullopt;
  if (other_half > 0.0) {
    fit.checked =
        fmt::format("each half, fitted to the other one: {:.1f} % off\n", 100.0 * other_half);
  }
  set_result(
      rows, others, after, [](const ServiceRows& of, const Values& at) { return error_of(of, at); },
      fit);
  for (std::size_t i = 0; i < after.size(); ++i) kFitted[i].put(engine, after[i]);
  engine.measured = measured_classes(rows, after);
  fit.lines = lines_of(TypeOf<serving::Engine>::type, &engine);
  for (MeasuredService& row : services) {
    if (row.task && row.engine == fit.name) put(after, row);
  }
  return fit;
}

}  // namespace dfsearch
