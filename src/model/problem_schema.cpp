#include "model/problem_schema.hpp"

namespace dfsearch {
namespace {

// More than any graph has kernels; a search may keep something per partition.
constexpr double kMostPartitions = 1e6;

/// A word, or a count of stages.
constexpr Type kFixedStages{
    .form = Form::Count,
    .put =
        [](void* object, std::int64_t value) {
          auto& equations = *static_cast<Equations*>(object);
          equations.virtual_stages = VirtualStages::Fixed;
          equations.fixed_virtual_stages = value;
        },
    .get =
        [](const void* object) {
          return static_cast<const Equations*>(object)->fixed_virtual_stages;
        }};
constexpr Type kStages{
    .form = Form::Choice,
    .put =
        [](void* object, std::int64_t value) {
          static_cast<Equations*>(object)->virtual_stages = static_cast<VirtualStages>(value);
        },
    .get =
        [](const void* object) {
          return static_cast<std::int64_t>(static_cast<const Equations*>(object)->virtual_stages);
        },
    .choices = &choices_of<VirtualStages>,
    .inner = &kFixedStages};

}  // namespace

const Schema& schema_of(Rows<Equations>) {
  using E = Equations;
  static constexpr Field kFields[] = {
      field<&E::all_reduce_passes>("all_reduce_passes", "number of times an all-reduce sends data",
                                   {.limits = {1, 2}}),
      whole("virtual_stages", "virtual stages of a chip, which shorten the bubble", kStages),
      field<&E::layout_conversion_bytes>("layout_conversion_bytes",
                                         "bytes that a chip sends to convert a tensor"),
      field<&E::phases>("phases", "partitions that forward and backward kernels may share"),
      field<&E::weight_traffic>(
          "weight_traffic",
          "when weights are read from memory: once a step if the SRAM cannot hold the weights of a "
          "stage, never, or for every sample"),
      field<&E::shards>("shards",
                        "the part of a chip if `outer` of a kernel is divided: whole matrices or "
                        "heads, or an even part of all rows"),
      field<&E::layer_seams>("layer_seams", "whether tensors between layers cost anything"),
      field<&E::shapes>("shapes", "whether tensors must fit the extents of their kernels",
                        {.flags = kNoCost}),
      field<&E::all_to_all>(
          "all_to_all",
          "what limits an all-to-all over the machine: its slowest dimension, or the bisection"),
      field<&E::all_to_all_pairs>("all_to_all_pairs",
                                  "number of pairs of n chips whose messages cross the bisection"),
      field<&E::dlrm_gradient_bandwidth>(
          "dlrm_gradient_bandwidth", "bandwidth of flat gradient all-reduces",
          {.limits = {1, 1e24}, .preset = "network", .none = "network"}),
      field<&E::latency>("latency", "which exchanges pay the latencies of links"),
      field<&E::links>("links", "which links and ports are paid for"),
      field<&E::pipeline>("pipeline", "formula of the pipeline: (40), or the bubble alone"),
      field<&E::lone_kernels>("lone_kernels", "whether a lone kernel must fit the SRAM whole"),
      field<&E::weight_pieces>(
          "weight_pieces",
          "what is loaded again if a weight is cut into pieces: nothing; inputs for each piece and "
          "the weight for each micro-batch; or, as in later published runs, all tensors"),
      field<&E::grid>("grid", "which dimensions span the grid of the chips"),
      field<&E::spilled>("spilled", "the time of a byte once the first memory is full"),
      field<&E::out_of_core>("out_of_core",
                             "whether HPL, FFT and graphs with `out_of_core` take time to pass "
                             "their data through the chip"),
      field<&E::array_loads>("array_loads",
                             "whether loading an operand that stays in the arrays takes cycles"),
      field<&E::gather>("gather",
                        "dimensions of a gather work at once if they are a torus (`both_ways`), in "
                        "turn, or always at once"),
      field<&E::directions>("directions", "number of directions of a ring that collectives use",
                            {.limits = {1, 2}})};
  static const Schema kSchema = [] {
    Schema all = schema<Equations>("equations", kFields);
    all.published = [] {
      static const Equations kPublished = Equations::published();
      return static_cast<const void*>(&kPublished);
    };
    return all;
  }();
  return kSchema;
}

const Schema& schema_of(Rows<Execution>) {
  using E = Execution;
  static constexpr Field kFields[] = {
      field<&E::style>("style", "fuse the kernels of a partition, or run every kernel alone"),
      field<&E::partitions>("partitions",
                            "greatest number of partitions (with `stages: graph`, of each stage); "
                            "no effect on kernel_by_kernel",
                            {.limits = {1, kMostPartitions}, .preset = "one for each kernel"}),
      field<&E::stages>("stages",
                        "`layers`: stages of the pipeline have equal numbers of layers; `graph`, "
                        "for `kind: graph`: the kernels of each stage are searched "
                        "([model.md](model.md#13-stages-that-divide-the-graph))"),
      field<&E::overlap>(
          "overlap",
          "time of a partition. `perfect`: the largest of compute, memory and network time; "
          "`none`: their sum; `compute_memory`: the larger of compute and memory, plus network"),
      // Less than a billionth of the peak is a mistake, and zero would take forever.
      field<&E::compute_utilization>(
          "compute_utilization", "share of the peak that a partition reaches",
          {.limits = {1e-9, 1}, .preset = "cores are allocated and cycles counted"}),
      field<&E::levels>("levels",
                        "whether traffic of the on-chip levels takes time "
                        "([technology.md](technology.md), section 4)"),
      field<&E::math>("math", "number format of arithmetic, on a chip that states `peaks`",
                      {.preset = "by `word` (model.md, (63)); for 4 B by `framework`"}),
      field<&E::library>("framework",
                         "library for products of words of 4 B: torch and cublas multiply in fp32, "
                         "the others in tf32, jax on TPUs in bf16")};
  return schema<Execution, kFields>("execution");
}

}  // namespace dfsearch
