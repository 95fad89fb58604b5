#include "io/predict/prediction_table.hpp"

#include <fmt/format.h>

#include "io/report/report_words.hpp"
#include "io/text/csv_cell.hpp"
#include "io/text/input_messages.hpp"
#include "io/text/text_table.hpp"

namespace dfsearch {
namespace {

std::string percent_of(double share) { return fmt::format("{:.1f}", 100.0 * share); }
std::string signed_percent(double share) { return fmt::format("{:+.1f}", 100.0 * share); }

std::string table_of_errors(const std::vector<GroupErrors>& groups) {
  if (groups.empty()) return "no run was timed\n";
  TextTable table({"runs", "error %", "median", "bias", "worst", "held %", "of"});
  for (const GroupErrors& group : groups) {
    table.add({std::to_string(group.runs), percent_of(group.error), percent_of(group.median),
               signed_percent(group.bias), percent_of(group.worst), percent_of(group.held)},
              {group.name});
  }
  return table.text();
}

std::string table_of_orders(const std::vector<PlanOrder>& orders) {
  if (orders.empty()) return "";
  TextTable table({"pairs", "in order %", "best is slower by %", "of"});
  for (const PlanOrder& order : orders) {
    table.add({std::to_string(order.pairs), percent_of(order.right), percent_of(order.regret)},
              {order.name});
  }
  return "\nplans of one model, with one batch on one machine\n" + table.text();
}

std::string memory_text(const MemoryErrors& memory) {
  if (memory.known == 0) return "";
  std::string text = fmt::format(
      "\nmemory: of {} runs {} % are told right to fit or not; {} that ran are refused, {} that "
      "did not are accepted\n",
      memory.known,
      percent_of(static_cast<double>(memory.right) / static_cast<double>(memory.known)),
      memory.refused, memory.accepted);
  if (memory.measured > 0) {
    text += fmt::format("peak of the allocator in {} runs: {} % off, bias {}\n", memory.measured,
                        percent_of(memory.error), signed_percent(memory.bias));
  }
  return text;
}

std::string explanation(std::optional<double> factor) {
  return factor ? fmt::format("{:.2f} times as long it would agree", *factor)
                : "no time of it alone would agree";
}

std::string peak_text(const std::vector<MeasuredRun>& runs) {
  const std::vector<std::size_t> beyond = beyond_peak(runs);
  if (beyond.empty()) return "";
  return fmt::format(
      "{} faster than the peak of {} chips allows, {} first: is step_s in seconds, are "
      "gpus, global_batch and precision right?\n",
      beyond.size() == 1 ? "1 run is" : fmt::format("{} runs are", beyond.size()),
      beyond.size() == 1 ? "its" : "their", escaped(runs[beyond.front()].id));
}

std::string worst_runs(const std::vector<MeasuredRun>& runs, const Predictions& predictions,
                       std::size_t most) {
  const std::vector<std::size_t> order = farthest_off(runs, predictions, most);
  if (order.empty()) return "";
  TextTable table({"measured s", "predicted", "error %",
                   "run, its largest part, and what would explain the error"});
  for (const std::size_t i : order) {
    const training::RunTime& time = predictions[i]->typical;
    const auto [part, share] = largest_part(time);
    table.add(
        {fmt::format("{:.4g}", *runs[i].step), fmt::format("{:.4g}", time.step.in_base_units()),
         signed_percent(error_of(runs[i], *predictions[i]))},
        {runs[i].id + ":",
         fmt::format("{} {} %; {}", part, percent_of(share),
                     explanation(factor_of_largest_part(runs[i], *predictions[i])))});
  }
  return "\nfarthest off\n" + table.text();
}

}  // namespace

std::string prediction_csv(const std::vector<MeasuredRun>& runs, const Predictions& predictions) {
  std::string text = "id,model,gpu,gpus,stack,step_s,predicted_s,low_s,high_s,error";
  for (const auto& [name, part] : kRunParts) text += fmt::format(",{}_s", name);
  text += ",memory_gib,fits,reserved_gb,note\n";
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const MeasuredRun& run = runs[i];
    text +=
        fmt::format("{},{},{},{},{},{}", csv_cell(run.id), csv_cell(run.model), csv_cell(run.gpu),
                    run.gpus, csv_cell(run.stack), run.step ? fmt::format("{}", *run.step) : "");
    if (!predictions[i]) {
      text += fmt::format(",,,,{},,,,the shape of the model is not given\n",
                          std::string(kRunParts.size(), ','));
      continue;
    }
    const Prediction& prediction = *predictions[i];
    const training::RunTime& time = prediction.typical;
    text += fmt::format(
        ",{:.6g},{:.6g},{:.6g},{}", time.step.in_base_units(), prediction.low.in_base_units(),
        prediction.high.in_base_units(),
        run.step && *run.step > 0.0 ? fmt::format("{:.4f}", error_of(run, prediction)) : "");
    for (const auto& [name, part] : kRunParts) {
      text += fmt::format(",{:.4g}", (time.parts.*part).in_base_units());
    }
    text +=
        fmt::format(",{:.4g},{},{},{}\n", reserved_gib(run, prediction), time.fits ? "yes" : "no",
                    run.reserved ? fmt::format("{}", *run.reserved) : "",
                    run.comparable ? csv_cell(run.note) : "left out of the errors of times");
  }
  return text;
}

std::string prediction_report(const std::vector<MeasuredRun>& runs, const Predictions& predictions,
                              const std::vector<RunGroup>& groups, std::size_t worst) {
  std::size_t without = 0, too_large = 0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    without += predictions[i] ? 0U : 1U;
    too_large += predictions[i] && runs[i].step && !predictions[i]->typical.fits ? 1U : 0U;
  }
  std::string text = fmt::format("{} runs", runs.size());
  if (without > 0) text += fmt::format(", {} of them without the shape of a model", without);
  text += "\n";
  if (too_large > 0) {
    text += fmt::format("{} with a measured time {} not fit by the model (column fits of -o)\n",
                        plural(static_cast<std::int64_t>(too_large), "run"),
                        too_large == 1 ? "does" : "do");
  }
  text += peak_text(runs);
  for (const RunGroup group : groups) {
    text += "\n" + table_of_errors(errors_by(runs, predictions, group));
  }
  return text + table_of_orders(orders_of_plans(runs, predictions)) +
         memory_text(memory_errors(runs, predictions)) + worst_runs(runs, predictions, worst);
}

}  // namespace dfsearch
