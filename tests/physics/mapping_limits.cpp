#include <algorithm>
#include <cmath>

#include "physics/limits.hpp"
#include "physics/numbers.hpp"

namespace dfsearch::test {

double cut_bandwidth(const std::vector<Line>& group, std::size_t dimension) {
  double lines = 1.0;
  for (std::size_t d = 0; d < group.size(); ++d) {
    if (d != dimension) lines *= group[d].members;
  }
  const Line& cut = group[dimension];
  const double less = std::floor(cut.members / 2.0);
  const double links = cut.topology == "ring"     ? 2.0
                       : cut.topology == "switch" ? less
                                                  : less * (cut.members - less);
  return lines * links * cut.bandwidth;
}

double smaller_half(const Line& line) { return std::floor(line.members / 2.0) / line.members; }

double chip_bandwidth(const std::vector<Line>& group) {
  double sum = 0.0;
  for (const Line& line : group) {
    if (line.members < 2.0) continue;
    const double links = line.topology == "ring"     ? 2.0
                         : line.topology == "switch" ? 1.0
                                                     : line.members - 1.0;
    sum += links * line.bandwidth;
  }
  return sum;
}

double slowest_cut(const std::vector<Line>& group, double bytes) {
  double seconds = 0.0;
  for (std::size_t d = 0; d < group.size(); ++d) {
    if (group[d].members >= 2.0) seconds = std::max(seconds, bytes / cut_bandwidth(group, d));
  }
  return seconds;
}

namespace {

/// A mapping and what was asked, in numbers.
struct Mapped {
  const Json& workload;
  const Json& system;
  const Mapping& mapping;
  const Cost& cost;
  const Workload& built;
  std::string kind;
  double word, layers, samples, copies, chips;  // chips of one copy
  double tensor = 1.0, pipeline = 1.0, data = 1.0;
  std::vector<Line> tensor_lines, pipeline_lines, data_lines, all_lines;
  LayerNumbers layer;
  double step;  // of one copy

  Mapped(const Json& config, const MappingAnswer& answer)
      : workload(config["workload"]),
        system(config["system"]),
        mapping(*answer.result.mapping),
        cost(*answer.result.cost),
        built(answer.config.problem.workload),
        kind(workload["kind"]),
        word(word_of(workload)),
        layers(count_of(workload, "layers")),
        samples(count_of(workload, "global_batch")),
        copies(count_of(workload, "copies")),
        chips(count_of(system, "chips") / copies),
        layer(layer_numbers(workload)),
        step(cost.step_time.in_base_units() * copies) {
    for (std::size_t d = 0; d < mapping.network.size(); ++d) {
      const Json& given = system["network"][d];
      const Mapping::Dimension& dimension = mapping.network[d];
      const Line line{given["topology"], amount(given["bandwidth"]),
                      static_cast<double>(dimension.degree)};
      all_lines.push_back(line);
      switch (dimension.strategy) {
        case Strategy::Tensor:
          tensor *= line.members;
          tensor_lines.push_back(line);
          break;
        case Strategy::Pipeline:
          pipeline *= line.members;
          pipeline_lines.push_back(line);
          break;
        case Strategy::Data:
          data *= line.members;
          data_lines.push_back(line);
          break;
      }
    }
  }

  [[nodiscard]] double bandwidth() const { return amount(system["memory"]["bandwidth"]); }
  [[nodiscard]] bool trains() const { return kind.ends_with("training"); }
  [[nodiscard]] bool decodes() const { return kind == "llm_decode"; }
  [[nodiscard]] bool is_llm() const { return kind.starts_with("llm"); }
  /// Elements stored beside matrices in a layer.
  [[nodiscard]] double beside() const {
    double sum = 0.0;
    for (const Kernel& kernel : built.graph.kernels())
      sum += static_cast<double>(kernel.parameters);
    return sum;
  }
};

using MappingCheck =
    std::function<std::optional<Violation>(const Json& config, const Mapped& mapped)>;

NamedCheck mapping_limit(const char* name, MappingCheck compute) {
  return {name,
          [compute = std::move(compute)](const Json&,
                                         const Answer& answer) -> std::optional<Violation> {
            const auto* of = std::get_if<MappingAnswer>(&answer.of);
            if (!of || !answer.found()) return std::nullopt;
            return compute(answer.config, Mapped(answer.config, *of));
          }};
}

std::vector<NamedCheck> make_mapping_limits() {
  std::vector<NamedCheck> checks;
  const auto add = [&](const char* name, MappingCheck compute) {
    checks.push_back(mapping_limit(name, std::move(compute)));
  };
  // Compute.
  add("FLOP over the peak of all chips", [](const Json& config, const Mapped& m) {
    const double flops = m.layers * m.samples * m.layer.flops;
    return at_least("FLOP over the peak of all chips", flops / (m.chips * peak_of(config)), m.step);
  });
  add("utilization is at most what was given", [](const Json& config, const Mapped& m) {
    return at_least("utilization is at most what was given", m.cost.utilization,
                    count_of(config["execution"], "compute_utilization"));
  });
  // Samples.
  add("a step is no shorter than one sample takes", [](const Json&, const Mapped& m) {
    const double sample = m.cost.layer_time.in_base_units() * static_cast<double>(m.built.layers);
    return at_least("a step is no shorter than one sample takes", sample, m.step);
  });
  add("a step is no shorter than the latency", [](const Json&, const Mapped& m) {
    const double latency = m.cost.serving ? m.cost.serving->latency.in_base_units() : 0.0;
    return at_least("a step is no shorter than the latency", latency, m.step);
  });
  // Memory that is held.
  add("memory holds the parameters", [](const Json&, const Mapped& m) -> std::optional<Violation> {
    if (m.kind == "hpl" || m.kind == "fft") return std::nullopt;
    const double share = m.layers * m.layer.weights * m.word / (m.tensor * m.pipeline);
    return at_least("memory holds the parameters", share, m.cost.weights.in_base_units());
  });
  add("one chip holds each parameter once",
      [](const Json&, const Mapped& m) -> std::optional<Violation> {
        if (m.chips > 1.0 || m.kind == "hpl" || m.kind == "fft") return std::nullopt;
        const double whole = m.layers * m.word * (m.layer.weights + m.beside());
        // Training by the published layer counts what uses a weight again: the other way round.
        if (is_less(whole, m.cost.weights.in_base_units())) {
          return Violation{"one chip holds each parameter once", whole,
                           m.cost.weights.in_base_units()};
        }
        return std::nullopt;
      });
  add("caches are held", [](const Json&, const Mapped& m) {
    const double caches = m.samples * m.layers * m.layer.cache * m.word / m.chips;
    return at_least("caches are held", m.decodes() && m.workload.contains("batch") ? caches : 0.0,
                    m.cost.stored.in_base_units());
  });
  add("what is held over the capacity",
      [](const Json&, const Mapped& m) -> std::optional<Violation> {
        const Json& memory = m.system["memory"];
        if (!memory.contains("capacity")) return std::nullopt;
        double capacity = amount(memory["capacity"]);
        if (memory.contains("second")) capacity += amount(memory["second"]["capacity"]);
        const Bytes held = m.cost.weights + m.cost.activations + m.cost.stored;
        return at_least("what is held over the capacity", held.in_base_units(), capacity);
      });
  add("chips hold the tables, the matrix or the points together", [](const Json&, const Mapped& m) {
    double elements = 0.0;
    if (m.kind.starts_with("dlrm")) {
      elements = count_of(m.workload, "tables") * count_of(m.workload, "rows") *
                 count_of(m.workload, "embedding");
    } else if (m.kind == "hpl") {
      elements = std::pow(count_of(m.workload, "n"), 2.0);
    } else if (m.kind == "fft") {
      elements = count_of(m.workload, "length");
    }
    return at_least("chips hold the tables, the matrix or the points together",
                    elements * m.word / m.chips, m.cost.stored.in_base_units());
  });
  // Memory traffic.
  add("weights and caches of each token over the bandwidth", [](const Json&, const Mapped& m) {
    const double read = m.decodes() ? (m.layer.read + m.layer.cache) * m.word : 0.0;
    return at_least("weights and caches of each token over the bandwidth",
                    m.samples * m.layers * read / (m.chips * m.bandwidth()), m.step);
  });
  add("latency reads weights and caches of all layers", [](const Json&, const Mapped& m) {
    const double read = m.decodes() ? (m.layer.read + m.layer.cache) * m.word : 0.0;
    const double latency =
        m.cost.serving ? m.cost.serving->latency.in_base_units() : m.layers * 1e300;
    return at_least("latency reads weights and caches of all layers",
                    m.layers * read / (m.tensor * m.bandwidth()), latency);
  });
  add("a chip reads whole heads of the caches",
      [](const Json&, const Mapped& m) -> std::optional<Violation> {
        // A single head of queries may be divided by its features.
        if (!m.decodes() || count_of(m.workload, "heads") < 2.0) return std::nullopt;
        const double heads = std::ceil(m.layer.heads / m.tensor);
        const double bytes =
            (m.layer.cache / m.layer.heads * heads + m.layer.read / m.tensor) * m.word;
        return at_least("a chip reads whole heads of the caches", bytes / m.bandwidth(),
                        m.cost.layer_time.in_base_units());
      });
  add("a chip reads the weights that it holds for each token",
      [](const Json&, const Mapped& m) -> std::optional<Violation> {
        if (!m.decodes() || m.layer.experts > 0.0) return std::nullopt;
        const double stage = static_cast<double>(m.cost.layers_per_stage);
        const double held =
            m.cost.weights.in_base_units() - stage * m.beside() * m.word;  // matrices
        const double time = stage * m.cost.layer_time.in_base_units();
        if (auto v = at_least("a chip reads the weights that it holds for each token",
                              held / m.bandwidth(), time)) {
          return v;
        }
        const Json& memory = m.system["memory"];
        if (!memory.contains("second")) return std::nullopt;
        return at_least("what the first memory does not hold comes from the second",
                        (held - amount(memory["capacity"])) / amount(memory["second"]["bandwidth"]),
                        time);
      });
  add("a step loads weights that stay in memory",
      [](const Json&, const Mapped& m) -> std::optional<Violation> {
        if (m.kind == "hpl" || m.kind == "fft" || m.decodes()) return std::nullopt;
        double held = m.cost.weights.in_base_units() -
                      static_cast<double>(m.cost.layers_per_stage) * m.beside() * m.word;
        if (m.workload.contains("experts")) {
          // A step of few tokens may leave some experts unused: at most the experts of all other
          // chips.
          const Json& experts = m.workload["experts"];
          const double chosen =
              m.samples / m.data * count_of(m.workload, "sequence") * count_of(experts, "used");
          const double count = count_of(experts, "count");
          const double alone = std::max(0.0, 1.0 - chosen / count) * m.layer.experts * m.word;
          held -= static_cast<double>(m.cost.layers_per_stage) * alone;
        }
        const double sram = amount(m.system["accelerator"]["sram"]);
        return at_least("a step loads weights that stay in memory", (held - sram) / m.bandwidth(),
                        m.step);
      });
  add("what no SRAM holds comes from memory and goes back",
      [](const Json&, const Mapped& m) -> std::optional<Violation> {
        if (m.kind != "hpl" && m.kind != "fft") return std::nullopt;
        const double sram = m.chips * amount(m.system["accelerator"]["sram"]);
        double bytes = 0.0;
        if (m.kind == "fft") {
          bytes = std::max(0.0, count_of(m.workload, "length") * m.word - sram);
        }
        for (double i = 0.0; m.kind == "hpl" && i < count_of(m.workload, "iterations"); ++i) {
          const double side = count_of(m.workload, "n") - i * count_of(m.workload, "block");
          bytes += std::max(0.0, side * side * m.word - sram);
        }
        return at_least("what no SRAM holds comes from memory and goes back",
                        2.0 * bytes / (m.chips * m.bandwidth()), m.step);
      });
  // Links.
  add("gradients between the halves of the replicas", [](const Json&, const Mapped& m) {
    const double stage = static_cast<double>(m.cost.layers_per_stage);
    const double bytes = m.trains() ? stage * m.layer.weights * m.word / m.tensor : 0.0;
    return at_least("gradients between the halves of the replicas",
                    slowest_cut(m.data_lines, bytes), m.step);
  });
  add("samples from stage to stage", [](const Json&, const Mapped& m) -> std::optional<Violation> {
    double bytes = 0.0;
    if (m.is_llm()) {
      bytes = count_of(m.workload, "hidden") * m.word *
              (m.decodes() ? count_of(m.workload, "batch") : count_of(m.workload, "sequence"));
    } else if (m.workload.contains("boundary")) {
      bytes = amount(m.workload["boundary"]);
    }
    if (m.pipeline < 2.0) return std::nullopt;
    const double handed = m.samples / m.data * bytes / m.tensor;
    return at_least(
        "samples from stage to stage",
        std::max(slowest_cut(m.pipeline_lines, handed), handed / chip_bandwidth(m.pipeline_lines)),
        m.step);
  });
  add("all-to-all between the halves of the machine",
      [](const Json&, const Mapped& m) -> std::optional<Violation> {
        double seconds = 0.0;
        for (std::size_t d = 0; d < m.all_lines.size(); ++d) {
          const double half = smaller_half(m.all_lines[d]);
          double bytes = 0.0;  // of all chips
          if (m.kind.starts_with("dlrm")) {
            bytes = m.samples / m.data * (m.trains() ? 2.0 : 1.0) * m.chips *
                    dlrm_bytes(m.workload, "all_to_all");
          } else if (m.kind == "fft") {
            bytes = std::pow(std::floor(std::sqrt(count_of(m.workload, "length"))), 2.0) * m.word;
          }
          if (half > 0.0) {
            seconds =
                std::max(seconds, bytes * half * (1.0 - half) / cut_bandwidth(m.all_lines, d));
          }
        }
        return at_least("all-to-all between the halves of the machine", seconds, m.step);
      });
  add("embeddings over the bandwidth",
      [](const Json&, const Mapped& m) -> std::optional<Violation> {
        if (!m.kind.starts_with("dlrm")) return std::nullopt;
        const double bytes =
            m.samples / m.data * (m.trains() ? 2.0 : 1.0) * dlrm_bytes(m.workload, "memory");
        return at_least("embeddings over the bandwidth", bytes / m.bandwidth(), m.step);
      });
  add("panels of HPL over the links of a chip",
      [](const Json&, const Mapped& m) -> std::optional<Violation> {
        if (m.kind != "hpl" || m.chips < 2.0) return std::nullopt;
        // A chip that works on a part of side x side needs a side-th of a panel at least, which is
        // its own in half of the iterations at most.
        double bytes = 0.0;
        for (double i = 0.0; i < count_of(m.workload, "iterations"); ++i) {
          bytes += (count_of(m.workload, "n") - i * count_of(m.workload, "block")) *
                   count_of(m.workload, "block") * m.word / m.chips / 2.0;
        }
        return at_least("panels of HPL over the links of a chip",
                        bytes / chip_bandwidth(m.all_lines), m.step);
      });
  return checks;
}

}  // namespace

const std::vector<NamedCheck>& mapping_limits() {
  static const std::vector<NamedCheck> checks = make_mapping_limits();
  return checks;
}

}  // namespace dfsearch::test
