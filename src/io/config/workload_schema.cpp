// Rows of the keys of workloads: kinds, kernels and tensors.

#include <array>

#include "io/config/workload_text.hpp"
#include "schema/report.hpp"

namespace dfsearch {

namespace {

using W = WorkloadSection;
using K = KernelSection;

constexpr Interval kElements{1.0, kMostParameters};
// Limits of chains of generated kernels, which no model and no factorization reaches.
constexpr double kMostSteps = 10'000;
constexpr double kMostPanels = 100'000;  // of HPL, where El Capitan had 49,700
constexpr double kMostKernelSteps = 1e9;
constexpr double kMostSide = 1e9;                // of the extents of LSTM layers
constexpr std::size_t kMostKernels = 1'000'000;  // also of tensors; a file cannot hold more
constexpr double kMostOperands = 6;
constexpr double kMostNumbers = 1e9;  // of values of a kernel

constexpr Type kAttention = flag_type([] {
  return std::vector<Choice>{{"unfused", 0}, {"fused", 1}};
});
constexpr Type kMask = flag_type([] { return std::vector<Choice>{{"full", 0}, {"causal", 1}}; });

template <auto member>
constexpr Field common(std::string_view key, std::string_view doc, const Extra& extra = {}) {
  return field<&W::workload, member>(key, doc, extra);
}
template <auto member>
constexpr Field own(std::string_view key, std::string_view doc, const Extra& extra = {}) {
  return field<&K::kernel, member>(key, doc, extra);
}

// Rows that several kinds share.

constexpr Field kKind =
    common<&Workload::kind>("kind", "the computation, which determines the other keys", kNeeded);
constexpr Field kWord =
    common<&Workload::word>("word", "size of an element, whole bits", {.limits = {0.125, 1048576}});
constexpr Field kBatch = common<&Workload::global_batch>(
    "global_batch", "samples of a step; a multiple of data degree · `micro_batch`", kNeeded);
constexpr Field kMicroBatch = common<&Workload::micro_batch>(
    "micro_batch", "samples that go through the pipeline together", {.preset = "searched"});
constexpr Field kTile = common<&Workload::tile>(
    "tile", "elements of the sequence in a tile, at most `sequence`", {.preset = "searched"});
constexpr Field kCopies = common<&Workload::copies>(
    "copies", "independent copies side by side, each on its share of the chips; divides `chips`");

}  // namespace

const Schema& schema_of(Rows<Communication>) {
  using C = Communication;
  static constexpr Type kGroup = list_type<std::int64_t, Form::List>({}, 32);
  static constexpr Field kFields[] = {
      field<&C::type>("type", "", kNeeded),
      field<&C::bytes>("bytes", "bytes of the exchange; not for gradients",
                       {.limits = kTraffic, .preset = "required, except for gradients"}),
      field<&C::group>(
          "group",
          "chips of an all_reduce, all_gather or all_to_all: alternately a number of members and a "
          "factor of their distance, innermost first; [1, 8, 4] is 4 chips at a distance of 8",
          {.type = &kGroup, .preset = "by the type"})};
  return schema<C, kFields>("communication", &check_communication);
}

constexpr Type kCommunications = list_type<Communication, Form::Values>({}, 2);

const Schema& schema_of(Rows<Attention>) {
  using A = Attention;
  static constexpr Field kFields[] = {field<&A::keys>("keys", "", kNeeded),
                                      field<&A::window>("window", "", {.preset = "all"}),
                                      field<&A::causal>("causal", "")};
  return schema<A, kFields>("attention of a kernel");
}

const Schema& schema_of(Rows<KernelSection>) {
  static constexpr Field kFields[] = {
      own<&Kernel::name>("name", "unique name of the kernel", kNeeded),
      own<&Kernel::kind>(
          "kind",
          "`weight_gemm`: a product with a resident weight of `M` x `K`; `gemm`: a product of two "
          "streamed inputs; `elementwise`, `elementwise2`: one or two inputs; `attention`: fused "
          "attention of `outer` heads, with `K` elements of a query and a key and `M` of a value",
          kNeeded),
      field<&K::mode>("mode", "the part of a core that runs it",
                      {.preset = "simd for elementwise kernels, systolic for others"}),
      own<&Kernel::outer>("outer", "products or heads side by side"),
      own<&Kernel::m>("M", "rows of an output"),
      own<&Kernel::k>("K", "depth of the sum; 1 for elementwise kernels in SIMD mode"),
      own<&Kernel::n>("N", "columns of an output; outer · M · K · N · repeat must be below 2^62"),
      field<&K::tiled>("tiled", "the loop that is cut into tiles",
                       {.preset = "N if the workload has a `sequence`, else none"}),
      own<&Kernel::phase>("phase", ""),
      field<&K::communication>("communication",
                               "exchanges of the kernel, in place of the all-reduce of a sharded "
                               "K; see below. Two in a list run at the same time",
                               {.type = &kCommunications, .preset = "none"}),
      own<&Kernel::memory>("memory",
                           "explicit traffic to memory of each chip, neither sharded nor tiled, in "
                           "addition to the weight",
                           {.limits = kTraffic}),
      own<&Kernel::sharded_memory>(
          "sharded_memory",
          "explicit traffic to memory of a tensor group, divided among its chips; of a kernel with "
          "a weight, the traffic of the weight",
          {.limits = kTraffic}),
      own<&Kernel::repeat>("repeat", "number of times that the inputs stream through the kernel"),
      own<&Kernel::steps>(
          "steps",
          "number of steps, one after the other, each with an equal share of the columns; a step "
          "waits for tensors with `next_step` ([model.md](model.md#14-steps))",
          {.limits = {1, kMostKernelSteps}}),
      own<&Kernel::skip_weight>("skip_weight", "true: the weight takes no SRAM"),
      own<&Kernel::spread>("spread",
                           "the chips that divide the kernel. `tensor`: its sharded loop is "
                           "divided over the tensor dimensions; `grid`: `M` and `K` over the two "
                           "sides of the grid of all chips; `machine`: `N` over all chips"),
      own<&Kernel::attention>(
          "attention",
          "`keys`: tokens that the last query may see; `window`: the most of them that a query "
          "sees (all); `causal`: whether earlier queries see fewer (false)",
          {.preset = "required for attention, else none"}),
      own<&Kernel::element_flops>("element_flops",
                                  "FLOP of an output element of an elementwise kernel; given FLOP "
                                  "take time but do not count in utilization",
                                  {.preset = "1, which counts"}),
      own<&Kernel::math>("math",
                         "the number format of its arithmetic, where the chip states `peaks`",
                         {.preset = "as `execution.math`"}),
      own<&Kernel::matrices>("matrices",
                             "number of weight matrices that are stored; a sample uses `outer`",
                             {.preset = "`outer`"}),
      own<&Kernel::parameters>("parameters", "elements stored beside the weight",
                               {.limits = kElements}),
      own<&Kernel::tokens>("tokens",
                           "number of columns of a GEMM that are not empty, at most `outer` · `N` "
                           "(`outer` · `K` if K is tiled)",
                           {.limits = kElements, .preset = "all"}),
      own<&Kernel::coupled>(
          "coupled",
          "for an elementwise kernel whose rows depend on each other: the number of rows (sums, or "
          "candidates of a choice) that chips exchange if `M` is split",
          {.limits = kElements}),
      field<&K::weight_of>(
          "weight_of", "a kernel whose stored weight this one uses, or computes the gradient of",
          {.preset = "none"}),
      field<&K::backward_of>(
          "backward_of",
          "of a backward kernel: the forward kernel of the same stage, with `stages: graph`",
          {.preset = "`weight_of`"}),
      field<&K::partition>("partition", "a pin, from 0; `execution.pins` overrides it",
                           {.limits = kFromZero, .preset = "searched"})};
  return schema<K, kFields>("kernel", &resolve_defaults_of_kernel);
}

const Schema& schema_of(Rows<TensorSection>) {
  using T = TensorSection;
  static constexpr Field kFields[] = {
      field<&T::from>("from", "name of the producer", kNeeded),
      field<&T::to>(
          "to",
          "name of the consumer; no cycles, and no tensors from a backward to a forward kernel",
          kNeeded),
      field<&T::operand>(
          "operand",
          "number of the input of `to`; of attention: queries, keys, values, and backward also the "
          "gradient, the output and the log-sum-exp",
          {.limits = {1, kMostOperands},
           .preset = "1 for the first tensor of the list that leads into the kernel, 2 for later "
                     "ones"}),
      field<&T::value>("value", "tensors of one kernel with the same number are one value",
                       {.limits = {0, kMostNumbers}, .preset = "a value of its own"}),
      field<&T::rows>("rows", "number of rows of a value that is a part of the output",
                      {.limits = kElements, .preset = "`outer` · `M` of `from`"}),
      field<&T::next_layer>("next_layer",
                            "whether it leads to a kernel of the next layer; between backward "
                            "kernels to one of the previous layer"),
      field<&T::next_step>("next_step",
                           "whether it leads to the next step of a kernel with as many `steps`")};
  return schema<T, kFields>("tensor");
}

namespace {

constexpr Type kKernels = list_type<KernelSection, Form::List>({}, kMostKernels);
constexpr Type kTensors = list_type<TensorSection, Form::List>({}, kMostKernels);

const Schema& llm_schema() {
  static constexpr Field kFields[] = {
      kKind,
      kWord,
      field<&W::sequence>("sequence",
                          "tokens of a sample; extent of the loop that is cut into tiles", kNeeded),
      kTile,
      kBatch,
      kMicroBatch,
      keys_of<&W::llm>(),
      field<&W::llm, &LlmSection::pass, &TransformerPass::fused>(
          "attention", "`fused`: attention is one kernel; `unfused`: three",
          {.type = &kAttention, .flags = kByRule}),
      field<&W::llm, &LlmSection::pass, &TransformerPass::causal>(
          "mask", "whether fused attention computes masked pairs",
          {.type = &kMask, .flags = kByRule}),
      field<&W::llm, &LlmSection::lora>(
          "lora", "adapters of low rank, with all other weights frozen; needs `execution.stack`")};
  return schema<W, kFields>("llm", &resolve_defaults_of_llm);
}

const Schema& decode_schema() {
  static constexpr Field kFields[] = {
      kKind,
      kWord,
      field<&W::llm, &LlmSection::context>(
          "context", "tokens before the one that is computed, whose keys and values are cached",
          {.preset = "required; for a layer by rule `sequence`, if given"}),
      field<&W::sequence>("sequence", "sequence of the model, for a layer by rule",
                          {.preset = "`context`"}),
      kBatch,
      kMicroBatch,
      keys_of<&W::llm>(),
      field<&W::llm, &LlmSection::pass, &TransformerPass::tokens>(
          "batch",
          "samples whose tokens are computed together, which count as one of `global_batch`",
          {.flags = kByRule})};
  return schema<W, kFields>("llm decode", &resolve_defaults_of_llm);
}

const Schema& dlrm_schema() {
  using D = DlrmSection;
  using E = EmbeddingTables;
  constexpr const char* kEmbeddings =
      "bytes of a chip for its embeddings: sent to other chips, and moved to or from memory";
  constexpr const char* kProduct =
      "`tables` · `pooled_rows` · `embedding` · `local_batch` · `word`";
  static constexpr Field kFields[] = {
      kKind,
      kWord,
      field<&W::dlrm, &D::shape, &DlrmShape::mlp>("mlp", "width of the layers", kNeeded),
      field<&W::dlrm, &D::shape, &DlrmShape::bottom>(
          "bottom", "number of MLPs before the embeddings are joined",
          {.limits = {1, kMostSteps / 2}, .flags = kRequired}),
      field<&W::dlrm, &D::shape, &DlrmShape::top>(
          "top", "number of MLPs after the embeddings are joined",
          {.limits = {0, kMostSteps / 2}, .flags = kRequired}),
      field<&W::dlrm, &D::tables, &E::tables>("tables", "number of embedding tables", kNeeded),
      field<&W::dlrm, &D::tables, &E::rows>("rows", "rows of a table", kNeeded),
      field<&W::dlrm, &D::tables, &E::embedding>("embedding", "elements of a row", kNeeded),
      field<&W::dlrm, &D::pooled_rows>("pooled_rows",
                                       "rows that are looked up in each table for a sample",
                                       {.preset = "required without `all_to_all` and `memory`"}),
      field<&W::dlrm, &D::all_to_all>("all_to_all", kEmbeddings,
                                      {.limits = kTraffic, .preset = kProduct}),
      field<&W::dlrm, &D::memory>("memory", kEmbeddings, {.limits = kTraffic, .preset = kProduct}),
      field<&W::dlrm, &D::shape, &DlrmShape::local_batch>(
          "local_batch", "samples that a chip takes at a time", kNeeded),
      common<&Workload::global_batch>("global_batch", "local batches of a step", kNeeded),
      kCopies};
  return schema<W, kFields>("dlrm", &resolve_defaults_of_dlrm);
}

const Schema& hpl_schema() {
  static constexpr Field kFields[] = {
      kKind,
      kWord,
      field<&W::hpl, &HplSection::n>("n", "rows of the matrix", kNeeded),
      field<&W::hpl, &HplSection::block>("block", "columns that are factored at a time", kNeeded),
      field<&W::hpl, &HplSection::iterations>("iterations",
                                              "steps that are computed, at most `n` / `block`",
                                              {.limits = {1, kMostPanels}, .flags = kRequired}),
      kCopies};
  return schema<W, kFields>("hpl", &resolve_defaults_of_hpl);
}

const Schema& fft_schema() {
  static constexpr Field kFields[] = {
      kKind, kWord,
      field<&W::fft, &FftSection::length>(
          "length", "number of points",
          {.limits = {1, static_cast<double>(kLongestFft)}, .flags = kRequired}),
      field<&W::fft, &FftSection::radix>(
          "radix", "size of the butterflies",
          {.limits = {2, static_cast<double>(kLargestCount)}, .flags = kRequired}),
      kCopies};
  return schema<W, kFields>("fft", &resolve_defaults_of_fft);
}

const Schema& lstm_schema() {
  using L = LstmShape;
  static constexpr Extra kExtent{.limits = {1, kMostSide}, .flags = kRequired};
  static constexpr Field kFields[] = {
      kKind,
      kWord,
      field<&W::lstm, &L::hidden>("hidden", "width of the layers", kExtent),
      field<&W::lstm, &L::vocabulary>("vocabulary", "number of words", kExtent),
      field<&W::lstm, &L::layers>("layers", "number of layers",
                                  {.limits = {1, kMostSteps / 10}, .flags = kRequired}),
      field<&W::lstm, &L::steps>("steps", "tokens of a sequence, one after the other", kExtent),
      field<&W::lstm, &L::local_batch>("local_batch", "sequences that a chip takes at a time",
                                       kExtent),
      field<&W::lstm, &L::folded>(
          "folded",
          "whether parts that do not wait for the step before are one kernel over all steps: the "
          "embedding, the product of the gates with the layer below, the product with the "
          "vocabulary, and the softmax"),
      common<&Workload::tile>("tile", "columns of a tile, of `steps` · `local_batch` columns",
                              {.preset = "searched"}),
      common<&Workload::global_batch>("global_batch", "local batches of a step", kNeeded),
      kMicroBatch,
      kCopies};
  return schema<W, kFields>("lstm", &resolve_defaults_of_lstm);
}

const Schema& graph_schema() {
  static constexpr Field kFields[] = {
      kKind,
      kWord,
      common<&Workload::layers>("layers", "number of such graphs, one after the other"),
      common<&Workload::global_batch>(kBatch.key, kBatch.doc,
                                      {.preset = "1, with `network: data` one for each chip"}),
      kMicroBatch,
      field<&W::sequence>("sequence", "extent of the loop that is cut into tiles", {.preset = "1"}),
      kTile,
      common<&Workload::boundary>("boundary",
                                  "bytes that a pipeline stage sends to the next for one sample",
                                  {.limits = kTraffic}),
      kCopies,
      common<&Workload::network_use>("network", "strategy of all dimensions of the network"),
      common<&Workload::stored>("stored", "data that the chips of a copy hold together in memory",
                                {.limits = kTraffic}),
      common<&Workload::out_of_core>("out_of_core",
                                     "true: SRAM is not a limit, and memory holds `stored` only"),
      common<&Workload::serving>(
          "serving",
          "for a model that is served: `pass`, the kind of pass; `tokens`, tokens of a sample (1); "
          "`boundary`, bytes that a stage sends to the next for a sample (0 B)"),
      common<&Workload::counts>("counts", "counts of the model for report and JSON (`model`)",
                                {.flags = kNoCost}),
      field<&W::kernels>("kernels", "kernels of one layer; see below",
                         {.type = &kKernels, .flags = kRequired}),
      field<&W::tensors>("tensors", "tensors between kernels; see below",
                         {.type = &kTensors, .flags = kRequired})};
  return schema<W, kFields>("graph", &resolve_defaults_of_graph);
}

/// In the order of the kinds.
constexpr std::array kSchemas = {&llm_schema,  &llm_schema,  &decode_schema,
                                 &dlrm_schema, &dlrm_schema, &hpl_schema,
                                 &fft_schema,  &lstm_schema, &graph_schema};

std::int64_t kind_of(const void* text) {
  return static_cast<std::int64_t>(static_cast<const WorkloadSection*>(text)->workload.kind);
}

}  // namespace

const Type kWorkloadType{.form = Form::Variant,
                         .name = "kind",
                         .get = &kind_of,
                         .choices = &choices_of<WorkloadKind>,
                         .schema_for = [](std::int64_t kind) -> const Schema& {
                           return kSchemas[static_cast<std::size_t>(kind)]();
                         }};

}  // namespace dfsearch
