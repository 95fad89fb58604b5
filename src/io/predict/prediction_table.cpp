// A run counts for times if it was timed, is described whole, and its time is that of its plan; of
// a plan of one model on as many chips with the same batch the order is compared pair by pair.

#include "io/predict/prediction_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/number.hpp"
#include "io/text/text_table.hpp"

namespace dfsearch {
namespace {

using Predictions = std::vector<std::optional<Prediction>>;

constexpr double kGib = 1073741824.0;
constexpr std::size_t kWorst = 5;

constexpr std::array<std::pair<std::string_view, Seconds training::StepParts::*>, 10> kParts = {
    {{"compute", &training::StepParts::compute},
     {"recompute", &training::StepParts::recompute},
     {"tensor", &training::StepParts::tensor},
     {"context", &training::StepParts::context},
     {"expert", &training::StepParts::expert},
     {"pipeline", &training::StepParts::pipeline},
     {"bubble", &training::StepParts::bubble},
     {"data", &training::StepParts::data},
     {"optimizer", &training::StepParts::optimizer},
     {"host", &training::StepParts::host}}};

/// What the allocator reserves: all but what the driver has.
double reserved_gib(const MeasuredRun& run, const Prediction& prediction) {
  const Bytes context = stack::typical(run.task->stack->stack.context);
  return (prediction.typical.memory.total() - context).in_base_units() / kGib;
}

bool is_timed(const MeasuredRun& run, const std::optional<Prediction>& prediction) {
  return prediction && run.step && *run.step > 0.0 && run.comparable;
}

double error_of(const MeasuredRun& run, const Prediction& prediction) {
  return prediction.typical.step.in_base_units() / *run.step - 1.0;
}

/// Of times, in shares.
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
};

std::string percent_of(double share) { return fmt::format("{:.1f}", 100.0 * share); }
std::string signed_percent(double share) { return fmt::format("{:+.1f}", 100.0 * share); }

/// The file or paper without version and place in it.
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

std::string table_of_errors(const std::vector<MeasuredRun>& runs, const Predictions& predictions,
                            RunGroup group) {
  std::map<std::string, Errors> groups;
  Errors all;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (!is_timed(runs[i], predictions[i])) continue;
    all.add(runs[i], *predictions[i]);
    for (const std::string& name : groups_of(runs[i], group)) {
      groups[name].add(runs[i], *predictions[i]);
    }
  }
  if (all.sizes.empty()) return "no run was timed\n";
  TextTable table({"runs", "error %", "median", "bias", "worst", "held %", "of"});
  const auto add = [&](Errors& errors, const std::string& name) {
    std::sort(errors.sizes.begin(), errors.sizes.end());
    const double count = static_cast<double>(errors.sizes.size());
    table.add(
        {std::to_string(errors.sizes.size()), percent_of(errors.sum / count),
         percent_of(errors.sizes[errors.sizes.size() / 2]), signed_percent(errors.bias / count),
         percent_of(errors.sizes.back()), percent_of(static_cast<double>(errors.held) / count)},
        {name});
  };
  add(all, "all");
  for (auto& [name, errors] : groups) {
    // A part that is the whole is not told twice.
    const std::size_t comma = name.rfind(", ");
    const auto whole = groups.find(comma == std::string::npos ? name : name.substr(0, comma));
    const bool is_part = group == RunGroup::Source && whole != groups.end() && whole->first != name;
    if (is_part && whole->second.sizes.size() == errors.sizes.size()) continue;
    add(errors, name);
  }
  return table.text();
}

/// Of plans of one model with one batch on one machine.
std::string order_of_plans(const std::vector<MeasuredRun>& runs, const Predictions& predictions) {
  using Key = std::tuple<std::string, std::string, std::string, std::int64_t, std::int64_t,
                         std::int64_t, std::int64_t, std::int64_t, int>;
  struct Plan {
    double measured, predicted;
  };
  std::map<Key, std::vector<Plan>> alike;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const MeasuredRun& run = runs[i];
    if (!is_timed(run, predictions[i])) continue;
    const training::Task& task = *run.task;
    alike[{groups_of(run, RunGroup::Source).back(), run.stack, run.gpu, run.gpus, task.model.hidden,
           task.model.layers, task.pass.tokens, task.global_batch,
           static_cast<int>(task.stack->precision)}]
        .push_back({*run.step, predictions[i]->typical.step.in_base_units()});
  }
  struct Sum {
    std::size_t pairs = 0, right = 0, sets = 0;
    double regret = 0.0;
  };
  std::map<std::string, Sum> sums;
  for (const auto& [key, plans] : alike) {
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
  if (sums.empty()) return "";
  TextTable table({"pairs", "in order %", "best is slower by %", "of"});
  for (const auto& [name, sum] : sums) {
    if (sum.pairs == 0) continue;
    table.add({std::to_string(sum.pairs),
               percent_of(static_cast<double>(sum.right) / static_cast<double>(sum.pairs)),
               percent_of(sum.regret / static_cast<double>(sum.sets))},
              {name});
  }
  return "\nplans of one model, with one batch on one machine\n" + table.text();
}

std::string fits_text(const std::vector<MeasuredRun>& runs, const Predictions& predictions) {
  std::size_t known = 0, right = 0, refused = 0, accepted = 0, measured = 0;
  double error = 0.0, bias = 0.0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (!predictions[i] || !runs[i].ran) continue;
    const bool ran = *runs[i].ran, fits = predictions[i]->typical.fits;
    ++known;
    if (fits == ran) ++right;
    if (ran && !fits) ++refused;
    if (!ran && fits) ++accepted;
    if (!ran || !runs[i].reserved || !(*runs[i].reserved > 0.0)) continue;
    const double off = reserved_gib(runs[i], *predictions[i]) / *runs[i].reserved - 1.0;
    ++measured;
    error += std::fabs(off);
    bias += off;
  }
  if (known == 0) return "";
  std::string text = fmt::format(
      "\nmemory: of {} runs {} % are told right to fit or not; {} that ran are refused, {} that "
      "did not are accepted\n",
      known, percent_of(static_cast<double>(right) / static_cast<double>(known)), refused,
      accepted);
  if (measured > 0) {
    const double count = static_cast<double>(measured);
    text += fmt::format("peak of the allocator in {} runs: {} % off, bias {}\n", measured,
                        percent_of(error / count), signed_percent(bias / count));
  }
  return text;
}

std::string largest_part(const training::RunTime& time) {
  const auto most = std::max_element(
      kParts.begin(), kParts.end(),
      [&](const auto& a, const auto& b) { return time.parts.*a.second < time.parts.*b.second; });
  return fmt::format("{} {} %", most->first, percent_of((time.parts.*most->second) / time.step));
}

std::string worst_runs(const std::vector<MeasuredRun>& runs, const Predictions& predictions) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (is_timed(runs[i], predictions[i])) order.push_back(i);
  }
  const auto size = [&](std::size_t i) { return std::fabs(error_of(runs[i], *predictions[i])); };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return size(a) > size(b); });
  if (order.size() > kWorst) order.resize(kWorst);
  if (order.empty()) return "";
  TextTable table({"measured s", "predicted", "error %", "run, and its largest part"});
  for (const std::size_t i : order) {
    table.add({fmt::format("{:.4g}", *runs[i].step),
               fmt::format("{:.4g}", predictions[i]->typical.step.in_base_units()),
               signed_percent(error_of(runs[i], *predictions[i]))},
              {runs[i].id + ":", largest_part(predictions[i]->typical)});
  }
  return "\nfarthest off\n" + table.text();
}

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

}  // namespace

std::string prediction_csv(const std::vector<MeasuredRun>& runs, const Predictions& predictions) {
  std::string text = "id,model,gpu,gpus,stack,step_s,predicted_s,low_s,high_s,error";
  for (const auto& [name, part] : kParts) text += fmt::format(",{}_s", name);
  text += ",memory_gib,fits,reserved_gb,note\n";
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const MeasuredRun& run = runs[i];
    text += fmt::format("{},{},{},{},{},{}", csv_cell(run.id), csv_cell(run.model), run.gpu,
                        run.gpus, run.stack, run.step ? fmt::format("{}", *run.step) : "");
    if (!predictions[i]) {
      text += fmt::format(",,,,{},,,,the shape of the model is not given\n",
                          std::string(kParts.size(), ','));
      continue;
    }
    const Prediction& prediction = *predictions[i];
    const training::RunTime& time = prediction.typical;
    text += fmt::format(
        ",{:.6g},{:.6g},{:.6g},{}", time.step.in_base_units(), prediction.low.in_base_units(),
        prediction.high.in_base_units(),
        run.step && *run.step > 0.0 ? fmt::format("{:.4f}", error_of(run, prediction)) : "");
    for (const auto& [name, part] : kParts) {
      text += fmt::format(",{:.4g}", (time.parts.*part).in_base_units());
    }
    text +=
        fmt::format(",{:.4g},{},{},{}\n", reserved_gib(run, prediction), time.fits ? "yes" : "no",
                    run.reserved ? fmt::format("{}", *run.reserved) : "",
                    run.comparable ? "" : "left out of the errors of times");
  }
  return text;
}

std::string prediction_report(const std::vector<MeasuredRun>& runs, const Predictions& predictions,
                              RunGroup group) {
  std::size_t without = 0;
  for (const auto& prediction : predictions) without += prediction ? 0U : 1U;
  std::string text = fmt::format("{} runs", runs.size());
  if (without > 0) text += fmt::format(", {} of them without the shape of a model", without);
  return text + "\n\n" + table_of_errors(runs, predictions, group) +
         order_of_plans(runs, predictions) + fits_text(runs, predictions) +
         worst_runs(runs, predictions);
}

}  // namespace dfsearch
