// The work of a chip becomes a graph whose kernels run one by one.  A kernel has the FLOP of its
// node and moves `tensor_size` bytes in total (as in the roofline of ASTRA-sim): half of them
// belong to its tensors, which fusion saves, the other half is explicit traffic.  A collective that
// the next kernel waits for becomes a kernel without other work; collectives that overlap with
// other work are left out.

#include "io/chakra/import_trace.hpp"

#include <chakra/chakra.pb.h>
#include <fmt/format.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/util/delimited_message_util.h>

#include <algorithm>
#include <optional>
#include <set>
#include <unordered_map>

#include "base/error.hpp"
#include "graph/workload.hpp"
#include "io/config/foreign_file.hpp"
#include "io/config/graph_text.hpp"
#include "io/text/input_messages.hpp"
#include "schema/types.hpp"

namespace dfsearch {
namespace {

constexpr std::int64_t kMostCount = std::int64_t{1} << 40;
constexpr std::size_t kMostTensors = 1'000'000;
// The number of columns is doubled while a column of some kernel has more than kMostOfColumn bytes,
// so that tiles fit into the SRAM.  Kernels with columns below kLeastOfColumn bytes have no tiles.
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

/// A count attribute of any integer type; 0 if there is none.
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

/// Whether the node only moves data, as a look-up or a copy does.
bool only_moves(const chakra::Node& node) {
  return count_of(node, "num_ops") == 0 && count_of(node, "tensor_size") > 0 &&
         std::any_of(node.attr().begin(), node.attr().end(),
                     [](const auto& attribute) { return attribute.name() == "num_ops"; });
}

std::string attribute_text(const chakra::Node& node, const std::string& name) {
  for (const chakra::Attribute& attribute : node.attr()) {
    if (attribute.name() == name) return attribute.string_val();
  }
  return "";
}

/// Types of collectives by CollectiveCommType of the schema; a reduce-scatter takes as long as an
/// all-gather.
std::optional<CommunicationType> collective_of(const chakra::Node& node) {
  switch (count_of(node, "comm_type")) {
    case 0:
      return CommunicationType::AllReduce;
    case 2:
    case 7:
    case 8:  // reduce_scatter_block
      return CommunicationType::AllGather;
    case 6:
      return CommunicationType::AllToAll;
    default:
      return std::nullopt;
  }
}

bool is_of_host(const chakra::Node& node) {
  return std::any_of(node.attr().begin(), node.attr().end(), [](const auto& attribute) {
    return attribute.name() == "is_cpu_op" && (attribute.bool_val() || attribute.int32_val() != 0);
  });
}

class TraceGraph {
 public:
  TraceGraph(const std::string& bytes, std::string name, TraceGroups groups)
      : name_(std::move(name)), nodes_(nodes_of(bytes, name_)), groups_(std::move(groups)) {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (!places_.emplace(nodes_[i].id(), i).second) refuse(i, "another node has the same id");
      while (bytes_of(nodes_[i]) / columns_ > kMostOfColumn && columns_ < kMostColumns) {
        columns_ *= 2;
      }
    }
    order_ = order();
  }

  Workload workload() {
    Workload workload;
    workload.word = Bytes(1.0);
    workload.sequence = columns_;
    std::vector<std::set<std::size_t>> reach(
        nodes_.size());  // kernels whose output a node passes on
    std::vector<Kernel> kernels;
    std::vector<std::int64_t> moved;  // bytes by kernel
    std::vector<Tensor> tensors;
    const std::vector<bool> is_awaited = awaited();
    for (const std::size_t i : order_) {
      std::set<std::size_t> inputs;
      for (const std::uint64_t dep : nodes_[i].data_deps()) {
        const std::set<std::size_t>& from = reach[place(i, dep)];
        inputs.insert(from.begin(), from.end());
      }
      if (!computes(i)) {
        reach[i] = std::move(inputs);
        if (auto kernel = exchange_of(i, is_awaited[i])) {
          kernels.push_back(std::move(*kernel));
          moved.push_back(0);
          workload.network_use = NetworkUse::Data;
        }
        continue;
      }
      const std::size_t kernel = kernels.size();
      kernels.push_back(kernel_of(i, inputs.size()));
      moved.push_back(count_of(nodes_[i], "tensor_size"));
      int operand = 1;
      for (const std::size_t from : inputs) {
        const int most = most_operands(kernels.back().kind);
        tensors.push_back(
            {.from = KernelId(from), .to = KernelId(kernel), .operand = std::min(operand++, most)});
      }
      if (tensors.size() > kMostTensors) {
        throw InputError(name_ +
                         ": has more than 1000000 tensors; import the trace of one layer or step");
      }
      reach[i] = {kernel};
    }
    if (kernels.empty()) {
      throw InputError(name_ +
                       ": has no node that computes, of type COMP_NODE and not of the host "
                       "(is_cpu_op), and no collective; expected a trace of a device");
    }
    share_bytes(moved, kernels, tensors);
    workload.graph = DataflowGraph(std::move(kernels), std::move(tensors));
    return workload;
  }

  /// Comments on the omitted nodes, which workload() counts: call it first.
  [[nodiscard]] std::string comments() const {
    std::string text;
    if (exchanges_ > 0) {
      const std::string chips =
          groups_.chips() > 0 ? fmt::format("{} chips", groups_.chips()) : std::string("all chips");
      text += fmt::format("# {}{} that all do the same, with {} collectives.\n", kOfOneChip, chips,
                          exchanges_);
    }
    std::vector<std::string> left_out;
    if (messages_ > 0) {
      left_out.push_back(fmt::format(
          "{} messages between stages, and the waiting of the chip in the pipeline", messages_));
    }
    if (beside_ > 0) {
      left_out.push_back(fmt::format("{} collectives that overlap with other work", beside_));
    }
    if (others_ > 0) {
      left_out.push_back(fmt::format(
          "{} collectives that are no all_reduce, all_gather, reduce_scatter or all_to_all",
          others_));
    }
    if (!left_out.empty()) {
      text += fmt::format("# {}{}.\n", kLeftOut, fmt::join(left_out, "; "));
    }
    return text;
  }

 private:
  [[noreturn]] void refuse(std::size_t i, const std::string& what) const {
    throw InputError(fmt::format("{}: node {} ({}): {}", name_, nodes_[i].id(),
                                 in_quotes(nodes_[i].name()), what));
  }
  [[nodiscard]] std::size_t place(std::size_t i, std::uint64_t dep) const {
    const auto found = places_.find(dep);
    if (found == places_.end()) refuse(i, fmt::format("depends on node {}, which is missing", dep));
    return found->second;
  }

  [[nodiscard]] bool computes(std::size_t i) const {
    return nodes_[i].type() == chakra::COMP_NODE && !is_of_host(nodes_[i]) &&
           !only_moves(nodes_[i]);
  }

  /// For each node whether the next computing node waits for it, or no computing node follows.
  [[nodiscard]] std::vector<bool> awaited() const {
    std::vector<std::size_t> first_user(nodes_.size(), nodes_.size());  // as a place in the order
    std::vector<bool> result(nodes_.size(), false);
    std::size_t next = nodes_.size();
    for (std::size_t at = order_.size(); at-- > 0;) {
      const std::size_t i = order_[at];
      result[i] = first_user[i] == next;
      const std::size_t user = computes(i) ? at : first_user[i];
      if (computes(i)) next = at;
      for (const std::uint64_t dep : nodes_[i].data_deps()) {
        std::size_t& first = first_user[place(i, dep)];
        first = std::min(first, user);
      }
    }
    return result;
  }

  /// A collective as a kernel, if it takes time.
  std::optional<Kernel> exchange_of(std::size_t i, bool is_awaited) {
    const chakra::Node& node = nodes_[i];
    if (node.type() == chakra::COMM_SEND_NODE || node.type() == chakra::COMM_RECV_NODE) ++messages_;
    if (node.type() != chakra::COMM_COLL_NODE) return std::nullopt;
    const TraceGroups::Group group = groups_.find(attribute_text(node, "pg_name"));
    const std::int64_t bytes = count_of(node, "comm_size");
    if (group.members == 1 || bytes < 1) return std::nullopt;
    const auto type = collective_of(node);
    if (!type) return ++others_, std::nullopt;
    if (!is_awaited) return ++beside_, std::nullopt;
    ++exchanges_;
    // Each chip contributes its share of the gathered bytes.
    const bool is_gather = count_of(node, "comm_type") == 2;
    const double whole =
        is_gather ? static_cast<double>(std::max<std::int64_t>(group.members, 1)) : 1.0;
    Kernel kernel{.name = fmt::format("{}_{}", escaped(node.name()), node.id())};
    kernel.tiled = Loop::None;
    kernel.communication = Communication{
        .type = *type, .bytes = Bytes(static_cast<double>(bytes) * whole), .group = group.counts};
    return kernel;
  }

  /// Assigns half of the bytes that both ends of a tensor move to that tensor, in whole rows.
  static void share_bytes(const std::vector<std::int64_t>& moved, std::vector<Kernel>& kernels,
                          std::vector<Tensor>& tensors) {
    std::vector<std::int64_t> inputs(kernels.size(), 0), outputs(kernels.size(), 0);
    for (const Tensor& tensor : tensors) {
      ++outputs[tensor.from.index()];
      ++inputs[tensor.to.index()];
    }
    std::vector<std::int64_t> left = moved;
    std::vector<std::int32_t> values(kernels.size(), 0);  // each tensor is a value of its own
    for (Tensor& tensor : tensors) {
      const std::size_t from = tensor.from.index(), to = tensor.to.index();
      const std::int64_t columns = kernels[from].n;
      const std::int64_t bytes =
          std::min(moved[from] / (2 * outputs[from]), moved[to] / (2 * inputs[to]));
      tensor.value = values[from]++;
      tensor.rows = std::max<std::int64_t>(bytes / columns, 1);
      left[from] -= tensor.rows * columns;
      left[to] -= tensor.rows * columns;
    }
    for (std::size_t k = 0; k < kernels.size(); ++k) {
      kernels[k].memory = Bytes(static_cast<double>(std::max<std::int64_t>(left[k], 0)));
    }
  }

  /// The nodes in topological order.
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

      throw InputError(
          name_ +
          ": the dependencies of nodes form a cycle; expected data_deps on earlier nodes only");

    return order;
  }

  [[nodiscard]] Kernel kernel_of(std::size_t i, std::size_t inputs) const {
    const std::int64_t flop = count_of(nodes_[i], "num_ops");
    const std::int64_t bytes = bytes_of(nodes_[i]);
    if (flop < 1 || flop > kMostCount * 1024 || bytes > kMostCount) {
      refuse(i,
             "expected num_ops, its FLOP, from 1 to 2^50, and a tensor_size of at most 2^40; a "
             "duration is that of one machine. Without FLOP take the model itself: python3 -m "
             "dfsearch import MODEL.onnx, dfsearch.read_torch, or its kernels as 'kind: graph' "
             "(docs/formats.md)");
    }
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
      kernel.m = in_rows(flop, kernel.n);
      kernel.kind = inputs > 1 ? KernelKind::Elementwise2 : KernelKind::Elementwise;
    }
    return kernel;
  }

  const std::string name_;
  const std::vector<chakra::Node> nodes_;
  std::unordered_map<std::uint64_t, std::size_t> places_;
  const TraceGroups groups_;
  std::vector<std::size_t> order_;
  std::int64_t columns_ = 1;  // of kernels with tiles
  int exchanges_ = 0, messages_ = 0, beside_ = 0, others_ = 0;
};

// The extents are invented, so utilization 1 replaces the count of cycles.  Without overlap, the
// compute time and the memory time of a kernel are added, as in plans.
constexpr std::string_view kExecution =
    "execution: {style: kernel_by_kernel, overlap: none, compute_utilization: 1}\n";

}  // namespace

std::string import_trace(const std::string& bytes, const std::string& name,
                         const TraceGroups& groups) {
  TraceGraph graph(bytes, name, groups);
  const Workload workload = graph.workload();
  return graph.comments() + graph_yaml(workload) + std::string(kExecution);
}

namespace {

/// Sorted chips as a lattice: for each level, from the inside out, the number of members and their
/// distance.  A group that is no lattice is replaced by the same number of neighbours.
std::vector<std::int64_t> counts_of(const std::vector<std::int64_t>& chips) {
  std::vector<std::int64_t> counts;
  std::int64_t members = 1, filled = 1;  // of the current level; places that it spans
  std::size_t done = 1;
  while (done < chips.size()) {
    const std::int64_t stride = chips[done] - chips[0];
    std::size_t blocks = 1;
    const auto repeats = [&] {
      for (std::size_t i = 0; i < done; ++i) {
        const std::size_t at = blocks * done + i;
        if (at >= chips.size() ||
            chips[at] != chips[i] + static_cast<std::int64_t>(blocks) * stride)
          return false;
      }
      return true;
    };
    while (repeats()) ++blocks;
    if (blocks == 1 || stride % filled != 0) return {static_cast<std::int64_t>(chips.size())};
    if (stride > filled) {
      counts.push_back(members);
      counts.push_back(stride / filled);
      members = 1;
    }
    members *= static_cast<std::int64_t>(blocks);
    filled = stride * static_cast<std::int64_t>(blocks);
    done *= blocks;
  }
  counts.push_back(members);
  return counts;
}

}  // namespace

TraceGroups::TraceGroups(const std::string& json, const std::string& name) {
  const Json root = parse_json_object(json, name);
  for (const auto& [key, value] : root.items()) {
    std::vector<std::int64_t> chips;
    const bool is_list = value.is_array() && !value.empty() &&
                         std::all_of(value.begin(), value.end(), [](const Json& chip) {
                           return chip.is_number_unsigned() && chip <= kLargestCount;
                         });
    if (!is_list) {
      throw InputError(name + ": expected the chips of each group of the trace beside it, as in " +
                       R"({"1": [0, 1]})");
    }
    for (const Json& chip : value) chips.push_back(chip.get<std::int64_t>());
    std::sort(chips.begin(), chips.end());
    chips_ = std::max(chips_, chips.back() + 1);
    groups_[key] = {.members = static_cast<std::int64_t>(chips.size()), .counts = counts_of(chips)};
  }
}

TraceGroups::Group TraceGroups::find(const std::string& name) const {
  const auto found = groups_.find(name);
  return found == groups_.end() ? Group{.members = 0, .counts = {kLargestCount}} : found->second;
}

}  // namespace dfsearch
