// Layers of a model of several kinds: attention, MLPs and experts as in a model of equal layers, to
// the bit, and blocks with a state by hand.

#include <doctest/doctest.h>

#include "model/stack/block_work.hpp"
#include "support/mixed_models.hpp"
#include "support/training_worlds.hpp"

namespace dfsearch::stack {
namespace {

void check_same(const PassWork& a, const PassWork& b) {
  CHECK(a.products == b.products);
  CHECK(a.attention == b.attention);
  CHECK(a.elementwise == b.elementwise);
  CHECK(a.scans == b.scans);
}

void check_same(const BlockWork& a, const BlockWork& b) {
  check_same(a.forward, b.forward);
  check_same(a.backward, b.backward);
  CHECK(a.tensor_whole == b.tensor_whole);
  CHECK(a.tensor_sums == b.tensor_sums);
  CHECK(a.tensor_gathers_forward == b.tensor_gathers_forward);
  CHECK(a.tensor_gathers_backward == b.tensor_gathers_backward);
  CHECK(a.ring == b.ring);
  CHECK(a.dispatched == b.dispatched);
  CHECK(a.shifted == b.shifted);
  CHECK(a.host.forward == b.host.forward);
  CHECK(a.host.backward == b.host.backward);
  CHECK(a.parameters == b.parameters);
  CHECK(a.expert_parameters == b.expert_parameters);
  CHECK(a.memory.weights() == b.memory.weights());
  CHECK(a.memory.input == b.memory.input);
  CHECK(a.memory.working.bytes == b.memory.working.bytes);
  for (const auto recompute :
       {memory::Recompute::None, memory::Recompute::Full, memory::Recompute::EverySecondProduct}) {
    CHECK(a.memory.kept(recompute).bytes == b.memory.kept(recompute).bytes);
    CHECK(a.memory.kept(recompute).routed == b.memory.kept(recompute).routed);
  }
}

/// The only form of a model of one kind.
LayerForm form_of(std::vector<Block> blocks, std::int64_t norms) {
  const LayerKind kind{.blocks = std::move(blocks), .norms = norms};
  const MixedModel mixed = mixed_model_of(test::shape_of_kinds({kind}, 1024, {0}));
  CAPTURE(mixed.why);
  REQUIRE(mixed.model);
  return mixed.model->mixed->forms.front();
}

TEST_CASE("attention, MLPs and experts are those of a model of equal layers") {
  const Setup setup = test::round_setup();
  for (const bool is_latent : {false, true}) {
    for (const bool has_experts : {false, true}) {
      Transformer model{
          .hidden = 1024, .heads = 16, .kv_heads = 4, .head_dim = 64, .value_dim = 64, .mlp = 2048};
      std::vector<Block> blocks(2);
      blocks[0] = {.kind = BlockKind::Attention,
                   .heads = 16,
                   .kv = 4,
                   .dim = 64,
                   .value = 64,
                   .causal = 1,
                   .project = 1};
      if (is_latent) {
        model.kv_heads = 16;
        model.latent = LatentAttention{.query_rank = 128, .key_value_rank = 256, .rope_dim = 16};
        blocks[0] = {.kind = BlockKind::Mla, .heads = 16, .value = 64, .q_rank = 128};
        blocks[0].kv_rank = 256;
        blocks[0].nope = 48;
        blocks[0].rope = 16;
      }
      blocks[1] = {.kind = BlockKind::Dense, .width = 2048, .gated = 1, .copies = 1};
      if (has_experts) {
        model.experts = Experts{.count = 16, .used = 2, .mlp = 256, .shared = 1};
        blocks[1] = {.kind = BlockKind::Moe,
                     .width = 256,
                     .gated = 1,
                     .experts = 16,
                     .used = 2,
                     .shared = 256};
      }
      const LayerForm form = form_of(blocks, 2);
      for (const std::int64_t tensor : {1, 4}) {
        for (const std::int64_t context : {1, 2}) {
          for (const bool parallel : {false, true}) {
            const Division division{.sequence = 4096,
                                    .samples = 2,
                                    .tensor = tensor,
                                    .context = context,
                                    .expert = has_experts ? 4 : 1,
                                    .experts_whole = parallel,
                                    .sequence_parallel = parallel};
            check_same(layer_work(setup, model, division, has_experts),
                       layer_work(setup, form, division));
          }
        }
      }
    }
  }
}

TEST_CASE("a state space takes its products at the rate of scans, and thrice that backward") {
  const Setup setup = test::round_setup();
  Block block{.kind = BlockKind::Mamba2, .heads = 32, .dim = 64};
  block.groups = 8;
  block.state = 128;
  block.conv = 4;
  block.chunk = 128;
  const LayerForm form = form_of({block}, 1);
  const Division division{.sequence = 4096, .samples = 2, .tensor = 4, .context = 2};
  const BlockWork work = layer_work(setup, form, division);
  // Inner width 2048, 1024 + 2048 + 1024 channels, tokens 4096 of a rank.
  const double scan = 2.0 * 128.0 * (1024.0 + 2048.0) + 4.0 * 2048.0 * 128.0;
  const double elementwise = 2.0 * 4.0 * 4096.0;
  const double seconds = 4096.0 / 4.0 * (scan / 0.09 + elementwise / 0.02) / 100e12;
  CHECK(work.forward.scans.in_base_units() == doctest::Approx(std::max(seconds, 0.84e-3)));
  CHECK(work.backward.scans == work.forward.scans * 3.0);
  // One matrix in, divided by columns, one out, divided by rows; norms and vectors.
  const double in = 1024.0 * (2.0 * 2048.0 + 2.0 * 1024.0 + 32.0), out = 2048.0 * 1024.0;
  const double vectors = 4096.0 * 4.0 + 3.0 * 32.0;
  CHECK(work.parameters == doctest::Approx((in + out + vectors) / 4.0 + 1024.0));
  CHECK(work.memory.dense == doctest::Approx((in + out + vectors) / 4.0 + 1024.0));
  // To heads: all that comes in, for 8 groups on 8 ranks; back: the outputs.
  CHECK(work.shifted.in_base_units() ==
        doctest::Approx(2.0 * 4096.0 * (2.0 * 2048.0 + 2.0 * 1024.0 + 32.0 + 2048.0) / 4.0));
  CHECK(work.ring == Bytes{});
  // A half alone: one all-reduce in each direction.
  CHECK(work.tensor_sums == 1.0);
  CHECK(work.host.forward.in_base_units() == doctest::Approx(0.5e-3 + 10e-6));
  const KernelTimes kernels(setup);
  CHECK(kernels.scan(0.0, 0.0, 0.0) == Seconds{});
  CHECK(kernels.scan(1.0, 0.0, 0.0).in_base_units() == 0.84e-3);
  CHECK(kernels.scan(0.0, 1.0, 0.0).in_base_units() == 0.35e-3);
  CHECK(kernels.scan(0.0, 9e12, 0.0).in_base_units() == doctest::Approx(9e12 / 5e12));
  CHECK(kernels.index(1e12).in_base_units() == doctest::Approx(1e12 / (0.53 * 200e12)));
}

TEST_CASE("attention to an encoder makes keys of its tokens, and sees all of them") {
  const Setup setup = test::round_setup();
  const KernelTimes kernels(setup);
  const Block self{.kind = BlockKind::Attention,
                   .heads = 16,
                   .kv = 16,
                   .dim = 64,
                   .value = 64,
                   .causal = 1,
                   .project = 1};
  Block cross = self;
  cross.cross = 1;
  const Division division{.sequence = 1024, .encoded = 4096, .samples = 2, .tensor = 4};
  const BlockWork alone = layer_work(setup, form_of({self}, 1), division);
  const BlockWork both = layer_work(setup, form_of({self, cross}, 2), division);
  const auto product = [&](double rows, double out) {
    const double flop = 2.0 * rows * 1024.0 * out;
    return kernels.product(flop, 2.0 * (rows * (1024.0 + out) + 1024.0 * out), Bits::Sixteen);
  };
  // Queries and outputs of 2,048 tokens, keys and values of 8,192.
  const Seconds further = product(2048.0, 256.0) * 2.0 + product(8192.0, 512.0);
  CHECK((both.forward.products - alone.forward.products).in_base_units() ==
        doctest::Approx(further.in_base_units()));
  const double rows = 2.0 * 4.0, pairs = 1024.0 * 4096.0;
  CHECK((both.forward.attention - alone.forward.attention).in_base_units() ==
        doctest::Approx(
            kernels.attention(2.0 * rows * pairs * 128.0, 4096, 64, false, false).in_base_units()));
  CHECK(both.tensor_sums == alone.tensor_sums + 1.0 + 2.0);
  CHECK(both.parameters - alone.parameters == doctest::Approx(1024.0 * 1024.0 + 1024.0));
  CHECK(both.memory.dense - alone.memory.dense == doctest::Approx(1024.0 * 1024.0 + 1024.0));
}

TEST_CASE("compressed attention works on its window and on compressed keys in one kernel") {
  const Setup setup = test::round_setup();
  const KernelTimes kernels(setup);
  Block block{.kind = BlockKind::Compressed, .heads = 8, .dim = 64, .window = 128};
  block.q_rank = 256;
  block.o_groups = 8;
  block.o_rank = 64;
  block.rate = 16;
  const Division division{.sequence = 4096, .samples = 1};
  const BlockWork work = layer_work(setup, form_of({block}, 1), division);
  const double window = 128.0 * 129.0 / 2.0 + (4096.0 - 128.0) * 128.0;
  const double far = 4096.0 * (256.0 + 1.0) / 2.0;
  const double flop = 2.0 * 8.0 * (window + far) * 128.0;
  CHECK(work.forward.attention.in_base_units() ==
        doctest::Approx(kernels.attention(flop, 4096, 64, false, false).in_base_units()));
  // Latents of queries and keys, queries, outputs in groups, two compressors.
  const double matrices = 1024.0 * 256.0 + 256.0 * 512.0 + 1024.0 * 64.0 + 64.0 * 64.0 * 8.0 +
                          512.0 * 1024.0 + 2.0 * 1024.0 * 64.0;
  CHECK(work.parameters == doctest::Approx(matrices + 1024.0));
  CHECK(work.memory.dense == doctest::Approx(matrices + 1024.0));
}

TEST_CASE("layers with the keys of another one make none") {
  const Setup setup = test::round_setup();
  Block block{.kind = BlockKind::Attention,
              .heads = 16,
              .kv = 4,
              .dim = 64,
              .value = 64,
              .causal = 1,
              .project = 1};
  const Division division{.sequence = 1024, .samples = 1};
  const double all = layer_work(setup, form_of({block}, 1), division).parameters;
  block.k_is_v = 1;
  CHECK(all - layer_work(setup, form_of({block}, 1), division).parameters == 1024.0 * 256.0);
  block.kv_shared = 1;
  const BlockWork shared = layer_work(setup, form_of({block}, 1), division);
  CHECK(all - shared.parameters == 2.0 * 1024.0 * 256.0);
  CHECK(shared.memory.dense == shared.parameters);
}

}  // namespace
}  // namespace dfsearch::stack
