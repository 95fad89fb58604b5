// Structs are taken apart by structured bindings, which do not compile once a
// member is added: nothing that makes a difference can be forgotten here.

#include "io/checkpoint/problem_fingerprint.hpp"

#include <array>
#include <optional>
#include <type_traits>
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
                 element_flops, matrices, parameters, tokens, weight_of] = value;
    all(name, kind, mode, phase, tiled, outer, m, k, n, communication, memory, repeat, skip_weight,
        spread, second_communication, sharded_memory, attention, element_flops, matrices,
        parameters, tokens, weight_of);
  }
  void put(const Tensor& value) {
    const auto& [from, to, operand, output, rows] = value;
    all(from.index(), to.index(), operand, output, rows);
  }
  void put(const DataflowGraph& value) { all(value.kernels(), value.tensors()); }
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
  void put(const SecondMemory& value) {
    const auto& [bandwidth, capacity] = value;
    all(bandwidth, capacity);
  }
  void put(const Memory& value) {
    const auto& [bandwidth, capacity, second] = value;
    all(bandwidth, capacity, second);
  }
  void put(const NetworkDimension& value) {
    const auto& [topology, degree, bandwidth, strategy, latency] = value;
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
  void put(const System& value) {
    const auto& [chips, accelerator, memory, network, price, power, levels] = value;
    all(chips, accelerator, memory, network, price, power);
    if (!levels.empty()) put(levels);
  }
  void put(const Execution& value) {
    const auto& [style, partitions, overlap, compute_utilization, pins, levels] = value;
    all(style, partitions, overlap, compute_utilization, pins);
    if (levels) put(levels);
  }
  void put(const Equations& value) {
    const auto& [all_reduce_passes, virtual_stages, fixed_virtual_stages, layout_conversion_bytes,
                 phases, weight_traffic, all_to_all, all_to_all_pairs, dlrm_gradient_bandwidth] =
        value;
    all(all_reduce_passes, virtual_stages, fixed_virtual_stages, layout_conversion_bytes, phases,
        weight_traffic, all_to_all, all_to_all_pairs, dlrm_gradient_bandwidth);
  }
  void put(const DegreeChoice& value) {
    const auto& [values, least, most] = value;
    all(values, least, most);
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

}  // namespace dfsearch
