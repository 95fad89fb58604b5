// A run counts for times if it was timed, its description is complete, and its time is a property
// of its plan.  The order of plans is judged on pairs of plans of one model with equal numbers of
// chips and samples; a plan with several runs, such as under several releases, has the mean of
// their times.

#include "io/predict/prediction_errors.hpp"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <tuple>

#include "base/parallel_for.hpp"

namespace dfsearch {
namespace {

/// Errors of times, as shares.
struct Errors {
  std::vector<double> sizes;
  double sum = 0.0, bias = 0.0;
  std::size_t held = 0;

  void add(const MeasuredRun& run, const Prediction& prediction) {
    const double error = error_of(run, prediction);
    sizes.push_back(std::fabs(error));
    sum += std::fabs(error);
    bias += error;
    if (prediction.low.in_base_units() <= *run.step &&
        *run.step <= prediction.high.in_base_units()) {
      ++held;
    }
  }

  [[nodiscard]] GroupErrors of(const std::string& name) {
    std::sort(sizes.begin(), sizes.end());
    const double count = static_cast<double>(sizes.size());
    return {.name = name,
            .runs = sizes.size(),
            .error = sum / count,
            .median = sizes[sizes.size() / 2],
            .bias = bias / count,
            .worst = sizes.back(),
            .held = static_cast<double>(held) / count};
  }
};

bool is_one_domain(const MeasuredRun& run) { return run.gpus <= run.task->stack->chip.domain; }

std::vector<std::string> groups_of(const MeasuredRun& run, RunGroup group) {
  switch (group) {
    case RunGroup::Model:
      return {run.model.empty() ? "none" : run.model};
    case RunGroup::Chip:
      return {run.gpu};
    case RunGroup::Size:
      return {fmt::format("{:>6}", run.gpus)};
    case RunGroup::Source:
      break;
  }
  const std::string source = short_source(run);
  return {source, source + (run.task->model.experts ? ", experts" : ", dense"),
          source + (is_one_domain(run) ? ", one node" : ", many nodes")};
}

}  // namespace

double allocator_gib(const MeasuredRun& run, const Prediction& prediction, memory::Level level) {
  constexpr double kGib = 1073741824.0;
  const auto& stages = prediction.typical.stages;
  const auto fullest = std::max_element(
      stages.begin(), stages.end(),
      [&](const auto& a, const auto& b) { return a[level].device() < b[level].device(); });
  const auto& stage = !run.rank ? *fullest : *run.rank < 0 ? stages.back() : stages.front();
  const memory::StageMemory& held = stage[level];
  return (held.allocated() + (run.allocated ? 0.0 : held.fragments)) / kGib;
}

bool is_timed(const MeasuredRun& run) {
  return run.task && run.step && *run.step > 0.0 && run.comparable && run.guessed.empty();
}

double error_of(const MeasuredRun& run, const Prediction& prediction) {
  return prediction.typical.step.in_base_units() / *run.step - 1.0;
}

std::string short_source(const MeasuredRun& run) {
  if (run.source.empty()) return run.stack;
  std::string_view source = run.source;
  for (const std::string_view mark : {" @", " (", ", ", ": "}) {
    source = source.substr(0, source.find(mark));
  }
  const std::size_t space = source.find(' '), slash = source.find('/');
  const bool is_repository = slash < space && space != std::string_view::npos;
  return std::string(is_repository ? source.substr(0, space) : source);
}

std::pair<std::string_view, double> largest_part(const training::RunTime& time) {
  const auto most = std::max_element(
      kRunParts.begin(), kRunParts.end(),
      [&](const auto& a, const auto& b) { return time.parts.*a.second < time.parts.*b.second; });
  return {most->first, (time.parts.*most->second) / time.step};
}

std::vector<GroupErrors> errors_by(const std::vector<MeasuredRun>& runs,
                                   const Predictions& predictions, RunGroup group) {
  std::map<std::string, Errors> groups;
  Errors all;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (!is_timed(runs[i])) continue;
    all.add(runs[i], *predictions[i]);
    for (const std::string& name : groups_of(runs[i], group)) {
      groups[name].add(runs[i], *predictions[i]);
    }
  }
  if (all.sizes.empty()) return {};
  std::vector<GroupErrors> list = {all.of("all")};
  for (auto& [name, errors] : groups) {
    // Omits a part that contains all runs of its source.
    const std::size_t comma = name.rfind(", ");
    const auto whole = groups.find(comma == std::string::npos ? name : name.substr(0, comma));
    const bool is_part = group == RunGroup::Source && whole != groups.end() && whole->first != name;
    if (is_part && whole->second.sizes.size() == errors.sizes.size()) continue;
    list.push_back(errors.of(name));
  }
  return list;
}

std::vector<GroupErrors> errors_of_guesses(const std::vector<MeasuredRun>& runs,
                                           const Predictions& predictions) {
  std::map<std::string, Errors> groups;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const MeasuredRun& run = runs[i];
    if (run.guessed.empty() || !predictions[i] || run.step.value_or(0.0) <= 0.0) continue;
    groups[fmt::format("{}, {}", run.model, run.guessed)].add(run, *predictions[i]);
  }
  std::vector<GroupErrors> list;
  for (auto& [name, errors] : groups) list.push_back(errors.of(name));
  return list;
}

std::vector<GroupErrors> errors_without_a_source(const std::vector<MeasuredRun>& runs,
                                                 const Predictions& predictions) {
  std::map<std::string, std::size_t> sizes;
  std::size_t all = 0;
  for (const MeasuredRun& run : runs) {
    if (!is_timed(run)) continue;
    ++sizes[short_source(run)];
    ++all;
  }
  if (sizes.size() < 3) return {};
  std::vector<std::string> sources;
  for (const auto& [source, size] : sizes) sources.push_back(source);
  std::stable_sort(sources.begin(), sources.end(),
                   [&](const std::string& a, const std::string& b) { return sizes[a] > sizes[b]; });
  std::vector<GroupErrors> list;
  const auto add = [&](const std::vector<std::string>& left_out, const std::string& name) {
    Errors errors;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      if (!is_timed(runs[i])) continue;
      const auto found = std::find(left_out.begin(), left_out.end(), short_source(runs[i]));
      if (found == left_out.end()) errors.add(runs[i], *predictions[i]);
    }
    list.push_back(errors.of("all but " + name));
  };
  for (const std::string& source : sources) {
    if (10 * sizes[source] >= all) add({source}, source);
  }
  add({sources[0], sources[1]}, sources[0] + " and " + sources[1]);
  return list;
}

std::vector<PlanOrder> orders_of_plans(const std::vector<MeasuredRun>& runs,
                                       const Predictions& predictions) {
  using Key = std::tuple<std::string, std::string, std::string, std::int64_t, std::int64_t,
                         std::int64_t, std::int64_t, std::int64_t, int>;
  struct Plan {
    const MeasuredRun* run;
    double measured, predicted, runs = 1.0;
  };
  const auto is_same = [](const MeasuredRun& a, const MeasuredRun& b) {
    return a.plan == b.plan && a.task->stack->stack.software == b.task->stack->stack.software &&
           a.task->bytes.sent == b.task->bytes.sent;
  };
  std::map<Key, std::vector<Plan>> alike;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const MeasuredRun& run = runs[i];
    if (!is_timed(run)) continue;
    const training::Task& task = *run.task;
    std::vector<Plan>& plans =
        alike[{groups_of(run, RunGroup::Source).back(), run.stack, run.gpu, run.gpus,
               task.model.hidden, task.model.layers, task.pass.tokens, task.global_batch,
               static_cast<int>(task.stack->precision)}];
    const auto same = std::find_if(plans.begin(), plans.end(),
                                   [&](const Plan& plan) { return is_same(*plan.run, run); });
    if (same == plans.end()) {
      plans.push_back({&run, *run.step, predictions[i]->typical.step.in_base_units()});
    } else {
      same->measured += (*run.step - same->measured) / ++same->runs;
    }
  }
  struct Sum {
    std::size_t pairs = 0, right = 0, sets = 0;
    double regret = 0.0;
  };
  std::map<std::string, Sum> sums;
  for (const auto& [key, likes] : alike) {
    const std::vector<Plan>& plans = likes;
    if (plans.size() < 2) continue;
    Sum& sum = sums[std::get<0>(key)];
    for (std::size_t a = 0; a < plans.size(); ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        if (plans[a].measured == plans[b].measured) continue;
        ++sum.pairs;
        const bool faster = plans[a].measured < plans[b].measured;
        if (faster == (plans[a].predicted < plans[b].predicted)) ++sum.right;
      }
    }
    const auto by = [&](double Plan::*member) {
      return *std::min_element(plans.begin(), plans.end(),
                               [&](const Plan& a, const Plan& b) { return a.*member < b.*member; });
    };
    ++sum.sets;
    sum.regret += by(&Plan::predicted).measured / by(&Plan::measured).measured - 1.0;
  }
  std::vector<PlanOrder> orders;
  for (const auto& [name, sum] : sums) {
    if (sum.pairs == 0) continue;
    orders.push_back({.name = name,
                      .pairs = sum.pairs,
                      .right = static_cast<double>(sum.right) / static_cast<double>(sum.pairs),
                      .regret = sum.regret / static_cast<double>(sum.sets)});
  }
  return orders;
}

MemoryErrors memory_errors(const std::vector<MeasuredRun>& runs, const Predictions& predictions) {
  MemoryErrors sum;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const MeasuredRun& run = runs[i];
    if (!predictions[i] || !run.ran || !run.guessed.empty()) continue;
    const training::MemoryJudgement& judgement = predictions[i]->typical.judgement;
    MemoryErrors::Refused& refused = *run.ran ? sum.ran : sum.out_of_memory;
    ++refused.runs;
    for (const memory::Level level : memory::kLevels) {
      if (judgement.needed[level] > judgement.visible) ++refused.at[level];
    }
    const double peak = run.allocated ? *run.allocated : run.reserved.value_or(0.0);
    if (!*run.ran || !(peak > 0.0)) continue;
    const auto predicted = [&](memory::Level level) {
      return allocator_gib(run, *predictions[i], level);
    };
    const double off = predicted(memory::Level::Typical) / peak - 1.0;
    ++sum.measured;
    if (predicted(memory::Level::Low) <= peak && peak <= predicted(memory::Level::High)) {
      ++sum.within;
    }
    sum.error += std::fabs(off);
    sum.bias += off;
  }
  if (sum.measured > 0) {
    sum.error /= static_cast<double>(sum.measured);
    sum.bias /= static_cast<double>(sum.measured);
  }
  return sum;
}

std::optional<double> factor_of_largest_part(const MeasuredRun& run, const Prediction& prediction) {
  const double share = largest_part(prediction.typical).second;
  const double missing = *run.step / prediction.typical.step.in_base_units() - 1.0;
  const double factor = 1.0 + missing / share;
  return factor > 0.0 ? std::optional(factor) : std::nullopt;
}

std::vector<std::size_t> beyond_peak(const std::vector<MeasuredRun>& runs) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (!is_timed(runs[i])) continue;
    const stack::Setup& software = *runs[i].task->stack;
    const FlopsPerSecond peak = software.chip.peak[static_cast<std::size_t>(software.bits())];
    if (!(peak > FlopsPerSecond{})) continue;
    const Seconds least =
        training::model_flops(*runs[i].task) / (peak * static_cast<double>(runs[i].gpus));
    if (Seconds(*runs[i].step) < least) found.push_back(i);
  }
  return found;
}

std::vector<std::size_t> farthest_off(const std::vector<MeasuredRun>& runs,
                                      const Predictions& predictions, std::size_t most) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (is_timed(runs[i])) order.push_back(i);
  }
  const auto size = [&](std::size_t i) { return std::fabs(error_of(runs[i], *predictions[i])); };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return size(a) > size(b); });
  if (order.size() > most) order.resize(most);
  return order;
}

namespace {

Prediction predicted(const MeasuredRun& run) {
  training::Task task = *run.task;
  Prediction prediction{.typical = training::run_time(task, run.plan)};
  // At other constants, each stage keeps the layers that it has at the typical ones.
  task.choices.layers = prediction.typical.layers;
  const bool has_experts = task.model.experts.has_value();
  const auto at = [&](memory::Level end) {
    task.stack = task.stack->at(end);
    return training::run_time(task, run.plan).step * task.stack->release(has_experts);
  };
  prediction.low = at(memory::Level::Low);
  prediction.high = at(memory::Level::High);
  return prediction;
}

}  // namespace

std::vector<std::optional<Prediction>> predict_runs(const std::vector<MeasuredRun>& runs) {
  std::vector<std::optional<Prediction>> predictions(runs.size());
  parallel_for(runs.size(), [&](std::size_t i) {
    if (runs[i].task) predictions[i] = predicted(runs[i]);
  });
  return predictions;
}

}  // namespace dfsearch
