// Kernels, exchanges and the host with round constants: all values by hand, from the page.

#include <doctest/doctest.h>

#include <cmath>

#include "model/stack/block_work.hpp"
#include "model/stack/kernel_times.hpp"
#include "model/stack/link_times.hpp"
#include "support/training_worlds.hpp"

namespace dfsearch::stack {
namespace {

doctest::Approx near(double value) { return doctest::Approx(value).epsilon(1e-9); }
double seconds(Seconds time) { return time.in_base_units(); }

TEST_CASE("a curve is linear in the logarithm of the work, and level beyond") {
  const Curve<Flops> curve{.work = {Flops(1e9), Flops(1e12)}, .share = {0.2, 0.8}};
  CHECK(curve.at(1e6) == 0.2);
  CHECK(curve.at(1e9) == 0.2);
  CHECK(curve.at(1e10) == near(0.4));
  CHECK(curve.at(1e12) == 0.8);
  CHECK(curve.at(1e15) == 0.8);
}

TEST_CASE("kernels take compute or memory, whichever is longer") {
  const Setup setup = test::round_setup();
  const KernelTimes kernels(setup);
  CHECK(seconds(kernels.pass(0.0)) == 0.0);
  CHECK(seconds(kernels.pass(10.0)) == 3e-6);
  // 1e7 bytes at 0.375 of 1 TB/s.
  CHECK(seconds(kernels.pass(1e7)) == near(1e7 / 0.375e12));
  CHECK(seconds(kernels.product(1e12, 0.0, Bits::Sixteen)) == near(1e12 / 80e12));
  CHECK(seconds(kernels.product(1e12, 0.0, Bits::Eight)) == near(1e12 / 160e12));
  CHECK(seconds(kernels.product(1e12, 0.0, Bits::Sixteen, 0.5)) == near(1e12 / 40e12));
  CHECK(seconds(kernels.product(1e6, 1e8, Bits::Sixteen)) == near(1e8 / 0.5e12));
  // 2048 tokens are in the middle between 1024 and 4096.
  CHECK(seconds(kernels.attention(1e12, 2048, 128, false, false)) == near(1e12 / 37.5e12));
  CHECK(seconds(kernels.attention(1e12, 2048, 64, true, false)) == near(1e12 / (30e12 * 0.8)));
  CHECK(seconds(kernels.attention(1e12, 2048, 96, true, false)) == near(1e12 / (30e12 * 0.9)));
  // Four rows of scores at once, each of 1e6, heads of 64: two products at 0.38 of the peak.
  const UnfusedAttention fast = kernels.unfused(4.0, 1e6, 64, false);
  CHECK(seconds(fast.products) == near(2.0 * 2.0 * 4e6 * 64.0 / 38e12));
  CHECK(!fast.is_slow);
  // 36 MB there, 4.5 passes of 2 bytes, and 9 passes over 27 MB of 3 rows.
  const auto at = [](double bytes) {
    return 0.25 + 0.25 * std::log(bytes / 1e6) / std::log(100.0);
  };
  CHECK(seconds(fast.passes) == near(36e6 / (at(36e6) * 1e12)));
  const UnfusedAttention slow = kernels.unfused(3.0, 1e6, 64, false);
  CHECK(slow.is_slow);
  CHECK(seconds(slow.passes) == near(54e6 / (at(54e6) * 1e12)));
}

TEST_CASE("collectives have a base, hops and a bus") {
  const Setup setup = test::round_setup();
  const LinkTimes links(setup);
  const Bytes whole(8e8);
  CHECK(seconds(links.collective(whole, {}, Passes::One)) == 0.0);
  // 8 in a domain: 1.4 (10 us + 7 us) and 7/8 at 200 GB/s.
  const Reach eight{.inside = 8.0};
  CHECK(seconds(links.collective(whole, eight, Passes::One)) == near(1.4 * 17e-6 + 3.5e-3));
  CHECK(seconds(links.collective(whole, eight, Passes::Two)) == near(1.4 * 24e-6 + 7e-3 / 1.05));
  // 4 are in the middle: 150 GB/s.
  CHECK(seconds(links.collective(whole, {.inside = 4.0}, Passes::One)) == near(1.4 * 13e-6 + 4e-3));
  // Two domains of 8: the links out of one carry 8 x 25 GB/s x 0.8.
  CHECK(seconds(links.collective(whole, {.inside = 8.0, .domains = 2.0}, Passes::One)) ==
        near(1.4 * (17e-6 + 20e-6) + 8e8 * 15.0 / 16.0 / 160e9));
  CHECK(seconds(links.all_to_all(whole, {.inside = 2.0})) == near(1.4 * 11e-6 + 2e8 / 100e9));
  CHECK(seconds(links.hop(Bytes(1e8), true, 4.0)) == near(10e-6 + 1e8 / 80e9));
  CHECK(seconds(links.hop(Bytes(1e8), false, 1.0)) == near(10e-6 + 1e8 / 100e9));
}

TEST_CASE("a token goes once to each chip and each domain that it needs") {
  const Setup setup = test::round_setup();
  const auto sent = [&](double node_limit, const Reach& experts) {
    const SentTokens tokens{
        .all = Bytes(1e8), .row = Bytes(2e3), .used = 2.0, .node_limit = node_limit};
    return seconds(LinkTimes(setup).dispatch(tokens, experts, Dispatcher::DeepEp));
  };
  // Two experts of a token on two chips: 2 (1 - 1/4) = 1.5 chips, half of it to the other.
  CHECK(sent(0.0, {.inside = 2.0}) == near(1.5 * 0.5 * 1e8 / 100e9 + 22e-6 + 20e-6));
  // One chip in each of four domains: 1.75 domains, three quarters of it over 20 GB/s.
  CHECK(sent(0.0, {.domains = 4.0}) == near(1.75 * 0.75 * 1e8 / 20e9 + 40e-6));
  CHECK(sent(1.0, {.domains = 4.0}) == near(0.75 * 1e8 / 20e9 + 40e-6));
  CHECK(sent(0.0, {}) == 0.0);
}

TEST_CASE("whichever of host and chip is behind sets the pace") {
  CHECK(seconds(side_by_side(Seconds(3.0), Seconds(0.0), 5.0)) == 3.0);
  CHECK(seconds(side_by_side(Seconds(1.0), Seconds(1.0), 5.0)) == near(std::pow(2.0, 0.2)));
  CHECK(seconds(side_by_side(Seconds(1.0), Seconds(2.0), 5.0)) == near(std::pow(33.0, 0.2)));
}

TEST_CASE("a layer's weights, exchanges and host are those of the page") {
  Setup setup = test::round_setup();
  const Transformer model{.hidden = 1024,
                          .layers = 2,
                          .heads = 16,
                          .kv_heads = 4,
                          .head_dim = 64,
                          .value_dim = 64,
                          .mlp = 4096,
                          .vocabulary = 32000};
  Division division{.sequence = 2048, .samples = 2, .tensor = 4};
  const BlockWork plain = layer_work(setup, model, division, false);
  // Queries, keys and values of a fourth, the projection, three matrices, two norms.
  CHECK(plain.parameters == 1024.0 * 384.0 + 256.0 * 1024.0 + 3.0 * 1024.0 * 1024.0 + 2048.0);
  CHECK(plain.tensor_sums == 2.0);
  CHECK(plain.tensor_gathers_backward == 0.0);
  CHECK(plain.tensor_whole.in_base_units() == 2.0 * 4096.0 * 1024.0);
  CHECK(seconds(plain.host.forward) == near(1.02e-3));
  division.sequence_parallel = true;
  const BlockWork divided = layer_work(setup, model, division, false);
  CHECK(divided.tensor_sums == 2.0);
  CHECK(divided.tensor_gathers_forward == 2.0);
  CHECK(divided.tensor_gathers_backward == 3.0);
  CHECK(divided.tensor_gathered == divided.tensor_whole);
  CHECK(divided.forward.elementwise < plain.forward.elementwise);
  CHECK(divided.memory.all.bytes < plain.memory.all.bytes);
  // Bytes of a layer without tensor ranks, all heads of keys: residuals and norms 8 h + 16,
  // attention 8 h + 4 a, the MLP 6 f.
  Transformer whole = model;
  whole.kv_heads = 16;
  division = {.sequence = 2048};
  CHECK(layer_work(setup, whole, division, false).memory.all.bytes ==
        near(2048.0 * (16.0 * 1024.0 + 16.0 + 4.0 * 16.0 + 6.0 * 4096.0)));
  // Casts are passes over memory: never less elementwise work in 8 bits.
  setup.precision = Precision::Fp8;
  const BlockWork cast = layer_work(setup, whole, division, false);
  CHECK(cast.forward.elementwise >
        layer_work(test::round_setup(), whole, division, false).forward.elementwise);
}

TEST_CASE("what is frozen has no gradients of weights") {
  const Setup setup = test::round_setup();
  const Transformer model{.hidden = 1024,
                          .layers = 2,
                          .heads = 16,
                          .kv_heads = 4,
                          .head_dim = 64,
                          .value_dim = 64,
                          .mlp = 4096,
                          .vocabulary = 32000};
  const Division division{.sequence = 2048};
  const memory::Lora lora{.rank = 16, .targets = {memory::Target::Query}};
  const BlockWork trained = layer_work(setup, model, division, false);
  const BlockWork frozen = layer_work(setup, model, division, false, &lora);
  CHECK(seconds(trained.backward.products) == near(2.0 * seconds(trained.forward.products)));
  CHECK(seconds(frozen.backward.products) == near(seconds(frozen.forward.products)));
  CHECK(frozen.trained_parameters == 16.0 * 2048.0);
  CHECK(first_work(setup, model, division, &lora).trained_parameters == 0.0);
}

}  // namespace
}  // namespace dfsearch::stack
