// Limits on stages that divide a graph, and on LSTMs.

#include <algorithm>
#include <cmath>
#include <map>

#include "physics/limits.hpp"
#include "physics/numbers.hpp"

namespace dfsearch::test {
namespace {

double weight_of(const Json& kernel) {
  if (kernel["kind"] != "weight_gemm") return 0.0;
  return count_of(kernel, "outer") * count_of(kernel, "M") * count_of(kernel, "K");
}
double flops_of(const Json& kernel) { return 2.0 * weight_of(kernel) * count_of(kernel, "N"); }

struct Staged {
  const Json& workload;
  const Json& system;
  const Json& result;
  const std::string kind;
  double word, samples, tensor, pipeline, data, chips, peak, bandwidth, sram, step;
  LayerNumbers layer;
  double layers;

  Staged(const Json& config, const Json& of)
      : workload(config["workload"]),
        system(config["system"]),
        result(of),
        kind(workload["kind"]),
        word(word_of(workload)),
        samples(count_of(workload, "global_batch")),
        tensor(count_of(of["parallelism"], "tensor")),
        pipeline(count_of(of["parallelism"], "pipeline")),
        data(count_of(of["parallelism"], "data")),
        chips(count_of(system, "chips")),
        peak(peak_of(config)),
        bandwidth(amount(system["memory"]["bandwidth"])),
        sram(amount(system["accelerator"]["sram"])),
        step(count_of(of, "step_time")),
        layer(layer_numbers(workload)),
        layers(kind == "lstm" ? 1.0 : count_of(workload, "layers")) {}

  /// Chips of the dimensions that serve it.
  [[nodiscard]] std::vector<Line> lines(const char* strategy) const {
    std::vector<Line> lines;
    for (std::size_t d = 0; d < result["network"].size(); ++d) {
      const Json& given = system["network"][d];
      const Json& found = result["network"][d];
      lines.push_back({given["topology"], amount(given["bandwidth"]),
                       found["strategy"] == strategy ? count_of(found, "degree") : 1.0});
    }
    return lines;
  }
  /// The stage of a kernel, by its name; none where layers are not divided.
  [[nodiscard]] std::map<std::string, std::size_t> stages() const {
    std::map<std::string, std::size_t> stage_of;
    if (!result["stages"].is_array()) return stage_of;
    for (std::size_t s = 0; s < result["stages"].size(); ++s) {
      for (const Json& name : result["stages"][s]["kernels"]) stage_of[name] = s;
    }
    return stage_of;
  }
};

NamedCheck stages_limit(const char* name,
                        std::function<std::optional<Violation>(const Staged&)> check) {
  return {
      name,
      [check = std::move(check)](const Json&, const Answer& answer) -> std::optional<Violation> {
        const Json& config = answer.config;
        const auto* of = std::get_if<ResultAnswer>(&answer.of);
        if (!of || !answer.found() || !of->result.contains("stages") ||
            config["system"].contains("technology")) {
          return std::nullopt;
        }
        return check(Staged(config, of->result));
      }};
}

std::vector<NamedCheck> make_stages_limits() {
  std::vector<NamedCheck> checks;
  const auto add = [&](const char* name, std::function<double(const Staged&)> least) {
    checks.push_back(stages_limit(name, [name, least = std::move(least)](const Staged& x) {
      return at_least(name, least(x), x.step);
    }));
  };
  add("stages: FLOP over the peak of all chips",
      [](const Staged& x) { return x.layers * x.samples * x.layer.flops / (x.chips * x.peak); });
  add("stages: a sample passes all of the graph", [](const Staged& x) {
    // Columns of an LSTM follow each other step by step, through stages side by side.
    const double deep = x.kind == "lstm" ? x.pipeline : 1.0;
    return x.layers * x.layer.flops / (x.tensor * deep * x.peak);
  });
  add("stages: a stage computes its kernels for all samples", [](const Staged& x) {
    if (x.kind != "graph" || x.layers > 1.0) return 0.0;
    const auto stage_of = x.stages();
    std::map<std::size_t, double> flops;
    for (const Json& kernel : x.workload["kernels"]) {
      const auto at = stage_of.find(kernel["name"]);
      if (at != stage_of.end()) flops[at->second] += flops_of(kernel);
    }
    double most = 0.0;
    for (const auto& [stage, sum] : flops) most = std::max(most, sum);
    return x.samples / x.data * most / (x.tensor * x.peak);
  });
  add("stages: a step loads weights that stay in memory", [](const Staged& x) {
    // Each stage of a graph holds the weights of its kernels; the fullest has no less than the
    // mean.
    const double held = x.layers * x.layer.weights * x.word / (x.tensor * x.pipeline);
    return (held - x.sram) / x.bandwidth;
  });
  add("stages: each step of an LSTM reads its weights again", [](const Staged& x) {
    if (x.kind != "lstm") return 0.0;
    // A layer's steps wait for each other, forward and back, and each needs all of its weight.
    const double hidden = count_of(x.workload, "hidden");
    const double weight = 4.0 * hidden * hidden * x.word / x.tensor;
    const double layers = std::ceil(count_of(x.workload, "layers") / x.pipeline);
    return 2.0 * layers * count_of(x.workload, "steps") * (weight - x.sram) / x.bandwidth;
  });
  add("stages: gradients between the halves of the replicas", [](const Staged& x) {
    if (x.kind != "lstm") return 0.0;
    const double bytes = x.layer.weights * x.word / (x.tensor * x.pipeline);
    return slowest_cut(x.lines("data"), bytes);
  });
  add("stages: what crosses a border over its links", [](const Staged& x) {
    if (x.kind != "graph" || x.layers > 1.0 || x.pipeline < 2.0) return 0.0;
    const auto stage_of = x.stages();
    std::map<std::string, double> value;
    for (const Json& kernel : x.workload["kernels"]) {
      value[kernel["name"]] =
          count_of(kernel, "outer") * count_of(kernel, "M") * count_of(kernel, "N") * x.word;
    }
    double most = 0.0;
    for (std::size_t border = 1; border < x.result["stages"].size(); ++border) {
      std::map<std::string, double> crossing;  // each value once
      for (const Json& tensor : x.workload["tensors"]) {
        if (stage_of.at(tensor["from"]) < border && stage_of.at(tensor["to"]) >= border) {
          crossing[tensor["from"]] = value[tensor["from"]];
        }
      }
      double bytes = 0.0;
      for (const auto& [from, some] : crossing) bytes += some;
      most = std::max(most, bytes);
    }
    // Whatever the order of the stages in the network, a chip sends what its stage hands on.
    return x.samples / x.data * most / x.tensor / chip_bandwidth(x.lines("pipeline"));
  });
  checks.push_back(stages_limit("stages: memory holds the weights", [](const Staged& x) {
    double held = x.pipeline * count_of(x.result["memory"], "weights");
    if (x.result["stages"].is_array()) {
      held = 0.0;
      for (const Json& stage : x.result["stages"]) held += count_of(stage, "weights");
    }
    return at_least("stages: memory holds the weights",
                    x.layers * x.layer.weights * x.word / x.tensor, held);
  }));
  checks.push_back(stages_limit(
      "stages: what is held over the capacity", [](const Staged& x) -> std::optional<Violation> {
        if (!x.system["memory"].contains("capacity")) return std::nullopt;
        const Json& held = x.result["memory"];
        return at_least(
            "stages: what is held over the capacity",
            count_of(held, "weights") + count_of(held, "activations") + count_of(held, "stored"),
            amount(x.system["memory"]["capacity"]));
      }));
  return checks;
}

}  // namespace

const std::vector<NamedCheck>& stages_limits() {
  static const std::vector<NamedCheck> checks = make_stages_limits();
  return checks;
}

}  // namespace dfsearch::test
