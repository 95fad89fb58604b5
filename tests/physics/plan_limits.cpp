#include <algorithm>
#include <cmath>

#include "physics/config_files.hpp"
#include "physics/limits.hpp"
#include "physics/numbers.hpp"

namespace dfsearch::test {
namespace {

using training::Role;

/// A plan and what was asked, in numbers.
struct Planned {
  const Json& workload;
  const Json& system;
  const training::Plan& plan;
  const training::Cost& cost;
  double t, c, e, p, n;  // n: all replicas
  double b, m;           // samples of a micro-batch; micro-batches
  double word, tokens, hidden;
  double dense_layers, expert_layers;
  LayerNumbers dense, experts, head;
  Json measured;  // the chip of a stack
  Json states;    // of a stack
  double step;

  Planned(const Json& config, const PlanAnswer& answer)
      : workload(config["workload"]),
        system(config["system"]),
        plan(*answer.result.plan),
        cost(*answer.result.cost),
        t(degree(Role::Tensor)),
        c(degree(Role::Context)),
        e(degree(Role::Expert)),
        p(degree(Role::Pipeline)),
        n(degree(Role::Expert) * degree(Role::Data)),
        b(static_cast<double>(plan.micro_batch)),
        m(count_of(workload, "global_batch") / n / b),
        word(word_of(workload)),
        tokens(count_of(workload, "sequence")),
        hidden(count_of(workload, "hidden")),
        dense_layers(workload.contains("experts")
                         ? count_of(workload["experts"], "dense_layers", 0.0)
                         : count_of(workload, "layers")),
        expert_layers(count_of(workload, "layers") - dense_layers),
        dense(layer_numbers(workload, true)),
        experts(layer_numbers(workload)),
        head(head_numbers(workload)),
        measured(config.contains("execution") && config["execution"].contains("stack")
                     ? measured_chip(config["execution"]["chip"])
                     : Json()),
        states(stack_states(config)),
        step(cost.step_time.in_base_units()) {}

  [[nodiscard]] double degree(Role role) const { return static_cast<double>(plan.degrees[role]); }
  [[nodiscard]] double flops_of_sample() const {
    return dense_layers * dense.flops + expert_layers * experts.flops + head.flops;
  }
  /// Elements of the matrices of all layers that every replica has: no experts.
  [[nodiscard]] double replicated() const {
    return dense_layers * dense.weights + expert_layers * (experts.weights - experts.experts);
  }
  [[nodiscard]] double of_experts() const { return expert_layers * experts.experts; }
  /// The group of the chips that share these roles.
  [[nodiscard]] std::vector<Line> lines(std::initializer_list<Role> roles) const {
    std::vector<Line> result;
    for (std::size_t d = 0; d < plan.network.size(); ++d) {
      const Json& given = system["network"][d];
      double members = 1.0;
      for (const Role role : roles) members *= static_cast<double>(plan.network[d][role]);
      double bandwidth = amount(given["bandwidth"]);
      if (d > 0 && measured.is_object()) bandwidth = amount(measured["nic"]);
      result.push_back({given["topology"], bandwidth, members});
    }
    return result;
  }
  [[nodiscard]] double bandwidth() const { return amount(system["memory"]["bandwidth"]); }
};

using PlanLimit = std::function<double(const Json& config, const Planned& planned)>;

NamedCheck step_limit(const char* name, PlanLimit compute) {
  return {name,
          [name, compute = std::move(compute)](const Json&,
                                               const Answer& answer) -> std::optional<Violation> {
            const auto* of = std::get_if<PlanAnswer>(&answer.of);
            if (!of || !answer.found()) return std::nullopt;
            const Json& config = answer.config;
            const Planned planned(config, *of);
            const double limit = compute(config, planned);
            if (!is_less(planned.step, limit)) return std::nullopt;
            return Violation{name, limit, planned.step};
          }};
}

NamedCheck memory_limit(const char* name, PlanLimit compute) {
  return {name,
          [name, compute = std::move(compute)](const Json&,
                                               const Answer& answer) -> std::optional<Violation> {
            const auto* of = std::get_if<PlanAnswer>(&answer.of);
            if (!of || !answer.found()) return std::nullopt;
            const Json& config = answer.config;
            const Planned planned(config, *of);
            const double limit = compute(config, planned);
            const training::MemoryUse& use = planned.cost.memory;
            const double held = (use.total() + use.second).in_base_units();
            if (!is_less(held, limit)) return std::nullopt;
            return Violation{name, limit, held};
          }};
}

/// Bytes that the chips of all stages hold on average of `elements` elements; the fullest holds no
/// less.
double states(const Planned& x, double elements, double sharers) {
  const double zero = x.plan.zero;
  const auto bytes = [&](const char* key, double otherwise) {
    return x.states.is_null() ? otherwise : count_of(x.states, key, 0.0);
  };
  const double weights = bytes("weight", x.word) / (zero >= 3 ? sharers : 1.0);
  const double gradients = bytes("gradient", 4.0) / (zero >= 2 ? sharers : 1.0);
  const double optimizer =
      (bytes("master", 4.0) + bytes("moments", 8.0)) / (zero >= 1 ? sharers : 1.0);
  return elements * (weights + gradients + optimizer) / (x.t * x.p);
}

std::vector<NamedCheck> make_plan_limits() {
  std::vector<NamedCheck> checks;
  checks.push_back(
      step_limit("FLOP over the peak of all chips", [](const Json& config, const Planned& x) {
        return x.flops_of_sample() * count_of(x.workload, "global_batch") /
               (count_of(x.system, "chips") * peak_of(config));
      }));
  // One stage after the other, forward and back; weights have their gradients beside that.
  checks.push_back(step_limit("a step is no shorter than one micro-batch takes in all stages",
                              [](const Json& config, const Planned& x) {
                                return 2.0 / 3.0 * x.flops_of_sample() * x.b /
                                       (x.t * x.c * peak_of(config));
                              }));
  checks.push_back({"utilization is at most 1",
                    [](const Json&, const Answer& answer) -> std::optional<Violation> {
                      const auto* of = std::get_if<PlanAnswer>(&answer.of);
                      if (!of || !answer.found()) return std::nullopt;
                      const double share = of->result.cost->utilization;
                      if (!is_less(1.0, share)) return std::nullopt;
                      return Violation{"utilization is at most 1", share, 1.0};
                    }});
  checks.push_back(
      {"what a plan holds over the capacity",
       [](const Json&, const Answer& answer) -> std::optional<Violation> {
         const auto* of = std::get_if<PlanAnswer>(&answer.of);
         if (!of || !answer.found()) return std::nullopt;
         const Json& memory = answer.config["system"]["memory"];
         if (!memory.contains("capacity")) return std::nullopt;
         const training::MemoryUse& use = of->result.cost->memory;
         const char* name = "what a plan holds over the capacity";
         if (auto v = at_least(name, use.total().in_base_units(), amount(memory["capacity"]))) {
           return v;
         }
         if (!memory.contains("second")) return std::nullopt;
         return at_least(name, use.second.in_base_units(), amount(memory["second"]["capacity"]));
       }});
  checks.push_back(memory_limit("memory holds weights, gradients and optimizer",
                                [](const Json&, const Planned& x) {
                                  const double all = x.c * x.n;
                                  return states(x, x.replicated() + x.head.weights, all) +
                                         states(x, x.of_experts() / x.e, all / x.e);
                                }));
  checks.push_back(step_limit(
      "each micro-batch reads the weights, forward and back", [](const Json&, const Planned& x) {
        return 2.0 * x.m * x.word * x.replicated() / (x.t * x.p) / x.bandwidth();
      }));
  checks.push_back(
      step_limit("the optimizer reads and writes its states", [](const Json&, const Planned& x) {
        if (x.plan.offload.any()) return 0.0;
        const double sharers = x.plan.zero >= 1 ? x.c * x.n : 1.0;
        return 2.0 * 12.0 * x.replicated() / sharers / (x.t * x.p) / x.bandwidth();
      }));
  checks.push_back(
      step_limit("gradients between the halves of the replicas", [](const Json&, const Planned& x) {
        // One sum for all, or half of the sums for each half and half of the weights back.
        const double bytes = std::min(2.0, (2.0 + x.word) / 2.0);
        return slowest_cut(x.lines({Role::Context, Role::Expert, Role::Data}),
                           bytes * x.replicated() / (x.t * x.p));
      }));
  checks.push_back(step_limit(
      "tensor ranks exchange what their weights make", [](const Json&, const Planned& x) {
        const std::vector<Line> lines = x.lines({Role::Tensor});
        const double layers = count_of(x.workload, "layers") / x.p;
        double seconds = 0.0;
        for (std::size_t d = 0; d < lines.size(); ++d) {
          if (lines[d].members < 2.0) continue;
          // The smaller half of the weights needs, or adds, these bytes of each token; forward and
          // back, both ways at once.
          const double bytes =
              2.0 * smaller_half(lines[d]) * x.b * x.tokens / x.c * x.hidden * x.word / 2.0;
          seconds = std::max(seconds, x.m * layers * bytes / cut_bandwidth(lines, d));
        }
        return seconds;
      }));
  checks.push_back(step_limit("samples from stage to stage", [](const Json&, const Planned& x) {
    const double bytes = x.m * x.b * x.tokens / x.c * x.hidden * x.word / x.t;
    const std::vector<Line> lines = x.lines({Role::Pipeline});
    if (x.p < 2.0) return 0.0;
    // A chip sends what each of its chunks hands on, but for the last one of all.
    const double chunks = static_cast<double>(x.plan.chunks);
    return std::max(slowest_cut(lines, bytes), chunks * bytes / chip_bandwidth(lines));
  }));
  checks.push_back(step_limit("tokens to experts and back", [](const Json&, const Planned& x) {
    const std::vector<Line> lines = x.lines({Role::Expert});
    double seconds = 0.0;
    for (std::size_t d = 0; d < lines.size(); ++d) {
      const double half = smaller_half(lines[d]);
      if (half <= 0.0) continue;
      // Dispatch and return, forward and back; a token goes to one expert at least.
      const double bytes =
          4.0 * half * (1.0 - half) * x.e * x.b * x.tokens / x.c * x.hidden * x.word / x.t;
      seconds = std::max(seconds, x.m * x.expert_layers / x.p * bytes / cut_bandwidth(lines, d));
    }
    return seconds;
  }));
  return checks;
}

}  // namespace

const std::vector<NamedCheck>& plan_limits() {
  static const std::vector<NamedCheck> checks = make_plan_limits();
  return checks;
}

}  // namespace dfsearch::test
