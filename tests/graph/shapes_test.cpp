#include "graph/dataflow_graph.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "graph/workloads/generators.hpp"
#include "graph/workloads/llm/transformer_graph.hpp"
#include "support/random_models.hpp"

namespace dfsearch {
namespace {

std::vector<std::string> all_wrong(const DataflowGraph& graph) {
  std::vector<std::string> wrong;
  for (std::size_t t = 0; t < graph.tensor_count(); ++t) {
    if (const auto what = wrong_shape(graph, TensorId(t))) wrong.push_back(*what);
  }
  return wrong;
}

const std::vector<std::string> kNone;

Kernel kernel(KernelKind kind, std::int64_t outer, std::int64_t m, std::int64_t k, std::int64_t n) {
  return {.name = "k", .kind = kind, .outer = outer, .m = m, .k = k, .n = n};
}

std::vector<std::string> wrong_between(Kernel from, Kernel to) {
  from.name = "from";
  to.name = "to";
  return all_wrong({{from, to}, {{.from = KernelId(0), .to = KernelId(1)}}});
}

}  // namespace

TEST_CASE("all that generators make has shapes that agree") {
  for (const std::int64_t heads : {1, 3, 16}) {
    const LlmShape shape{.hidden = heads * 5, .heads = heads, .head_dim = 5, .sequence = 7};
    CHECK(all_wrong(llm_forward_graph(shape)) == kNone);
    CHECK(all_wrong(llm_training_graph(shape)) == kNone);
    CHECK(all_wrong(llm_decode_graph(shape, Bytes(2.0))) == kNone);
    CHECK(all_wrong(unrolled_layers(llm_training_graph(shape), 3)) == kNone);
  }
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    CAPTURE(seed);
    test::RandomModels random(seed);
    const Transformer model = random.model();
    TransformerPass pass{.tokens = random.pick(1, 9),
                         .word = Bytes(static_cast<double>(random.pick(1, 4)))};
    pass.fused = model.latent.has_value() || random.chance();
    CHECK(all_wrong(transformer_forward_graph(model, pass)) == kNone);
    CHECK(all_wrong(transformer_training_graph(model, pass)) == kNone);
    pass.context = random.pick(1, 9);
    CHECK(all_wrong(transformer_decode_graph(model, pass)) == kNone);
  }
}

TEST_CASE("a tensor that cannot be read is told apart from one that can") {
  constexpr KernelKind kWeight = KernelKind::WeightGemm, kGemm = KernelKind::Gemm;
  constexpr KernelKind kElement = KernelKind::Elementwise;
  const Kernel seven = kernel(kElement, 1, 7, 1, 128);
  CHECK(wrong_between(seven, kernel(kWeight, 1, 5, 1024, 128)).size() == 1);
  CHECK(wrong_between(seven, kernel(kWeight, 1, 5, 7, 128)) == kNone);
  CHECK(wrong_between(seven, kernel(kWeight, 4, 5, 7, 128)) == kNone);    // shared by heads
  CHECK(wrong_between(seven, kernel(kWeight, 7, 5, 1, 128)) == kNone);    // a row for each
  CHECK(wrong_between(seven, kernel(kWeight, 1, 5, 14, 64)) == kNone);    // as a batch
  CHECK(wrong_between(seven, kernel(kWeight, 1, 5, 7, 64)).size() == 1);  // too many columns
  CHECK(wrong_between(seven, kernel(kWeight, 1, 5, 7, 129)) == kNone);    // a window
  CHECK(wrong_between(seven, kernel(kGemm, 1, 7, 128, 9)) == kNone);      // M x K
  CHECK(wrong_between(seven, kernel(kGemm, 1, 8, 128, 9)).size() == 1);
  CHECK(wrong_between(seven, kernel(kElement, 1, 8, 1, 128)).size() == 1);
  CHECK(wrong_between(seven, kernel(kElement, 1, 7, 1, 129)) == kNone);  // appended to
  CHECK(wrong_between(seven, kernel(kElement, 3, 7, 1, 50)) == kNone);   // dispatched
  CHECK(wrong_between(kernel(kElement, 3, 7, 1, 50), seven) == kNone);   // combined
  CHECK(wrong_between(kernel(kWeight, 4, 6, 9, 128), kernel(kGemm, 8, 128, 6, 10)) == kNone);
  CHECK(wrong_between(kernel(kWeight, 3, 6, 9, 128), kernel(kGemm, 8, 128, 6, 10)).size() == 1);
}

}  // namespace dfsearch
