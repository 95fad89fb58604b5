#include "io/predict/prediction_errors.hpp"

#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <map>

#include "base/error.hpp"
#include "base/parallel_for.hpp"
#include "io/config/load_config.hpp"
#include "io/config/serving_text.hpp"
#include "io/config/shelf.hpp"
#include "io/schema/write_schema.hpp"
#include "io/text/input_messages.hpp"
#include "io/text/quoted_text.hpp"
#include "io/text/text_table.hpp"
#include "model/serving/measured_class.hpp"
#include "model/serving/requests.hpp"
#include "model/serving/steady_state.hpp"

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
  std::string text;
  const auto add = [&](const char* name, const MemoryErrors::Refused& refused) {
    if (refused.runs == 0) return;
    text +=
        fmt::format("{} {}: refused at low ends {} %, at typical ones {} %, at high ones {} %\n",
                    refused.runs, name, percent_of(refused.share(memory::Level::Low)),
                    percent_of(refused.share(memory::Level::Typical)),
                    percent_of(refused.share(memory::Level::High)));
  };
  add("real runs", memory.ran);
  add("runs out of memory", memory.out_of_memory);
  if (memory.measured > 0) {
    text += fmt::format(
        "peak of the allocator in {} runs: {} % off, bias {}; {} % within the ends\n",
        memory.measured, percent_of(memory.error), signed_percent(memory.bias),
        percent_of(static_cast<double>(memory.within) / static_cast<double>(memory.measured)));
  }
  return text.empty() ? text : "\nmemory\n" + text;
}

std::string explanation(std::optional<double> factor) {
  return factor ? fmt::format("{:.2f} times as long, it would agree", *factor)
                : "no change of this part alone makes it agree";
}

std::string peak_text(const std::vector<MeasuredRun>& runs) {
  const std::vector<std::size_t> beyond = beyond_peak(runs);
  if (beyond.empty()) return "";
  return fmt::format(
      "{} faster than the peak of {} chips allows ({} first): check step_s, which is in seconds, "
      "gpus, global_batch and precision\n",
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
  text += ",memory_gib,fits,low_gib,typical_gib,high_gib,verdict,reserved_gb,note\n";
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const MeasuredRun& run = runs[i];
    text +=
        fmt::format("{},{},{},{},{},{}", csv_cell(run.id), csv_cell(run.model), csv_cell(run.gpu),
                    run.gpus, csv_cell(run.stack), run.step ? fmt::format("{}", *run.step) : "");
    if (!predictions[i]) {
      text += fmt::format(
          ",,,,{},,,,,,,,{}\n", std::string(kRunParts.size(), ','),
          run.unfit.empty() ? "the shape of the model is not given" : csv_cell(run.unfit));
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
    const training::MemoryJudgement& judgement = time.judgement;
    text += fmt::format(",{:.4g},{}", allocator_gib(run, prediction), time.fits ? "yes" : "no");
    for (const memory::Level level : memory::kLevels) {
      text += fmt::format(",{:.4g}", judgement.needed[level] / Bytes(1073741824.0));
    }
    const std::optional<double>& peak = run.allocated ? run.allocated : run.reserved;
    text += fmt::format(
        ",{},{},{}\n", csv_cell(name_of(judgement.verdict)), peak ? fmt::format("{}", *peak) : "",
        run.guessed.empty() && run.comparable ? csv_cell(run.note)
        : run.guessed.empty()                 ? "left out of the errors of times"
                              : csv_cell(fmt::format("the rates of {} are guessed", run.guessed)));
  }
  return text;
}

std::string prediction_report(const std::vector<MeasuredRun>& runs, const Predictions& predictions,
                              const std::vector<RunGroup>& groups, std::size_t worst) {
  const auto is_unfit = [](const MeasuredRun& run) { return !run.unfit.empty(); };
  const auto unfit = std::count_if(runs.begin(), runs.end(), is_unfit);
  const auto without = std::count_if(predictions.begin(), predictions.end(),
                                     [](const auto& each) { return !each.has_value(); }) -
                       unfit;
  std::string text = fmt::format("{} runs", runs.size());
  if (without > 0) text += fmt::format(", {} of them without the shape of a model", without);
  text += "\n";
  if (unfit > 0) {
    const auto first = std::find_if(runs.begin(), runs.end(), is_unfit);
    text += fmt::format("{} runs left out, as they describe no plan ({} first: {})\n", unfit,
                        escaped(first->id), escaped(first->unfit));
  }
  text += peak_text(runs);
  for (const RunGroup group : groups) {
    text += "\n" + table_of_errors(errors_by(runs, predictions, group));
    const auto others = group == RunGroup::Source ? errors_without_a_source(runs, predictions)
                                                  : std::vector<GroupErrors>();
    if (!others.empty()) text += "\n" + table_of_errors(others);
  }
  if (const auto guesses = errors_of_guesses(runs, predictions); !guesses.empty()) {
    text +=
        "\nruns with rates that were never measured, left out above\n" + table_of_errors(guesses);
  }
  return text + table_of_orders(orders_of_plans(runs, predictions)) +
         memory_text(memory_errors(runs, predictions)) + worst_runs(runs, predictions, worst);
}

namespace {

using Predicted = std::vector<std::optional<ServicePrediction>>;

ServicePrediction predicted_service(const MeasuredService& service) {
  const serving::Role& role = service.deployment.decode;
  ServicePrediction prediction{.figures = serving::evaluate(*service.task, service.deployment),
                               .room = serving::cache_room(*service.task, service.deployment)};
  prediction.kind = class_of(*service.task, service.deployment, prediction.figures);
  const serving::Means means(service.task->requests);
  const serving::Decoder decoder(*service.task, means, role.structure, role.depth, role.chunk);
  const serving::Decoding at = decoder.at(role, prediction.figures);
  // The share of a request's tokens that come from iterations with prefill.
  const double mixed =
      means.steps > 0.0
          ? std::min(at.mix.cost * at.mix.decoding * at.tokens_per_step / means.steps, 1.0)
          : 0.0;
  const auto add = [&](bool is_mixed, double share) {
    if (share == 0.0) return;
    const serving::PartTimes parts = decoder.parts(at, is_mixed);
    for (std::size_t i = 0; i < serving::kParts; ++i) {
      prediction.parts[i] += share * serving::real(role.structure.pipeline) * parts[i];
    }
  };
  add(false, 1.0 - mixed);
  add(true, mixed);
  return prediction;
}

double off(double predicted, double measured) { return predicted / measured - 1.0; }

std::string kind_of(const MeasuredService& service) {
  if (service.deployment.mode == serving::Mode::Disaggregated) return "disaggregated";
  if (service.rate) {
    return service.task->model.experts ? "throughput of jobs, experts"
                                       : "throughput of jobs, dense";
  }
  return service.task->model.experts ? "aggregated, experts" : "aggregated, dense";
}

/// Mean size, median of sizes and bias of shares.
std::vector<std::string> cells_of_errors(std::vector<double> errors) {
  if (errors.empty()) return {"", "", ""};
  double size = 0.0, bias = 0.0;
  for (double& error : errors) {
    bias += error;
    error = std::fabs(error);
    size += error;
  }
  std::sort(errors.begin(), errors.end());
  const double count = static_cast<double>(errors.size());
  return {fmt::format("{:.1f}", 100.0 * size / count),
          fmt::format("{:.1f}", 100.0 * errors[errors.size() / 2]),
          fmt::format("{:+.1f}", 100.0 * bias / count)};
}

struct ServiceErrors {
  std::size_t count = 0;
  std::vector<double> tpot, ttft;
};

/// Groups errors by the name that a function gives each prediction; empty names are left out.
std::string table_of(const std::vector<MeasuredService>& services, const Predicted& predictions,
                     const std::function<std::string(const MeasuredService&)>& name) {
  std::map<std::string, ServiceErrors> groups;
  for (std::size_t i = 0; i < services.size(); ++i) {
    const MeasuredService& service = services[i];
    if (!predictions[i] || !service.is_timed()) continue;
    const std::string group = name(service);
    if (group.empty()) continue;
    ServiceErrors& errors = groups[group];
    ++errors.count;
    errors.tpot.push_back(service.error(predictions[i]->figures));
    if (service.ttft) {
      errors.ttft.push_back(off(predictions[i]->figures.ttft, *service.ttft));
    }
  }
  if (groups.empty()) return "";
  TextTable table({"points", "TPOT %", "median", "bias", "TTFT %", "median", "bias", "of"});
  for (const auto& [group, errors] : groups) {
    std::vector<std::string> cells = {std::to_string(errors.count)};
    for (const auto& list : {errors.tpot, errors.ttft}) {
      for (std::string& cell : cells_of_errors(list)) cells.push_back(std::move(cell));
    }
    const std::size_t comma = std::min(group.find(", "), group.size());
    std::vector<std::string> words = {group.substr(0, comma)};
    if (comma < group.size()) words = {words[0] + ",", group.substr(comma + 2)};
    table.add(std::move(cells), std::move(words));
  }
  return table.text();
}

std::string worst_services(const std::vector<MeasuredService>& services,
                           const Predicted& predictions, std::size_t most) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < services.size(); ++i) {
    if (predictions[i] && services[i].is_timed() && services[i].doubtful.empty()) {
      order.push_back(i);
    }
  }
  const auto size = [&](std::size_t i) {
    return std::fabs(services[i].error(predictions[i]->figures));
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return size(a) > size(b); });
  if (order.size() > most) order.resize(most);
  if (order.empty()) return "";
  TextTable table({"measured ms", "predicted", "TPOT %", "point"});
  for (const std::size_t i : order) {
    const MeasuredService& service = services[i];
    const serving::Figures& figures = predictions[i]->figures;
    // For a job, the chip-seconds of a token.
    const double measured = service.rate ? 1.0 / *service.rate : *service.tpot;
    table.add({fmt::format("{:.4g}", 1e3 * measured),
               fmt::format("{:.4g}", 1e3 * measured * service.time_ratio(figures)),
               fmt::format("{:+.1f}", 100.0 * service.error(figures))},
              {services[i].id + ",", services[i].model, services[i].engine});
  }
  return "\nfarthest off\n" + table.text();
}

}  // namespace

Predicted predict_services(const std::vector<MeasuredService>& services) {
  Predicted predictions(services.size());
  parallel_for(services.size(), [&](std::size_t i) {
    if (services[i].task) predictions[i] = predicted_service(services[i]);
  });
  return predictions;
}

std::string service_csv(const std::vector<MeasuredService>& services,
                        const Predicted& predictions) {
  std::string text =
      "id,model_path,system,engine,mode,silicon_ttft_ms,predicted_ttft_ms,ttft_error,"
      "silicon_tpot_ms,predicted_tpot_ms,tpot_error";
  for (const auto& part : words(serving::Part{})) text += fmt::format(",{}_ms", part.name);
  text +=
      ",memory_gb,fits,low_gb,typical_gb,high_gb,verdict,doubtful,note,tokens_per_s_per_gpu,"
      "rate_error,class,caution\n";
  const auto ms = [](const std::optional<double>& seconds) {
    return seconds ? fmt::format("{:.6g}", 1e3 * *seconds) : "";
  };
  const auto both = [&](const std::optional<double>& measured, double predicted) {
    return fmt::format(",{},{:.6g},{}", ms(measured), 1e3 * predicted,
                       measured ? fmt::format("{:.4f}", off(predicted, *measured)) : "");
  };
  for (std::size_t i = 0; i < services.size(); ++i) {
    const MeasuredService& service = services[i];
    text += fmt::format("{},{},{},{},", csv_cell(service.id), csv_cell(service.model),
                        csv_cell(service.system), csv_cell(service.engine));
    if (!predictions[i]) {
      text += fmt::format(",{},,,{},,{},,,,,,,,{},,,,\n", ms(service.ttft), ms(service.tpot),
                          std::string(serving::kParts, ','), csv_cell(service.unknown));
      continue;
    }
    const serving::Figures& figures = predictions[i]->figures;
    text += name_of(service.deployment.mode);
    text += both(service.ttft, figures.ttft) + both(service.tpot, figures.tpot);
    for (const double part : predictions[i]->parts) text += fmt::format(",{:.4g}", 1e3 * part);
    const auto& broken = figures.broken;
    const bool fits =
        std::find(broken.begin(), broken.end(), serving::Broken::Memory) == broken.end();
    text += fmt::format(",{:.4g},{}", std::max(figures.memory, figures.memory_prefill) / 1e9,
                        fits ? "yes" : "no");
    const serving::CacheRoom& room = predictions[i]->room;
    for (const memory::Level level : memory::kLevels) {
      text += room.filled ? fmt::format(",{:.4g}", (*room.filled)[level] / Bytes(1e9)) : ",";
    }
    std::string kind = json_line(written(predictions[i]->kind));
    std::erase(kind, '"');  // words and numbers need no quotes
    text += fmt::format(
        ",{},{},,{:.6g},{},{},{}\n", room.filled ? csv_cell(std::string(room.verdict_word())) : "",
        csv_cell(service.doubtful), figures.tokens_per_s_per_chip(),
        service.rate ? fmt::format("{:.4f}", service.error(figures)) : "", csv_cell(kind),
        csv_cell(doubt_of(service.task->pools[0].engine, predictions[i]->kind)));
  }
  return text;
}

namespace {

/// A line that counts the verdicts on the memory of deployments.
std::string verdicts_text(const Predicted& predictions) {
  std::map<std::string_view, std::size_t> counts;
  std::size_t all = 0;
  for (const auto& prediction : predictions) {
    if (!prediction || !prediction->room.filled) continue;
    ++counts[prediction->room.verdict_word()];
    ++all;
  }
  if (all == 0) return "";
  std::string text = fmt::format("\nmemory of {} deployments that ran: ", all);
  std::string_view link;
  for (const auto& [word, count] : counts) {
    text += fmt::format("{}{} {}", link, count, word);
    link = "; ";
  }
  return text + "\n";
}

}  // namespace

std::string service_report(const std::vector<MeasuredService>& services,
                           const Predicted& predictions, std::size_t worst) {
  std::map<std::string, std::size_t> unknown;
  std::size_t doubtful = 0;
  for (const MeasuredService& service : services) {
    if (!service.task) ++unknown[fmt::format("{}, {}", service.model, service.unknown)];
    if (!service.doubtful.empty()) ++doubtful;
  }
  std::string text = fmt::format("{} points, {} of them in doubt\n", services.size(), doubtful);
  for (const auto& [reason, count] : unknown) {
    text += fmt::format("not predicted: {} points of {}\n", count, escaped(reason));
  }
  const auto sure = [&](const std::function<std::string(const MeasuredService&)>& name) {
    return "\n" + table_of(services, predictions, [&](const MeasuredService& service) {
             return service.doubtful.empty() ? name(service) : "";
           });
  };
  text +=
      "\ntime per output token (TPOT), and to the first one under load (TTFT), which is a queue";
  text += sure(&kind_of);
  text += sure([](const auto& service) { return service.backend + ", " + kind_of(service); });
  text += sure([](const auto& service) { return service.model + ", " + kind_of(service); });
  text += sure([](const auto& service) { return service.system + ", " + kind_of(service); });
  if (doubtful > 0) {
    text += "\nin doubt, and left out above\n";
    text += table_of(services, predictions, [](const auto& service) { return service.doubtful; });
  }
  return text + verdicts_text(predictions) + worst_services(services, predictions, worst);
}

// The measured deployments that support the answers for a model and a system.

std::string support_text(const std::string& model, const std::string& system) {
  for (const auto& [kind, name] :
       {std::pair(ShelfKind::Workloads, model), std::pair(ShelfKind::Systems, system)}) {
    if (!find_on_shelf(kind, name)) throw InputError(not_on_shelf(kind, name));
  }
  std::string text, none;
  for (const ShelfFile& engine : shelf(ShelfKind::Engines)) {
    if (!runs_on(engine.name, system)) continue;
    const std::string config = fmt::format(
        "workload: {{kind: llm_serving, model: {}, input: 2, output: 2}}\nserving: {{pools: "
        "[{{name: chips, chips: 1, system: {{from: {}, engine: {}}}}}]}}\n",
        model, system, engine.name);
    const serving::Task task = std::get<ServingConfig>(parse_any_config(config, "support")).task;
    const bool has_experts = task.model.experts.has_value();
    TextTable table({"measured", "off %", "bias %", "beyond 40 %", "deployments"});
    std::size_t rows = 0;
    for (const serving::MeasuredClass& each : task.pools[0].engine.measured) {
      const auto other =
          has_experts ? serving::MeasuredKind::Dense : serving::MeasuredKind::Experts;
      if (each.kind == other) continue;
      table.add({std::to_string(each.rows), fmt::format("{:.0f}", 100.0 * each.off),
                 fmt::format("{:+.0f}", 100.0 * each.bias), std::to_string(each.beyond)},
                {text_of(each)});
      ++rows;
    }
    if (rows == 0) {
      none += fmt::format("{}: none was measured of models {}\n", engine.name,
                          has_experts ? "with experts" : "without experts");
      continue;
    }
    text += fmt::format("{}{}: time per token, of a job its throughput\n{}",
                        text.empty() ? "" : "\n", engine.name, table.text());
  }
  if (text.empty() && none.empty()) {
    return fmt::format("{}: no deployment was measured on this system\n", system);
  }
  return text + (text.empty() || none.empty() ? "" : "\n") + none;
}

}  // namespace dfsearch
