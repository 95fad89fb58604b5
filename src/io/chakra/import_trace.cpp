#include "io/chakra/import_trace.hpp"

#include <chakra/chakra.pb.h>
#include <fmt/format.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/util/delimited_message_util.h>

#include <algorithm>
#include <set>
#include <unordered_map>
#include <vector>

#include "base/error.hpp"
#include "graph/workload.hpp"
#include "io/config/graph_text.hpp"
#include "io/text/input_messages.hpp"

namespace dfsearch {
namespace {

constexpr std::int64_t kMostCount = std::int64_t{1} << 40;
constexpr std::size_t kMostTensors = 1'000'000;
// Bytes of a column where large kernels are cut into tiles, which then have SRAM enough, and of one
// so small that its kernel is not cut.
constexpr std::int64_t kMostOfColumn = 1 << 16, kLeastOfColumn = 1 << 10;
constexpr std::int64_t kMostColumns = 1 << 20;

std::vector<chakra::Node> nodes_of(const std::string& bytes, const std::string& name) {
  google::protobuf::io::ArrayInputStream in(bytes.data(), static_cast<int>(bytes.size()));
  const auto next = [&](google::protobuf::MessageLite& message) {
    bool is_end = false;
    const bool is_read =
        google::protobuf::util::ParseDelimitedFromZeroCopyStream(&message, &in, &is_end);
    if (!is_read && !is_end)
      throw InputError(name +
                       ": is no trace of Chakra, or is cut short; expected the .et of a chip, a "
                       "GlobalMetadata and Nodes in protobuf, each behind its length");

    return is_read;
  };
  chakra::GlobalMetadata metadata;
  std::vector<chakra::Node> nodes;
  if (next(metadata)) {
    while (next(nodes.emplace_back())) {
    }
    nodes.pop_back();
  }
  if (nodes.empty()) {
    throw InputError(name +
                     ": is no trace of Chakra with nodes; expected a GlobalMetadata and Nodes in "
                     "protobuf, each behind its length");
  }
  return nodes;
}

/// A count under whichever of the types that traces have; 0: there is none.
std::int64_t count_of(const chakra::Node& node, const std::string& name) {
  for (const chakra::Attribute& attribute : node.attr()) {
    if (attribute.name() != name) continue;
    if (attribute.value_case() == chakra::Attribute::kInt32Val) return attribute.int32_val();
    if (attribute.value_case() == chakra::Attribute::kInt64Val) return attribute.int64_val();
    if (attribute.value_case() == chakra::Attribute::kUint64Val) {
      return static_cast<std::int64_t>(attribute.uint64_val());
    }
  }
  return 0;
}

std::int64_t bytes_of(const chakra::Node& node) {
  return std::max<std::int64_t>(count_of(node, "tensor_size"), 1);
}

std::int64_t in_rows(std::int64_t elements, std::int64_t columns) {
  return std::max<std::int64_t>((elements + columns / 2) / columns, 1);
}

/// Whether a node says that it has no FLOP.
bool says_no_flop(const chakra::Node& node) {
  return count_of(node, "num_ops") == 0 &&
         std::any_of(node.attr().begin(), node.attr().end(),
                     [](const auto& attribute) { return attribute.name() == "num_ops"; });
}
/// Traces of plans once said the time of a part of the model and nothing else.
bool is_of_old_plan(const chakra::Node& node) {
  return node.duration_micros() > 0 && says_no_flop(node);
}
/// As a look-up or a copy does.
bool only_moves(const chakra::Node& node) {
  return says_no_flop(node) && count_of(node, "tensor_size") > 0;
}

bool is_of_host(const chakra::Node& node) {
  return std::any_of(node.attr().begin(), node.attr().end(), [](const auto& attribute) {
    return attribute.name() == "is_cpu_op" && (attribute.bool_val() || attribute.int32_val() != 0);
  });
}

class TraceGraph {
 public:
  TraceGraph(const std::string& bytes, std::string name)
      : name_(std::move(name)), nodes_(nodes_of(bytes, name_)) {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (!places_.emplace(nodes_[i].id(), i).second) refuse(i, "its id stands twice");
      while (bytes_of(nodes_[i]) / columns_ > kMostOfColumn && columns_ < kMostColumns) {
        columns_ *= 2;
      }
    }
  }

  Workload workload() {
    Workload workload;
    workload.word = Bytes(1.0);
    workload.sequence = columns_;
    std::vector<std::set<std::size_t>> reach(
        nodes_.size());  // kernels whose output a node hands on
    std::vector<Kernel> kernels;
    std::vector<std::int64_t> rows;  // of the output of each, that are handed on; 0: all
    std::vector<Tensor> tensors;
    for (const std::size_t i : order()) {
      std::set<std::size_t> inputs;
      for (const std::uint64_t dep : nodes_[i].data_deps()) {
        const std::set<std::size_t>& from = reach[place(i, dep)];
        inputs.insert(from.begin(), from.end());
      }
      if (nodes_[i].type() != chakra::COMP_NODE || is_of_host(nodes_[i]) || only_moves(nodes_[i])) {
        reach[i] = std::move(inputs);
        continue;
      }
      const std::size_t kernel = kernels.size();
      kernels.push_back(kernel_of(i, inputs.size()));
      const std::int64_t handed = in_rows(bytes_of(nodes_[i]), kernels.back().n);
      rows.push_back(handed < kernels.back().m ? handed : 0);
      int operand = 1;
      for (const std::size_t from : inputs) {
        const int most = most_operands(kernels.back().kind);
        tensors.push_back({.from = KernelId(from),
                           .to = KernelId(kernel),
                           .operand = std::min(operand++, most),
                           .value = 0,
                           .rows = rows[from]});
      }
      if (tensors.size() > kMostTensors)

        throw InputError(name_ +
                         ": has more than 1000000 tensors; import the trace of one layer or step");

      reach[i] = {kernel};
    }
    if (kernels.empty())
      throw InputError(name_ +
                       ": has no node that computes, of type COMP_NODE and not of the host "
                       "(is_cpu_op); expected a trace of a device");

    workload.graph = DataflowGraph(std::move(kernels), std::move(tensors));
    return workload;
  }

 private:
  [[noreturn]] void refuse(std::size_t i, const std::string& what) const {
    throw InputError(fmt::format("{}: node {} ({}): {}", name_, nodes_[i].id(),
                                 in_quotes(nodes_[i].name()), what));
  }
  [[nodiscard]] std::size_t place(std::size_t i, std::uint64_t dep) const {
    const auto found = places_.find(dep);
    if (found == places_.end()) refuse(i, fmt::format("needs node {}, which is not there", dep));
    return found->second;
  }

  /// Every node behind those it needs.
  [[nodiscard]] std::vector<std::size_t> order() const {
    std::vector<std::vector<std::size_t>> users(nodes_.size());
    std::vector<int> missing(nodes_.size(), 0);
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      for (const std::uint64_t dep : nodes_[i].data_deps()) {
        users[place(i, dep)].push_back(i);
        ++missing[i];
      }
    }
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (missing[i] == 0) order.push_back(i);
    }
    for (std::size_t at = 0; at < order.size(); ++at) {
      for (const std::size_t user : users[order[at]]) {
        if (--missing[user] == 0) order.push_back(user);
      }
    }
    if (order.size() < nodes_.size())

      throw InputError(name_ +
                       ": nodes need each other in a circle; expected data_deps on earlier "
                       "nodes alone");

    return order;
  }

  [[nodiscard]] Kernel kernel_of(std::size_t i, std::size_t inputs) const {
    const std::int64_t flop = count_of(nodes_[i], "num_ops");
    const std::int64_t bytes = bytes_of(nodes_[i]);
    if (flop < 1 && is_of_old_plan(nodes_[i])) {
      refuse(i,
             "has a time and no FLOP, as a trace that 'dfsearch emit --for chakra' makes of an old "
             "result; solve the plan's config again and emit that");
    }
    if (flop < 1 || flop > kMostCount * 1024 || bytes > kMostCount) {
      refuse(i,
             "expected num_ops, its FLOP, from 1 to 2^50, and a tensor_size of at most 2^40; a "
             "duration is that of one machine. Without FLOP take the model itself: python3 -m "
             "dfsearch import MODEL.onnx, dfsearch.read_torch, or its kernels as 'kind: graph' "
             "(docs/formats.md)");
    }
    // FLOP of an element of the output, which is as large as the rows that tensors carry.
    const std::int64_t each = flop / bytes;
    Kernel kernel{.name = fmt::format("{}_{}", escaped(nodes_[i].name()), nodes_[i].id())};
    kernel.n = bytes / columns_ < kLeastOfColumn ? 1 : columns_;
    if (kernel.n == 1) kernel.tiled = Loop::None;
    if (each >= 2) {
      kernel.kind = KernelKind::Gemm;
      kernel.mode = Mode::Systolic;
      kernel.k = each / 2;
      kernel.m = in_rows(flop / (2 * kernel.k), kernel.n);
    } else {
      kernel.m = in_rows(std::max(flop, bytes), kernel.n);
      kernel.kind = inputs > 1 ? KernelKind::Elementwise2 : KernelKind::Elementwise;
    }
    return kernel;
  }

  const std::string name_;
  const std::vector<chakra::Node> nodes_;
  std::unordered_map<std::uint64_t, std::size_t> places_;
  std::int64_t columns_ = 1;  // of large kernels, which go by tiles
};

}  // namespace

std::string import_trace(const std::string& bytes, const std::string& name) {
  return graph_yaml(TraceGraph(bytes, name).workload());
}

}  // namespace dfsearch
