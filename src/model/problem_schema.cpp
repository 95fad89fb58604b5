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
      field<&E::all_reduce_passes>("all_reduce_passes", "how often an all-reduce sends the data",
                                   {.limits = {1, 2}}),
      whole("virtual_stages", "of a step, in its bubble", kStages),
      field<&E::layout_conversion_bytes>("layout_conversion_bytes",
                                         "what a chip sends to convert a tensor"),
      field<&E::phases>("phases", "which partitions forward and backward kernels share"),
      field<&E::weight_traffic>(
          "weight_traffic",
          "how often weights come from memory: once a step where the SRAM cannot hold those of all "
          "layers of a stage, never, or for every sample"),
      field<&E::shards>("shards", "what a chip has of a kernel whose `outer` is divided"),
      field<&E::layer_seams>("layer_seams", "what layers hand each other"),
      field<&E::shapes>("shapes", "whether tensors must fit the extents of their kernels",
                        {.flags = kNoCost}),
      field<&E::all_to_all>("all_to_all", "what binds an all-to-all over the machine"),
      field<&E::all_to_all_pairs>("all_to_all_pairs",
                                  "pairs whose messages cross the bisection, of n chips"),
      field<&E::dlrm_gradient_bandwidth>(
          "dlrm_gradient_bandwidth", "of flat gradient all-reduces",
          {.limits = {1, 1e24}, .preset = "network", .none = "network"}),
      field<&E::latency>("latency", "which exchanges pay the latencies of links"),
      field<&E::links>("links", "which links and ports are paid for"),
      field<&E::pipeline>("pipeline", "how long the pipeline of a step takes"),
      field<&E::lone_kernels>("lone_kernels", "what is in the SRAM while a kernel runs alone"),
      field<&E::weight_pieces>(
          "weight_pieces",
          "what the pieces of a weight that is cut load again: nothing; each the inputs, and every "
          "micro-batch the weight; or, as in later published runs, each all tensors of the kernel"),
      field<&E::grid>("grid", "which dimensions span the grid of the chips"),
      field<&E::spilled>("spilled", "the time of a byte once the first memory is full"),
      field<&E::out_of_core>("out_of_core",
                             "what HPL, FFT and graphs with `out_of_core` move between memory and "
                             "chip, which hold a part of their data at a time"),
      field<&E::array_loads>("array_loads",
                             "the rows of a weight or an input that stays in the arrays"),
      field<&E::gather>("gather",
                        "how a gather uses several dimensions: one after the other, of a torus "
                        "(`both_ways`) or all of them at once on parts of the data"),
      field<&E::directions>("directions", "of the links of a ring that collectives use",
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
      field<&E::partitions>(
          "partitions",
          "the most partitions, of each stage if stages divide the graph; without "
          "effect on kernel_by_kernel",
          {.limits = {1, kMostPartitions}, .preset = "one for each kernel"}),
      field<&E::stages>("stages",
                        "content of the stages of the pipeline: equal numbers of layers or, with "
                        "`kind: graph`, kernels, which are searched "
                        "([model.md](model.md#13-stages-that-divide-the-graph))"),
      field<&E::overlap>("overlap",
                         "a partition takes the largest of compute, memory and network time; "
                         "their sum; or the larger of compute and memory, plus network"),
      // Less than a billionth of the peak is a mistake, and zero would take forever.
      field<&E::compute_utilization>(
          "compute_utilization", "share of the peak that a partition reaches",
          {.limits = {1e-9, 1}, .preset = "cores are allocated and cycles counted"}),
      field<&E::levels>("levels",
                        "what moves through the on-chip levels takes time as well "
                        "([technology.md](technology.md), section 4)"),
      field<&E::math>("math", "the number format of arithmetic, on a chip that states `peaks`",
                      {.preset = "by `word`: fp64, of 4 B by `framework`, bf16, fp8, fp4"}),
      field<&E::library>("framework",
                         "what computes products of words of 4 B: in fp32, or in tf32 as all but "
                         "torch and cublas do; jax on TPUs in bf16")};
  return schema<Execution, kFields>("execution");
}

}  // namespace dfsearch
