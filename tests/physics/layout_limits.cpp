// What a chip of a tensor group must receive: of every value that its kernels read, the elements
// that it did not make itself.
//
// From the loop that a kernel is split on follows which rows and columns of its output a chip
// makes, and which of its inputs it reads, by what the kernel computes: a product that is split
// on its sums reads a share of both operands and leaves summands; an element is made of the
// elements at its place; a head reads its own queries, and the keys and values of its group;
// experts read the rows of the tokens that chose them, and those tokens the rows of theirs.

#include <algorithm>
#include <cmath>
#include <map>

#include "physics/limits.hpp"
#include "physics/numbers.hpp"

namespace dfsearch::test {
namespace {

/// Rows and columns, from the first on up to the last.
struct Range {
  double first = 0.0;
  double last = 0.0;
  [[nodiscard]] double size() const { return std::max(0.0, last - first); }
};
Range common(Range a, Range b) { return {std::max(a.first, b.first), std::min(a.last, b.last)}; }
Range all(double extent) { return {0.0, extent}; }
/// Chip r of n: shards are rounded up.
Range shared(double extent, double r, double n) {
  const double one = std::ceil(extent / n);
  return {std::min(extent, r * one), std::min(extent, (r + 1.0) * one)};
}

struct Region {
  Range rows, columns;
  [[nodiscard]] double size() const { return rows.size() * columns.size(); }
};

double d(std::int64_t count) { return static_cast<double>(count); }

struct Chip {
  double r, n;
};

/// The region of the output that the chip makes; summands count as nothing made.
Region made(const Kernel& kernel, Loop loop, Chip chip) {
  const double rows = d(kernel.outer) * d(kernel.m);
  const double columns = d(kernel.n);
  switch (loop) {
    case Loop::Outer: {
      const Range heads = shared(d(kernel.outer), chip.r, chip.n);
      return {{heads.first * d(kernel.m), heads.last * d(kernel.m)}, all(columns)};
    }
    case Loop::M:
      return {shared(rows, chip.r, chip.n), all(columns)};
    case Loop::N:
      return {all(rows), shared(columns, chip.r, chip.n)};
    case Loop::K:
      return {all(0.0), all(0.0)};
    case Loop::None:
      break;
  }
  return {all(rows), all(columns)};
}

/// The region that the chip reads of a value with these rows and columns; nothing: unknown.
std::optional<Region> read(const Kernel& kernel, Loop loop, int operand, double rows,
                           double columns, Chip chip) {
  const double outer = d(kernel.outer), m = d(kernel.m), k = d(kernel.k), n = d(kernel.n);
  const Region whole{all(rows), all(columns)};
  const auto rows_of = [&](Range r) { return Region{r, all(columns)}; };
  const auto columns_of = [&](Range c) { return Region{all(rows), c}; };
  if (loop == Loop::None) return whole;
  const Range heads = shared(outer, chip.r, chip.n);
  switch (kernel.kind) {
    case KernelKind::WeightGemm:
      if (columns != n) return std::nullopt;
      if (loop == Loop::N) return columns_of(shared(n, chip.r, chip.n));
      if (rows == k) return loop == Loop::K ? rows_of(shared(k, chip.r, chip.n)) : whole;
      if (rows == outer * k && loop == Loop::Outer) {
        return rows_of({heads.first * k, heads.last * k});
      }
      return std::nullopt;
    case KernelKind::Gemm:
      // Gradients of weights are tiled on tokens, which are not the columns of what they read.
      if (kernel.tiled == Loop::K) return std::nullopt;
      if (operand == 1 && rows == outer * k && columns == n) {
        if (loop == Loop::Outer) return rows_of({heads.first * k, heads.last * k});
        if (loop == Loop::N) return columns_of(shared(n, chip.r, chip.n));
        if (loop == Loop::M && outer == 1.0) return whole;
      }
      return std::nullopt;
    case KernelKind::Elementwise:
    case KernelKind::Elementwise2:
      if (rows != outer * m || columns != n) return std::nullopt;
      return made(kernel, loop, chip);
    case KernelKind::Attention: {
      if (loop != Loop::Outer) return std::nullopt;
      if (heads.size() <= 0.0) return Region{};
      // Heads of the value that these heads read: one each, or one for several.
      if (operand > 3 || kernel.phase == Phase::Backward) return std::nullopt;
      if (operand == 1 && std::fmod(rows, outer) == 0.0) {
        return rows_of({heads.first * rows / outer, heads.last * rows / outer});
      }
      const double size = operand == 2 ? k : m;
      if (operand > 1 && std::fmod(rows, size) == 0.0) {
        const double groups = rows / size;
        if (groups > outer) return std::nullopt;
        return rows_of({std::floor(heads.first * groups / outer) * size,
                        std::ceil(heads.last * groups / outer) * size});
      }
      return std::nullopt;
    }
  }
  return std::nullopt;
}

/// Tokens and experts change places: each chip receives its input except for the n-th part that
/// happens to be its own.
std::optional<double> routed(const Kernel& from, Loop from_loop, const Kernel& to, Loop to_loop,
                             Chip chip) {
  const bool to_experts = to.name.ends_with("DISPATCH") && !to.name.ends_with("bwd");
  const bool to_tokens = to.name.ends_with("COMBINE") && from.name.ends_with("EXPERT_DOWN");
  const double rest = (chip.n - 1.0) / chip.n;
  if (to_experts && to_loop == Loop::Outer && from_loop != Loop::None && from_loop != Loop::K) {
    // Each token has an expert, so the number of tokens that the chips need is the number of
    // tokens.
    return rest * d(from.n) / chip.n * d(from.outer) * d(from.m);
  }
  if (to_tokens && from_loop == Loop::Outer) return rest * made(to, to_loop, chip).size();
  return std::nullopt;
}

/// Elements that the chip must receive so that all consumers of a value have theirs.
double received(const DataflowGraph& graph, const std::vector<LoopPair>& loops,
                const std::vector<TensorId>& value, Chip chip) {
  double most = 0.0;
  for (const TensorId id : value) {
    const Tensor& tensor = graph.tensor(id);
    const Kernel& from = graph.kernel(tensor.from);
    const Kernel& to = graph.kernel(tensor.to);
    if (from.spread != Spread::Tensor || to.spread != Spread::Tensor || from.communication)
      continue;
    const Loop from_loop = loops[tensor.from.index()].loops[0];
    const Loop to_loop = loops[tensor.to.index()].loops[0];
    if (const auto elements = routed(from, from_loop, to, to_loop, chip)) {
      most = std::max(most, *elements);
      continue;
    }
    const double rows = d(graph.rows(id));
    const bool part = rows != d(from.outer) * d(from.m);
    const auto needed = read(to, to_loop, tensor.operand, rows, d(from.n), chip);
    if (!needed || (part && from_loop != Loop::None && from_loop != Loop::K)) continue;
    if (part || from_loop == Loop::None) {
      // Everybody has it, or nobody a whole element: sums are exchanged in words of the workload,
      // whatever they are handed on in.
      const double sums = d(from.outer) * d(from.m) * d(from.n);
      most = std::max(most, from_loop == Loop::K ? std::min(sums, needed->size()) : 0.0);
      continue;
    }
    const Region has = made(from, from_loop, chip);
    const bool by_rows = from_loop != Loop::N && needed->columns.size() == d(from.n);
    // The chip may make any of the rows or heads, as many of them as the fullest chip makes.
    const double own =
        by_rows && needed->rows.size() < rows
            ? std::min(needed->size(), made(from, from_loop, {0.0, chip.n}).size())
            : common(needed->rows, has.rows).size() * common(needed->columns, has.columns).size();
    most = std::max(most, needed->size() - own);
  }
  return most;
}

/// Elements of sums over all rows of a column when a chip has only a part of the rows.
double received_sums(const DataflowGraph& graph, const std::vector<LoopPair>& loops) {
  double elements = 0.0;
  for (std::size_t i = 0; i < graph.kernel_count(); ++i) {
    const Kernel& kernel = graph.kernels()[i];
    const bool sums = kernel.name.find("NORM") != std::string::npos ||
                      kernel.name.find("LayerNorm") != std::string::npos ||
                      kernel.name.ends_with("TOPK") || kernel.name.ends_with("SOFTMAX");
    if (sums && loops[i] == Loop::M && kernel.outer == 1) elements += d(kernel.n);
  }
  return elements;
}

/// Elements that a chip receives between the last kernel of a layer and the first one of the next.
double received_of_last_layer(const Workload& workload, const std::vector<LoopPair>& loops,
                              Chip chip) {
  const DataflowGraph& graph = workload.graph;
  if (workload.layers < 2) return 0.0;
  std::optional<std::size_t> first, last;
  for (std::size_t i = 0; i < graph.kernel_count(); ++i) {
    const std::string& name = graph.kernels()[i].name;
    if (name == "INPUT" || name == "Add_Prev_Layer") first = i;
    if (name == "ADD_2" || name == "Add_2") last = i;
  }
  if (!first || !last || loops[*last] == Loop::None || loops[*last] == Loop::K) return 0.0;
  const Region has = made(graph.kernels()[*last], loops[*last].loops[0], chip);
  const Region needs = made(graph.kernels()[*first], loops[*first].loops[0], chip);
  return needs.size() -
         common(needs.rows, has.rows).size() * common(needs.columns, has.columns).size();
}

enum class Part : std::uint8_t { Values, Sums, NextLayer };

std::optional<Violation> check_layouts(Part part, const char* name, const Json& config,
                                       const Answer& answer) {
  const auto* of = std::get_if<MappingAnswer>(&answer.of);
  if (!of || !answer.found()) return std::nullopt;
  const DataflowGraph& graph = of->config.problem.workload.graph;
  const Mapping& mapping = *of->result.mapping;
  std::vector<Line> lines;
  double n = 1.0;
  for (std::size_t i = 0; i < mapping.network.size(); ++i) {
    const Mapping::Dimension& dimension = mapping.network[i];
    if (dimension.strategy != Strategy::Tensor) continue;
    const Json& given = config["system"]["network"][i];
    lines.push_back({given["topology"], amount(given["bandwidth"]), d(dimension.degree)});
    n *= d(dimension.degree);
  }
  if (n < 2.0) return std::nullopt;
  double most = 0.0;
  for (double r = 0.0; r < n; ++r) {
    double elements = 0.0;
    switch (part) {
      case Part::Values: {
        std::map<std::size_t, double>
            sums;  // of partial sums there is one exchange for all readers
        for (const auto& value : graph.values()) {
          const std::size_t from = graph.tensor(value.front()).from.index();
          const double some = received(graph, mapping.sharding, value, {r, n});
          if (mapping.sharding[from] == Loop::K) {
            sums[from] = std::max(sums[from], some);
          } else {
            elements += some;
          }
        }
        for (const auto& [from, some] : sums) elements += some;
        break;
      }
      case Part::Sums:
        elements = received_sums(graph, mapping.sharding);
        break;
      case Part::NextLayer:
        elements = received_of_last_layer(of->config.problem.workload, mapping.sharding, {r, n});
        break;
    }
    most = std::max(most, elements);
  }
  double network = 0.0;
  for (const PartitionCost& partition : of->result.cost->partitions) {
    network += partition.network.in_base_units();
  }
  const double limit = most * word_of(config["workload"]) / chip_bandwidth(lines);
  if (!is_less(network, limit)) return std::nullopt;
  return Violation{name, limit, network};
}

NamedCheck layout_check(Part part, const char* name) {
  return {name, [part, name](const Json&, const Answer& answer) {
            return check_layouts(part, name, answer.config, answer);
          }};
}

/// Tiles of queries all read the same keys and values: they stay on the chip, or are loaded again.
std::optional<Violation> check_keys(const Json& config, const Answer& answer) {
  const auto* of = std::get_if<MappingAnswer>(&answer.of);
  if (!of || !answer.found()) return std::nullopt;
  const DataflowGraph& graph = of->config.problem.workload.graph;
  const Mapping& mapping = *of->result.mapping;
  double n = 1.0;
  for (const Mapping::Dimension& dimension : mapping.network) {
    if (dimension.strategy == Strategy::Tensor) n *= d(dimension.degree);
  }
  const double tiles = std::ceil(d(of->config.problem.workload.sequence) / d(mapping.tile));
  if (tiles < 2.0) return std::nullopt;
  for (const PartitionCost& partition : of->result.cost->partitions) {
    for (const KernelId id : partition.kernels) {
      const Kernel& kernel = graph.kernel(id);
      if (kernel.kind != KernelKind::Attention || kernel.phase == Phase::Backward) continue;
      double elements = 0.0;
      for (const TensorId input : graph.inputs(id)) {
        const Tensor& tensor = graph.tensor(input);
        if (tensor.operand != 2 && tensor.operand != 3) continue;
        const auto region = read(kernel, mapping.sharding[id.index()].loops[0], tensor.operand,
                                 d(graph.rows(input)), d(graph.kernel(tensor.from).n), {0.0, n});
        if (region) elements += region->size();
      }
      const double bytes = elements * word_of(config["workload"]);
      const double sram = partition.sram.in_base_units();
      if (is_less(sram, bytes) &&
          is_less(partition.memory_bytes.in_base_units(), (tiles - 1.0) * bytes)) {
        return Violation{"tiled attention keeps its keys and values", bytes, sram};
      }
    }
  }
  return std::nullopt;
}

}  // namespace

const std::vector<NamedCheck>& layout_limits() {
  static const std::vector<NamedCheck> checks = {
      layout_check(Part::Values, "a chip receives what its kernels read and others made"),
      layout_check(Part::Sums, "a chip receives parts of the sums of norms"),
      layout_check(Part::NextLayer, "a chip receives what the layer before made elsewhere"),
      {"tiled attention keeps its keys and values", check_keys}};
  return checks;
}

}  // namespace dfsearch::test
