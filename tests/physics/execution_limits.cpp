// Limits on every execution of Calculon's model.
//
// The equations follow its program (docs/calculon.md), which rounds a chip's part of heads and of
// the MLP down: the remainder is not counted here either.

#include <algorithm>
#include <cmath>

#include "physics/limits.hpp"
#include "physics/numbers.hpp"

namespace dfsearch::test {
namespace {

constexpr double kWord = 2.0;
constexpr double kOptimizer = 12.0;  // bytes of a weight

double rate(const Json& engine, const char* key) {
  return amount(engine[key]) * best_share(engine);
}

struct Executed {
  const Json& workload;
  const Json& system;
  const Json& result;
  const Json& execution;
  double t, p, n, batch, b, v, m;
  double tokens, hidden, layers;
  double weights = 0.0;  // elements of a layer, but for what is rounded away
  double flops = 0.0;    // of a layer for a sample, forward
  bool trains;
  double step;

  Executed(const Json& config, const Json& of)
      : workload(config["workload"]),
        system(config["system"]),
        result(of),
        execution(of["execution"]),
        t(count_of(execution, "tensor")),
        p(count_of(execution, "pipeline")),
        n(count_of(execution, "data")),
        batch(count_of(execution, "global_batch")),
        b(count_of(execution, "micro_batch")),
        v(count_of(execution, "chunks")),
        m(batch / (n * b)),
        tokens(count_of(workload, "sequence")),
        hidden(count_of(workload, "hidden")),
        layers(count_of(workload, "layers")),
        trains(workload["kind"] == "llm_training"),
        step(count_of(of, "step_time")) {
    const double a = count_of(workload, "heads");
    const double d = count_of(workload, "head_dim");
    const double width = std::floor(a * d / t) * t;
    const double mlp = std::floor(count_of(workload, "mlp") / t) * t;
    weights = 4.0 * hidden * width + 2.0 * hidden * mlp;
    flops = 2.0 * tokens * weights + 4.0 * tokens * tokens * std::floor(a / t) * t * d;
  }
  /// Passes over the layers, all with the same FLOP.
  [[nodiscard]] double passes() const {
    if (!trains) return 1.0;
    return execution["recompute"] == "full" ? 4.0 : 3.0;
  }
  [[nodiscard]] double peak() const { return rate(system["matrix"], "peak"); }
  [[nodiscard]] double bandwidth() const { return rate(system["memory"], "bandwidth"); }
  [[nodiscard]] bool offloads(const char* what) const {
    const Json& some = execution["offload"];
    return std::find(some.begin(), some.end(), what) != some.end();
  }
  /// Bytes a second of a chip in the network of tensor ranks (0), stages (1) or replicas (2).
  [[nodiscard]] double link(std::size_t role) const {
    const Json& network = system["networks"][execution["networks"][role].get<std::size_t>()];
    return amount(network["bandwidth"]) * count_of(network, "efficiency");
  }
  /// Elements of the weights of a chip.
  [[nodiscard]] double share() const { return layers * weights / (t * p); }
};

using LeastTime = std::function<double(const Executed& x)>;

NamedCheck execution_limit(const char* name,
                           std::function<std::optional<Violation>(const Executed&)> check) {
  return {
      name,
      [check = std::move(check)](const Json&, const Answer& answer) -> std::optional<Violation> {
        const Json& config = answer.config;
        const auto* of = std::get_if<ResultAnswer>(&answer.of);
        if (!of || !answer.found() || !of->result.contains("execution")) return std::nullopt;
        return check(Executed(config, of->result));
      }};
}

NamedCheck execution_step_limit(const char* name, LeastTime least) {
  return execution_limit(name, [name, least = std::move(least)](const Executed& x) {
    return at_least(name, least(x), x.step);
  });
}

/// Bytes that a tensor rank receives of a sum over a micro-batch: (t - 1)/t of it where each keeps
/// its share, or where links add up.  A ring of pieces that hide behind a product is charged
/// without its first piece: "Q" of docs/calculon.md, (C6).
double received_by_tensor_rank(const Executed& x) {
  const double part = (x.t - 1.0) / x.t;
  return x.b * x.tokens * x.hidden * kWord *
         (x.execution["overlap"] == "none" ? part : part * part);
}

std::vector<NamedCheck> make_execution_limits() {
  std::vector<NamedCheck> checks;
  const auto add = [&](const char* name, LeastTime least) {
    checks.push_back(execution_step_limit(name, std::move(least)));
  };
  add("execution: FLOP over the peak of all chips", [](const Executed& x) {
    return x.layers * x.batch * x.passes() * x.flops / (x.t * x.p * x.n * x.peak());
  });
  add("execution: a micro-batch passes all stages",
      [](const Executed& x) { return x.layers * x.b * x.passes() * x.flops / (x.t * x.peak()); });
  add("execution: each micro-batch reads the weights, forward and back", [](const Executed& x) {
    return x.m * x.share() * kWord * (x.trains ? 2.0 : 1.0) / x.bandwidth();
  });
  add("execution: weights that are offloaded come for each micro-batch", [](const Executed& x) {
    if (!x.offloads("weights")) return 0.0;
    return x.m * x.share() * kWord / rate(x.system["memory"]["second"], "bandwidth");
  });
  add("execution: the optimizer reads its states", [](const Executed& x) {
    const double sharers = x.execution["sharding"] == true ? x.n : 1.0;
    return x.trains ? kOptimizer * x.share() / sharers / x.bandwidth() : 0.0;
  });
  add("execution: tensor ranks add up two products of a layer, and two back",
      [](const Executed& x) {
        return x.m * x.layers / x.p * (x.trains ? 4.0 : 2.0) * received_by_tensor_rank(x) /
               x.link(0);
      });
  add("execution: micro-batches from stage to stage", [](const Executed& x) {
    if (x.p < 2.0) return 0.0;
    return x.m * x.v * std::floor(x.b * x.tokens / x.t) * x.hidden * kWord / x.link(1);
  });
  add("execution: gradients of the replicas", [](const Executed& x) {
    return x.trains ? (x.n - 1.0) / x.n * x.share() * kWord / x.link(2) : 0.0;
  });
  checks.push_back(execution_limit("execution: memories hold the states", [](const Executed& x) {
    const double sharers = x.execution["sharding"] == true ? x.n : 1.0;
    double states = kWord;
    if (x.trains) states += (kWord + kOptimizer) / sharers;
    const Json& held = x.result["memory"];
    return at_least("execution: memories hold the states", states * x.share(),
                    count_of(held, "first") + count_of(held, "second"));
  }));
  for (const char* tier : {"first", "second"}) {
    checks.push_back(execution_limit("execution: what is held over the capacity",
                                     [tier](const Executed& x) -> std::optional<Violation> {
                                       const Json& memory = x.system["memory"];
                                       const bool is_first = tier == std::string("first");
                                       if (!is_first && !memory.contains("second"))
                                         return std::nullopt;
                                       const Json& of = is_first ? memory : memory["second"];
                                       return at_least("execution: what is held over the capacity",
                                                       count_of(x.result["memory"], tier),
                                                       amount(of["capacity"]));
                                     }));
  }
  return checks;
}

}  // namespace

const std::vector<NamedCheck>& execution_limits() {
  static const std::vector<NamedCheck> checks = make_execution_limits();
  return checks;
}

}  // namespace dfsearch::test
