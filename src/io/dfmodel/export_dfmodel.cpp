// The inverse of import_dfmodel.cpp, in the newest form of the schema.  Which
// operand a tensor is has no field; sizes and order tell it in all but odd
// graphs, so the setup is read back and compared.

#include "io/dfmodel/export_dfmodel.hpp"

#include <dfmodel/dfmodel.pb.h>
#include <fmt/format.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "base/error.hpp"
#include "io/dfmodel/complaints.hpp"
#include "io/dfmodel/export_dfmodel_graph.hpp"
#include "io/dfmodel/export_dfmodel_system.hpp"
#include "io/dfmodel/export_dfmodel_workload.hpp"
#include "io/dfmodel/import_dfmodel.hpp"
#include "io/text/input_messages.hpp"

namespace dfsearch {
namespace {

namespace pb = google::protobuf;

void export_execution(const Execution& execution, dfmodel::Execution& setup,
                      Complaints& complaints) {
  setup.set_execution_style(execution.style == Style::Dataflow
                                ? dfmodel::Execution::DATAFLOW
                                : dfmodel::Execution::KERNEL_BY_KERNEL);
  if (execution.partitions) setup.set_num_config(*execution.partitions);
  setup.set_overlap(execution.overlap == Overlap::Perfect ? dfmodel::Execution::PERFECT_OVERLAP
                    : execution.overlap == Overlap::None
                        ? dfmodel::Execution::NO_OVERLAP
                        : dfmodel::Execution::OVERLAP_COMPUTE_MEMORY);
  if (execution.style == Style::KernelByKernel && !execution.pins.empty()) {
    complaints.add("execution.pins", "it has none for KERNEL_BY_KERNEL");
  }
  if (execution.levels) complaints.add("execution.levels", "it has no levels of the chip");
  if (execution.compute_utilization) setup.set_compute_util(*execution.compute_utilization);
}

/// Whether the messages of an all-to-all are counted as `auto` counts them, whatever
/// degrees are found.
bool counts_pairs_as_auto(const Problem& problem) {
  const std::vector<NetworkDimension>& network = problem.system.network;
  switch (problem.equations.all_to_all_pairs) {
    case PairCount::Auto:
      return true;
    case PairCount::AllPairs:
      return false;
    case PairCount::HalfSquare:
      return std::all_of(network.begin(), network.end(),
                         [](const auto& d) { return row_of(d.topology).spans_grid; });
    case PairCount::QuarterSquare:
      return std::any_of(network.begin(), network.end(), [](const auto& d) {
        return !row_of(d.topology).spans_grid && d.degree.value_or(1) > 1;
      });
  }
  return false;
}

/// What has no field, but follows from which version of DFModel a setup is for.
void check_equations(const Problem& problem, Complaints& complaints) {
  const Equations published = Equations::published();
  const Equations& equations = problem.equations;
  if (equations.virtual_stages != published.virtual_stages ||
      equations.layout_conversion_bytes != published.layout_conversion_bytes ||
      equations.phases != published.phases ||
      equations.weight_traffic != published.weight_traffic ||
      equations.shards != published.shards || equations.layer_seams != published.layer_seams ||
      equations.all_to_all != published.all_to_all || equations.latency != published.latency ||
      equations.links != published.links || equations.pipeline != published.pipeline ||
      equations.lone_kernels != published.lone_kernels ||
      equations.weight_pieces != published.weight_pieces || equations.grid != published.grid ||
      equations.spilled != published.spilled ||
      equations.dlrm_gradient_bandwidth != published.dlrm_gradient_bandwidth) {
    complaints.add("equations", "it has its own, expected published");
  }
  if (problem.workload.kind == WorkloadKind::DlrmTraining && equations.all_reduce_passes != 2) {
    complaints.add("equations.all_reduce_passes", "expected 2 for a DLRM");
  }
  const bool has_pairs =
      has_own_block(problem.workload) && problem.workload.kind != WorkloadKind::Hpl;
  if (has_pairs && equations.all_to_all_pairs != PairCount::AllPairs &&
      !counts_pairs_as_auto(problem)) {
    complaints.add("equations.all_to_all_pairs", "expected auto or n_n1_2");
  }
}

void check_search(const Problem& problem, Complaints& complaints) {
  if (problem.objective != Objective::StepTime) {
    complaints.add("search.objective", "it minimises the step time");
  }
  if (problem.sharding != ShardingChoice::LeastBytes) {
    complaints.add("search.sharding", "it chooses the sharding of least bytes");
  }
  for (const DegreeChoice& choice : problem.parallelism) {
    const DegreeChoice any;
    if (choice.values.empty() && choice.least == any.least && choice.most == any.most) continue;
    complaints.add("parallelism", "expected degrees that are given or free");
  }
}

/// The message around the workload.  Of its names the older stands for the older
/// count of the pairs of an all-to-all.
dfmodel::Execution& execution_of(const Problem& problem, dfmodel::Setup& setup) {
  const bool older = has_own_block(problem.workload) && counts_pairs_as_auto(problem);
  return older ? *setup.mutable_miscellany() : *setup.mutable_execution();
}

void export_search(const SearchSettings& search, dfmodel::Setup& setup, Complaints& complaints) {
  if (search.gap > 0.0) setup.mutable_gurobi()->set_gap(search.gap);
  const double time = search.time_limit.in_base_units();
  if (std::isinf(time)) return;
  if (time != std::floor(time)) complaints.add("search.time_limit", "expected whole seconds");
  setup.mutable_gurobi()->set_time(static_cast<std::int64_t>(time));
}

std::optional<Config> read_back(const std::string& setup, Complaints& complaints) {
  const std::string name = "setup";
  try {
    return parse_config(import_dfmodel(setup, name), name);
  } catch (const InputError& error) {
    for (const std::string& message : error.messages()) {
      complaints.add(name, without_place(message, name));
    }
  }
  return std::nullopt;
}

/// `read`, with what a setup says per chip as `kernel` has it, since both say the same, and
/// with what costs nothing under the published equations, the only ones that a setup has.
Kernel counted_alike(const Kernel& kernel, Kernel read) {
  read.memory = kernel.memory;
  read.sharded_memory = kernel.sharded_memory;
  read.coupled = kernel.coupled;
  if (!kernel.communication || kernel.communication->type != CommunicationType::AllToAll ||
      !read.communication) {
    return read;
  }
  // A quotient of bytes and chips may be off by a rounding.
  constexpr double kRounding = 4e-16;
  const double bytes = kernel.communication->bytes.in_base_units();
  const double again = read.communication->bytes.in_base_units();
  if (std::abs(again - bytes) <= kRounding * bytes) {
    read.communication->bytes = kernel.communication->bytes;
  }
  return read;
}

void check_reads_back(const Workload& workload, const std::string& setup, Complaints& complaints) {
  const std::optional<Config> config = read_back(setup, complaints);
  if (!config) return;
  const Workload& again = config->problem.workload;
  const DataflowGraph& graph = workload.graph;
  for (std::size_t k = 0; k < graph.kernel_count(); ++k) {
    const Kernel& kernel = graph.kernels()[k];
    if (counted_alike(kernel, again.graph.kernels()[k]) == kernel) continue;
    complaints.add("workload.kernels", kernel.name + " would be another kernel");
  }
  for (std::size_t t = 0; t < graph.tensor_count(); ++t) {
    const Tensor& tensor = graph.tensors()[t];
    if (tensor == again.graph.tensors()[t]) continue;
    complaints.add(
        "workload.tensors",
        fmt::format("that {} feeds operand {} of {} follows neither from the sizes of "
                    "its operands nor from their order",
                    graph.kernel(tensor.from).name, tensor.operand, graph.kernel(tensor.to).name));
  }
  if (again.stored != workload.stored) {
    complaints.add("workload", "the bytes it stores would be others");
  }
}

}  // namespace

std::string export_dfmodel(const Config& config, const std::string& name) {
  const Problem& problem = config.problem;
  Complaints complaints(name);
  dfmodel::Setup setup;
  dfmodel::Execution& execution = execution_of(problem, setup);
  export_graph(problem, *setup.mutable_dataflow_graph(), complaints);
  export_system(problem.system, *setup.mutable_system(), complaints);
  export_cost(problem.system, *setup.mutable_cost(), complaints);
  export_workload(problem.workload, execution, complaints);
  export_execution(problem.execution, execution, complaints);
  check_equations(problem, complaints);
  if (!has_own_block(problem.workload)) {
    execution.set_separate_rs_ag_for_ar(problem.equations.all_reduce_passes == 2);
  }
  check_search(problem, complaints);
  export_search(config.search, setup, complaints);
  complaints.throw_if_any();
  std::string text;
  pb::TextFormat::PrintToString(setup, &text);
  check_reads_back(problem.workload, text, complaints);
  complaints.throw_if_any();
  return text;
}

}  // namespace dfsearch
