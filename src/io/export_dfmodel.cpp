// The inverse of import_dfmodel.cpp, in the newest form of the schema.  Which
// operand a tensor is has no field; sizes and order tell it in all but odd
// graphs, so the setup is read back and compared.

#include "io/export_dfmodel.hpp"

#include <dfmodel.pb.h>
#include <fmt/format.h>
#include <google/protobuf/text_format.h>

#include <cmath>
#include <cstdlib>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/units_text.hpp"
#include "io/dfmodel_graph.hpp"
#include "io/import_dfmodel.hpp"
#include "io/names.hpp"

namespace dfsearch {
namespace {

namespace pb = google::protobuf;

/// Everything a config may say that a setup cannot.
class Complaints {
 public:
  explicit Complaints(std::string name) : name_(std::move(name)) {}
  void add(const std::string& key, const std::string& what) {
    messages_.push_back(
        fmt::format("{}: {}: cannot be expressed for DFModel: {}", name_, key, what));
  }
  void throw_if_any() const {
    if (!messages_.empty()) throw InputError(messages_);
  }

 private:
  std::string name_;
  std::vector<std::string> messages_;
};

/// `value` in units of `unit`, as the decimal that was meant: 2e-9 per byte per
/// second are 2 per GB/s and not 2.0000000000000004.
double in_units(double value, double unit) {
  constexpr double kRounding = 4e-16;
  const double quotient = value / unit;
  const double rounded = std::strtod(fmt::format("{:.15g}", quotient).c_str(), nullptr);
  return std::abs(rounded - quotient) <= kRounding * quotient ? rounded : quotient;
}

double output_bytes(const Kernel& kernel, Bytes word) {
  return output_size(kernel, word).in_base_units();
}

void set_sharding(Loop loop, dfmodel::KernelBody& body) {
  switch (loop) {
    case Loop::None:
      return body.set_sharding(dfmodel::KernelBody::NO_SHARDING);
    case Loop::Outer:
      return body.set_sharding(dfmodel::KernelBody::OUTER_SHARDING);
    case Loop::K:
      return body.set_sharding(dfmodel::KernelBody::K_SHARDING);
    case Loop::M:
      return body.set_sharding(dfmodel::KernelBody::M_SHARDING);
    case Loop::N:
      return body.set_sharding(dfmodel::KernelBody::N_SHARDING);
  }
}

void set_tiling(Loop loop, dfmodel::KernelBody& body) {
  switch (loop) {
    case Loop::None:
      return body.set_tiling(dfmodel::KernelBody::NO_TILING);
    case Loop::Outer:
      return body.set_tiling(dfmodel::KernelBody::OUTER_TILING);
    case Loop::K:
      return body.set_tiling(dfmodel::KernelBody::K_TILING);
    case Loop::M:
      return body.set_tiling(dfmodel::KernelBody::M_TILING);
    case Loop::N:
      return body.set_tiling(dfmodel::KernelBody::N_TILING);
  }
}

/// What only the generators of DFModel make, and no graph of an LLM has.
void refuse_machine(const Workload& workload, Complaints& complaints) {
  for (const Kernel& kernel : workload.graph.kernels()) {
    const auto& own = kernel.communication;
    const bool known = !own || own->type <= CommunicationType::GradientAllReduce;
    if (!known || kernel.second_communication) {
      complaints.add("workload.kernels", "the communication of " + kernel.name);
    }
    if (kernel.spread != Spread::Tensor) complaints.add("workload.kernels", "spread");
    if (kernel.sharded_memory > Bytes{}) complaints.add("workload.kernels", "sharded_memory");
  }
  if (workload.copies != 1) complaints.add("workload.copies", "an LLM has one");
  if (workload.network_use != NetworkUse::Free) complaints.add("workload.network", "it is free");
  if (workload.stored > Bytes{}) complaints.add("workload.stored", "an LLM has weights only");
  if (workload.out_of_core) complaints.add("workload.out_of_core", "SRAM is always a limit");
}

void set_communication(const Kernel& kernel, Bytes word, dfmodel::KernelBody& body) {
  if (!kernel.communication) return;
  const Communication& own = *kernel.communication;
  body.set_communication_size(own.bytes.in_base_units());
  switch (own.type) {
    case CommunicationType::AllReduce:
      return body.set_communication_type(dfmodel::ALL_REDUCE);
    case CommunicationType::AllGather:
      return body.set_communication_type(dfmodel::ALL_GATHER);
    case CommunicationType::PointToPoint:
      return body.set_communication_type(dfmodel::POINT_TO_POINT);
    case CommunicationType::GradientAllReduce:
      body.set_communication_size(output_bytes(kernel, word));
      return body.set_communication_type(dfmodel::ALL_REDUCE_PERIODIC);
    default:
      return;  // refused
  }
}

dfmodel::KernelBody& new_body(KernelKind kind, dfmodel::Kernel& kernel) {
  switch (kind) {
    case KernelKind::WeightGemm:
      return *kernel.mutable_gemm_input1_weight();
    case KernelKind::Gemm:
      return *kernel.mutable_gemm_input1_input2();
    case KernelKind::Elementwise:
      return *kernel.mutable_elementwise_input1();
    case KernelKind::Elementwise2:
      return *kernel.mutable_elementwise_input1_input2();
  }
  throw InternalError("a kind of kernel without a variant");
}

/// The bytes of the tensors that a kernel consumes, by operand.
void set_input_sizes(const DataflowGraph& graph, KernelId id, Bytes word,
                     dfmodel::KernelBody& body) {
  const bool two = input_size_fields(graph.kernel(id).kind).size() == 2;
  for (const TensorId t : graph.inputs(id)) {
    const Tensor& tensor = graph.tensor(t);
    const double bytes = output_bytes(graph.kernel(tensor.from), word);
    if (!two) {
      body.set_input_tensor_size(bytes);
    } else if (tensor.operand == 1) {
      body.set_input_tensor_1_size(bytes);
    } else {
      body.set_input_tensor_2_size(bytes);
    }
  }
}

void add_kernel(const Problem& problem, KernelId id, dfmodel::DataflowGraph& setup) {
  const Workload& workload = problem.workload;
  const Kernel& kernel = workload.graph.kernel(id);
  const auto& pins = problem.execution.pins;
  dfmodel::Kernel& result = *setup.add_kernels();
  result.set_name(kernel.name);
  result.set_id(static_cast<std::int64_t>(id.index()) + 1);
  result.set_config(pins.empty() ? -1 : pins[id.index()].value_or(-1));
  result.set_fwd_bwd(kernel.phase == Phase::Backward ? dfmodel::Kernel::BWD : dfmodel::Kernel::FWD);
  result.set_type(kernel.mode == Mode::Simd ? dfmodel::Kernel::SIMD : dfmodel::Kernel::SYSTOLIC);
  dfmodel::KernelBody& body = new_body(kernel.kind, result);
  body.set_outer(kernel.outer);
  body.set_m(kernel.m);
  body.set_n(kernel.n);
  if (kernel.kind == KernelKind::WeightGemm || kernel.kind == KernelKind::Gemm) {
    body.set_k(kernel.k);
  }
  set_input_sizes(workload.graph, id, workload.word, body);
  if (kernel.has_weight()) {
    body.set_weight_tensor_size(static_cast<double>(kernel.outer) * static_cast<double>(kernel.m) *
                                static_cast<double>(kernel.k) * workload.word.in_base_units());
  }
  body.set_output_tensor_size(output_bytes(kernel, workload.word));
  set_tiling(kernel.tiled, body);
  if (!problem.sharding_pins.empty() && problem.sharding_pins[id.index()]) {
    set_sharding(*problem.sharding_pins[id.index()], body);
  }
  set_communication(kernel, workload.word, body);
  if (kernel.memory > Bytes{}) body.set_memory_size(kernel.memory.in_base_units());
  if (kernel.skip_weight) body.set_skip_weight(true);
  if (kernel.repeat > 1) body.set_num_input(kernel.repeat);
}

void export_graph(const Problem& problem, dfmodel::DataflowGraph& setup) {
  const DataflowGraph& graph = problem.workload.graph;
  for (std::size_t i = 0; i < graph.kernel_count(); ++i) add_kernel(problem, KernelId(i), setup);
  for (const Tensor& tensor : graph.tensors()) {
    dfmodel::Connection& connection = *setup.add_connections();
    connection.set_id(setup.connections_size());
    connection.set_startidx(static_cast<std::int64_t>(tensor.from.index()) + 1);
    connection.set_endidx(static_cast<std::int64_t>(tensor.to.index()) + 1);
  }
}

const char* part_of(Topology topology) {
  switch (topology) {
    case Topology::Ring:
      return "r";
    case Topology::FullyConnected:
      return "fc";
    case Topology::Switch:
      return "sw";
  }
  throw InternalError("a topology without a name");
}

const char* word_of(Strategy strategy) {
  switch (strategy) {
    case Strategy::Tensor:
      return "TP";
    case Strategy::Pipeline:
      return "PP";
    case Strategy::Data:
      return "DP";
  }
  throw InternalError("a strategy without a name");
}

void set_dimension(const NetworkDimension& dimension, std::size_t index, dfmodel::Network& setup) {
  const double bandwidth = in_units(dimension.bandwidth.in_base_units(), 1e9);
  const std::string strategy = dimension.strategy ? word_of(*dimension.strategy) : "";
  const std::int64_t degree = dimension.degree.value_or(0);
  if (index == 0) {
    setup.set_link_bw_x(bandwidth);
    if (degree > 0) setup.set_x(degree);
    if (!strategy.empty()) setup.set_par_x(strategy);
  } else if (index == 1) {
    setup.set_link_bw_y(bandwidth);
    if (degree > 0) setup.set_y(degree);
    if (!strategy.empty()) setup.set_par_y(strategy);
  } else {
    setup.set_link_bw_z(bandwidth);
    if (degree > 0) setup.set_z(degree);
    if (!strategy.empty()) setup.set_par_z(strategy);
  }
}

void export_network(const System& system, dfmodel::System& setup, Complaints& complaints) {
  if (system.network.empty()) {
    setup.mutable_single_chip();
    return;
  }
  std::string name;
  for (const NetworkDimension& dimension : system.network) {
    name += std::string(name.empty() ? "" : "_") + part_of(dimension.topology);
  }
  const pb::FieldDescriptor* field = dfmodel::System::descriptor()->FindFieldByName(name);
  if (field == nullptr) {
    complaints.add("system.network", "it has no topology " + name);
    return;
  }
  pb::Message* network = setup.GetReflection()->MutableMessage(&setup, field);
  for (std::size_t d = 0; d < system.network.size(); ++d) {
    set_dimension(system.network[d], d, dynamic_cast<dfmodel::Network&>(*network));
  }
}

void export_system(const System& system, dfmodel::System& setup, Complaints& complaints) {
  setup.set_num_chip(system.chips);
  dfmodel::Accelerator& chip = *setup.mutable_accelerator();
  chip.set_core(system.accelerator.cores);
  chip.set_systolic_width(system.accelerator.lanes);
  chip.set_systolic_height(system.accelerator.stages);
  chip.set_freq(in_units(system.accelerator.frequency.in_base_units(), 1e9));
  chip.set_sram_cap(system.accelerator.sram.in_base_units());
  setup.mutable_memory()->set_dram_bw(in_units(system.memory.bandwidth.in_base_units(), 1e9));
  if (system.memory.capacity < Bytes::infinity()) {
    setup.mutable_memory()->set_dram_cap(system.memory.capacity.in_base_units());
  }
  if (const auto& second = system.memory.second) {
    setup.mutable_memory()->set_second_dram_bw(in_units(second->bandwidth.in_base_units(), 1e9));
    setup.mutable_memory()->set_second_dram_cap(second->capacity.in_base_units());
  }
  for (const NetworkDimension& dimension : system.network) {
    if (dimension.latency != system.network.front().latency) {
      complaints.add("system.network", "expected the same latency for each dimension");
      break;
    }
  }
  if (!system.network.empty() && system.network.front().latency > Seconds{}) {
    chip.set_link_latency(in_units(system.network.front().latency.in_base_units(), 1e-9));
  }
  export_network(system, setup, complaints);
}

void export_cost(const System& system, dfmodel::Cost& setup, Complaints& complaints) {
  // Prices are held per byte per second.
  const auto per_gigabyte = [](auto amount) { return in_units(amount.in_base_units(), 1e-9); };
  const Price& price = system.price;
  const Power& power = system.power;
  for (const auto& link : price.link) {
    if (!(link == price.link.front())) {
      complaints.add("price.link", "expected the same for each dimension");
    }
  }
  setup.set_accelerator_price(price.accelerator.in_base_units());
  setup.set_dram_unit_price(per_gigabyte(price.memory));
  if (!price.link.empty()) setup.set_link_unit_price(per_gigabyte(price.link.front()));
  setup.set_switch_unit_price(per_gigabyte(price.switch_port));
  setup.set_accelerator_power(power.accelerator.in_base_units());
  setup.set_dram_unit_power(per_gigabyte(power.memory));
  setup.set_switch_unit_power(per_gigabyte(power.switch_port));
  const std::size_t dimensions = power.link.size();
  if (dimensions > 0) setup.set_link_unit_power_x(per_gigabyte(power.link[0]));
  if (dimensions > 1) setup.set_link_unit_power_y(per_gigabyte(power.link[1]));
  if (dimensions > 2) setup.set_link_unit_power_z(per_gigabyte(power.link[2]));
}

/// The width of the model, of which DFModel takes what one stage hands the next.
/// Heads matter to nothing but DFModel's check of their product.
void export_width(const Workload& workload, dfmodel::Llm& setup, Complaints& complaints) {
  const double row = static_cast<double>(workload.sequence) * workload.word.in_base_units();
  const double hidden = workload.boundary.in_base_units() / row;
  if (!workload.graph.has_backward()) {
    if (workload.boundary > Bytes{}) {
      complaints.add("workload.boundary", "it has none without a backward pass");
    }
    return;
  }
  if (hidden != std::floor(hidden) || hidden > 1e12) {
    complaints.add("workload.boundary", "expected a multiple of sequence * word");
    return;
  }
  const auto width = static_cast<std::int64_t>(hidden);
  if (width == 0) return;
  setup.set_hidden_dim(width);
  setup.set_num_head(1);
  for (const Kernel& kernel : workload.graph.kernels()) {
    if (kernel.outer > 1 && kernel.outer * kernel.m == width) setup.set_num_head(kernel.outer);
  }
  setup.set_head_dim(width / setup.num_head());
}

void export_workload(const Workload& workload, dfmodel::Execution& setup, Complaints& complaints) {
  for (const char* kind : {"dlrm_training", "dlrm_inference", "hpl", "fft"}) {
    if (workload.kind == kind) {
      complaints.add("workload.kind", workload.kind + " is made by DFModel's own generator");
    }
  }
  refuse_machine(workload, complaints);
  dfmodel::Llm& llm = *setup.mutable_llm();
  llm.set_num_layer(workload.layers);
  llm.set_num_layer_in_graph(1);
  llm.set_global_batch_size(workload.global_batch);
  llm.set_seq_len(workload.sequence);
  if (workload.micro_batch) llm.set_micro_batch_size(*workload.micro_batch);
  if (workload.tile) llm.set_tile_size(*workload.tile);
  export_width(workload, llm, complaints);
  const double word = workload.word.in_base_units();
  if (word != std::floor(word)) complaints.add("workload.word", "expected whole bytes");
  setup.set_word(static_cast<std::int64_t>(word));
}

void export_execution(const Problem& problem, dfmodel::Execution& setup, Complaints& complaints) {
  const Execution& execution = problem.execution;
  setup.set_execution_style(execution.style == Style::Dataflow
                                ? dfmodel::Execution::DATAFLOW
                                : dfmodel::Execution::KERNEL_BY_KERNEL);
  if (execution.partitions) setup.set_num_config(*execution.partitions);
  setup.set_overlap(execution.overlap == Overlap::Perfect ? dfmodel::Execution::PERFECT_OVERLAP
                    : execution.overlap == Overlap::None
                        ? dfmodel::Execution::NO_OVERLAP
                        : dfmodel::Execution::OVERLAP_COMPUTE_MEMORY);
  if (execution.compute_utilization) setup.set_compute_util(*execution.compute_utilization);
  setup.set_separate_rs_ag_for_ar(problem.equations.all_reduce_passes == 2);
  const Equations published = Equations::published();
  const Equations& equations = problem.equations;
  if (equations.virtual_stages != published.virtual_stages ||
      equations.layout_conversion_bytes != published.layout_conversion_bytes ||
      equations.phases != published.phases ||
      equations.weight_traffic != published.weight_traffic ||
      equations.all_to_all != published.all_to_all ||
      equations.dlrm_gradient_bandwidth != published.dlrm_gradient_bandwidth) {
    complaints.add("equations", "it has its own, expected published");
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

void export_search(const SearchSettings& search, dfmodel::Setup& setup, Complaints& complaints) {
  if (search.gap > 0.0) setup.mutable_gurobi()->set_gap(search.gap);
  const double time = search.time_limit.in_base_units();
  if (std::isinf(time)) return;
  if (time != std::floor(time)) complaints.add("search.time_limit", "expected whole seconds");
  setup.mutable_gurobi()->set_time(static_cast<std::int64_t>(time));
}

void check_reads_back(const Config& config, const std::string& setup, Complaints& complaints) {
  const DataflowGraph& graph = config.problem.workload.graph;
  const Config again = parse_config(import_dfmodel(setup, "setup"), "setup");
  const std::vector<Tensor>& tensors = again.problem.workload.graph.tensors();
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    const Tensor& tensor = graph.tensors()[t];
    if (tensor == tensors[t]) continue;
    complaints.add(
        "workload.tensors",
        fmt::format("that {} feeds operand {} of {} follows neither from the sizes of "
                    "its operands nor from their order",
                    graph.kernel(tensor.from).name, tensor.operand, graph.kernel(tensor.to).name));
  }
}

}  // namespace

std::string export_dfmodel(const Config& config, const std::string& name) {
  const Problem& problem = config.problem;
  Complaints complaints(name);
  dfmodel::Setup setup;
  export_graph(problem, *setup.mutable_dataflow_graph());
  export_system(problem.system, *setup.mutable_system(), complaints);
  export_cost(problem.system, *setup.mutable_cost(), complaints);
  export_workload(problem.workload, *setup.mutable_execution(), complaints);
  export_execution(problem, *setup.mutable_execution(), complaints);
  export_search(config.search, setup, complaints);
  complaints.throw_if_any();
  std::string text;
  pb::TextFormat::PrintToString(setup, &text);
  check_reads_back(config, text, complaints);
  complaints.throw_if_any();
  return text;
}

}  // namespace dfsearch
