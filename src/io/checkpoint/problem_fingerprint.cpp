// Structs are taken apart by structured bindings, which do not compile once a
// member is added: nothing that makes a difference can be forgotten here.

#include "io/checkpoint/problem_fingerprint.hpp"

#include <array>
#include <optional>
#include <type_traits>
#include <variant>
#include <vector>

#include "io/checkpoint/bytes.hpp"

namespace dfsearch {
namespace {

/// Everything that is put in becomes bytes.
class Canonical {
 public:
  [[nodiscard]] std::uint64_t hash() const {
    // FNV-1a.
    std::uint64_t hash = 0xcbf29ce484222325ULL;
    for (const char byte : out_.bytes()) {
      hash = (hash ^ static_cast<std::uint8_t>(byte)) * 0x100000001b3ULL;
    }
    return hash;
  }

  template <class First, class... More>
  void all(const First& first, const More&... more) {
    put(first);
    (put(more), ...);
  }

 private:
  template <class T>
  requires std::is_integral_v<T>
  void put(T value) { out_.integer(static_cast<std::int64_t>(value)); }
  template <class T>
  requires std::is_enum_v<T>
  void put(T value) { out_.integer(static_cast<std::int64_t>(value)); }
  void put(double value) { out_.real(value); }
  void put(const std::string& value) { out_.text(value); }
  template <int... Exponents>
  void put(Quantity<Exponents...> value) {
    out_.real(value.in_base_units());
  }
  template <class T>
  void put(const std::optional<T>& value) {
    put(value.has_value());
    if (value) put(*value);
  }
  template <class T>
  void put(const std::vector<T>& values) {
    put(values.size());
    for (const T& value : values) put(value);
  }
  template <class T, std::size_t N>
  void put(const std::array<T, N>& values) {
    for (const T& value : values) put(value);
  }
  void put(const Communication& value) {
    const auto& [type, bytes] = value;
    all(type, bytes);
  }
  void put(const Attention& value) {
    const auto& [keys, window, causal] = value;
    all(keys, window, causal);
  }
  void put(KernelId value) { put(value.index()); }
  void put(const Kernel& value) {
    const auto& [name, kind, mode, phase, tiled, outer, m, k, n, communication, memory, repeat,
                 skip_weight, spread, second_communication, sharded_memory, attention,
                 element_flops, matrices, parameters, tokens, weight_of, coupled] = value;
    all(name, kind, mode, phase, tiled, outer, m, k, n, communication, memory, repeat, skip_weight,
        spread, second_communication, sharded_memory, attention, element_flops, matrices,
        parameters, tokens, weight_of, coupled);
  }
  void put(const Tensor& value) {
    const auto& [from, to, operand, output, rows] = value;
    all(from.index(), to.index(), operand, output, rows);
  }
  void put(const DataflowGraph& value) { all(value.kernels(), value.tensors(), value.seams()); }
  void put(const Serving& value) {
    const auto& [decode, tokens, boundary] = value;
    all(decode, tokens, boundary);
  }
  void put(const Workload& value) {
    // The kind is a name for the graph, which is written out here; the embedding
    // tables are in what is stored.
    const auto& [kind, graph, word, layers, global_batch, sequence, micro_batch, tile, boundary,
                 copies, network_use, stored, out_of_core, serving, embedding_tables, transformer,
                 counts] = value;
    static_cast<void>(embedding_tables);
    static_cast<void>(transformer);  // made the graph
    static_cast<void>(counts);       // change no cost
    all(graph, word, layers, global_batch, sequence, micro_batch, tile, boundary, copies,
        network_use, stored, out_of_core, serving);
  }
  void put(const Accelerator& value) {
    const auto& [cores, lanes, stages, frequency, sram] = value;
    all(cores, lanes, stages, frequency, sram);
  }
  void put(const MemoryTier& value) {
    const auto& [capacity, bandwidth, efficiency] = value;
    static_cast<void>(efficiency);  // of plans
    all(bandwidth, capacity);
  }
  void put(const NetworkDimension& value) {
    const auto& [topology, degree, bandwidth, strategy, latency, measured] = value;
    static_cast<void>(measured);  // of executions
    all(topology, degree, bandwidth, strategy, latency);
  }
  void put(const Price& value) {
    const auto& [accelerator, memory, link, switch_port] = value;
    all(accelerator, memory, link, switch_port);
  }
  void put(const Power& value) {
    const auto& [accelerator, memory, link, switch_port] = value;
    all(accelerator, memory, link, switch_port);
  }
  void put(const OnChipLevel& value) {
    const auto& [name, share, bandwidth, latency] = value;
    all(name, share, bandwidth, latency);
  }
  void put(const Machine& value) {
    const auto& [chips, accelerator, matrix, vector, memory, network, price, power, levels] = value;
    static_cast<void>(matrix);  // of plans
    static_cast<void>(vector);
    std::optional<MemoryTier> second;
    if (memory.size() > 1) second = memory[1];
    all(chips, accelerator, memory[0], second, network, price, power);
    if (!levels.empty()) put(levels);
  }
  void put(const Execution& value) {
    const auto& [style, partitions, overlap, compute_utilization, pins, levels] = value;
    all(style, partitions, overlap, compute_utilization, pins);
    if (levels) put(levels);
  }
  void put(const Equations& value) {
    const auto& [all_reduce_passes, virtual_stages, fixed_virtual_stages, layout_conversion_bytes,
                 phases, weight_traffic, shards, layer_seams, shapes, all_to_all, all_to_all_pairs,
                 latency, links, pipeline, lone_kernels, grid, spilled, dlrm_gradient_bandwidth] =
        value;
    static_cast<void>(shapes);  // change no cost
    all(all_reduce_passes, virtual_stages, fixed_virtual_stages, layout_conversion_bytes, phases,
        weight_traffic, shards, layer_seams, all_to_all, all_to_all_pairs, latency, links, pipeline,
        lone_kernels, grid, spilled, dlrm_gradient_bandwidth);
  }
  void put(const DegreeChoice& value) {
    const auto& [values, least, most] = value;
    all(values, least, most);
  }

  // What chips are derived from.

  template <class T>
  void put(const PerComponent<T>& value) {
    const auto& [of] = value;
    put(of);
  }
  template <class Q>
  void put(const Share<Q>& value) {
    put(value.index());
    if (const double* fraction = std::get_if<double>(&value)) {
      put(*fraction);
    } else {
      put(std::get<Q>(value));
    }
  }
  void put(const Transistors& value) {
    const auto& [frequency, voltage, threshold, minimum, maximum] = value;
    all(frequency, voltage, threshold, minimum, maximum);
  }
  void put(const CoreTechnology& value) {
    const auto& [lanes, stages, bundle, area, power, transistors, utilization, fma] = value;
    static_cast<void>(fma);  // of the published GEMM alone
    all(lanes, stages, bundle, area, power, transistors, utilization);
  }
  void put(const LevelTechnology& value) {
    const auto& [scope, bank, cell_area, overhead, port_area, energy, leakage, utilization,
                 latency] = value;
    all(scope, bank, cell_area, overhead, port_area, energy, leakage, utilization, latency);
  }
  void put(const MemoryTechnology& value) {
    const auto& [stack, stack_area, controller_area, links_per_stack, links_per_mm, transistors,
                 energy, leakage, utilization, latency] = value;
    all(stack, stack_area, controller_area, links_per_stack, links_per_mm, transistors, energy,
        leakage, utilization, latency);
  }
  void put(const LinkTechnology& value) {
    const auto& [area, links_per_mm, transistors, energy, utilization, latency] = value;
    all(area, links_per_mm, transistors, energy, utilization, latency);
  }
  void put(const Technology& value) {
    const auto& [core, levels, memory, links] = value;
    all(core, levels, memory, links);
  }
  void put(const Budget& value) {
    const auto& [package, die, total, area, power, edge, step] = value;
    all(package, die, total, area, power, edge, step);
  }
  void put(const GivenLevel& value) {
    const auto& [capacity, bandwidth] = value;
    all(capacity, bandwidth);
  }
  void put(const GivenValues& value) {
    const auto& [cores, frequency, sram, levels, memory_bandwidth, memory_capacity] = value;
    all(cores, frequency, sram, levels, memory_bandwidth, memory_capacity);
  }
  void put(const DimensionPorts& value) {
    const auto& [link, ports] = value;
    all(link, ports);
  }
  void put(const TechnologyEquations& value) {
    const auto& [link_ports, budget_sums, voltage_floor, gemm_tiles] = value;
    static_cast<void>(gemm_tiles);  // of a GEMM alone
    all(link_ports, budget_sums, voltage_floor);
  }

  ByteWriter out_;
};

template <class... Part>
std::uint64_t hash_of(const Part&... parts) {
  Canonical canonical;
  canonical.all(parts...);
  return canonical.hash();
}

}  // namespace

Fingerprint fingerprint_of(const Problem& problem) {
  const auto& [workload, system, execution, equations, objective, sharding, sharding_pins,
               parallelism] = problem;
  return {{"workload", hash_of(workload)},      {"system", hash_of(system)},
          {"execution", hash_of(execution)},    {"equations", hash_of(equations)},
          {"objective", hash_of(objective)},    {"sharding", hash_of(sharding, sharding_pins)},
          {"parallelism", hash_of(parallelism)}};
}

Fingerprint fingerprint_of(const ChipDesign& design) {
  const auto& [technology, budget, given, dimensions, equations] = design;
  return {{"technology", hash_of(technology)},
          {"budget", hash_of(budget)},
          {"chip", hash_of(given, dimensions, equations)}};
}

}  // namespace dfsearch
