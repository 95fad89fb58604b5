// Layers of experts by the switches of their software: worked by hand with the constants of `te`
// and of chips of the shelf, which are written here once more.

#include <doctest/doctest.h>

#include <vector>

#include "model/stack/block_work.hpp"
#include "model/stack/expert_layer.hpp"
#include "model/stack/kernel_times.hpp"
#include "model/stack/link_times.hpp"
#include "support/training_worlds.hpp"

namespace dfsearch::stack::layers_of_experts {
namespace {

doctest::Approx near(double value) { return doctest::Approx(value).epsilon(1e-9); }
double seconds(Seconds time) { return time.in_base_units(); }

Setup te(Precision precision = Precision::Mxfp8) {
  Setup setup{.precision = precision};
  setup.stack.host_forward = {Seconds(0.8e-3)};
  setup.stack.host_backward = {Seconds(1.1e-3)};
  setup.stack.quantized_gathers = true;
  return setup;
}

struct Links {
  double base, hop;  ///< us
  std::vector<double> bus;
  double nic, row;  ///< GB/s, bytes
};
const Links kH100{4.2, 0.82, {275e9, 325e9, 340e9}, 50e9, 600.0};
const Links kB200{5.9, 1.36, {430e9, 560e9, 610e9}, 50e9, 4500.0};
const Links kGb200{7.0, 1.4, {445e9, 570e9, 620e9}, 50e9, 4500.0};

Setup on(const Links& links) {
  Setup setup = te();
  setup.chip.base = Seconds(links.base * 1e-6);
  setup.chip.hop = Seconds(links.hop * 1e-6);
  setup.chip.members = {2, 4, 8};
  for (const double rate : links.bus) setup.chip.bus.emplace_back(rate);
  setup.chip.nic = BytesPerSecond(links.nic);
  setup.chip.dispatch_row = {Bytes(links.row)};
  return setup;
}

TEST_CASE("the host issues a set of launches for each expert of a chip") {
  struct Case {
    double local_experts;
    Precision precision;
    double cpu;
    Switches switches;
    double forward_ms, backward_ms;
  };
  const Case cases[] = {
      {16, Precision::Mxfp8, 1.0, {}, 3.51, 5.71},
      {8, Precision::Fp8CurrentScaling, 1.6, {}, 3.952, 5.808},
      {4, Precision::Mxfp8, 1.0, {.replays_attention = true, .replays_router = true}, 1.17, 1.69},
      {16,
       Precision::Bf16,
       1.6,
       {.replays_router = true, .expert_overlap = true},
       3.46304,
       4.79808},
      {16, Precision::Mxfp8, 1.0, {.replays_layers = true}, 0.0, 0.0},
      {32, Precision::Mxfp8, 1.0, {.grouped = Grouped::Fused}, 1.43, 1.55}};
  for (const Case& one : cases) {
    CAPTURE(one.local_experts);
    Setup setup = te(one.precision);
    setup.chip.cpu = {one.cpu};
    const HostTimes host = expert_host(setup, one.switches, one.local_experts);
    CHECK(seconds(host.forward) == near(one.forward_ms * 1e-3));
    CHECK(seconds(host.backward) == near(one.backward_ms * 1e-3));
  }
  const Seconds beside(20e-6);
  CHECK(seconds(dense_host(te(), {}, beside).forward) == near(0.82e-3));
  CHECK(seconds(dense_host(te(), {.replays_attention = true}, beside).backward) == near(0.46e-3));
  CHECK(seconds(dense_host(te(), {.replays_layers = true}, beside).forward) == near(0.044e-3));
}

TEST_CASE("an all-to-all sends a row for each expert, others one for each chip or domain") {
  struct Case {
    Links links;
    Dispatcher dispatcher;
    double tokens, width, used, node_limit;
    Reach experts;
    double expected;
  };
  const Case cases[] = {
      {kGb200, Dispatcher::HybridEp, 16384, 2048, 8, 0, {8, 1}, 0.0010973232790133568},
      {kB200, Dispatcher::AllToAll, 16384, 2880, 4, 0, {8, 8}, 0.007004554526315789},
      {kH100, Dispatcher::HybridEp, 4096, 2048, 8, 0, {8, 2}, 0.000457672},
      {kH100, Dispatcher::DeepEp, 2048, 7168, 8, 4, {8, 8}, 0.0026088912},
      // More than 16 members do not lengthen the start.
      {kGb200, Dispatcher::AllToAll, 16384, 2880, 4, 0, {64, 1}, 0.0006753372903225807}};
  for (const Case& one : cases) {
    CAPTURE(one.expected);
    const Setup setup = on(one.links);
    const SentTokens tokens{.all = Bytes(2.0 * one.tokens * one.width),
                            .row = Bytes(2.0 * one.width),
                            .used = one.used,
                            .node_limit = one.node_limit};
    CHECK(seconds(LinkTimes(setup).dispatch(tokens, one.experts, one.dispatcher)) ==
          near(one.expected));
  }
}

TEST_CASE("rings of replicas start once for each bucket, by members and domains") {
  const Setup a100 = on({8.0, 0.95, {210e9, 210e9, 210e9}, 25e9, 0.0});
  CHECK(seconds(LinkTimes(a100).ring_start({8, 128}, Passes::One)) == near(0.00103065));
  const Setup h100 = on(kH100), gb200 = on(kGb200);
  CHECK(seconds(LinkTimes(h100).ring_start({8, 8}, Passes::Two)) == near(0.00012768));
  CHECK(seconds(LinkTimes(gb200).ring_start({64, 1}, Passes::One)) == near(9.52e-5));
  // 64 chips of 8 domains: 8 links of 40 GB/s out of each.
  const LinkTimes links(h100);
  CHECK(seconds(links.ring(Bytes(1e9), {8, 8}, Passes::One, 10.0)) ==
        near(14.0 * (4.2e-6 + 5.74e-6 + 56e-6) + 63.0 / 64.0 * 1e9 / 320e9));
  CHECK(seconds(links.broadcasts(Bytes(1e9), {8, 8}, 9.0)) ==
        near(12.6 * (4.2e-6 + 5.74e-6 + 56e-6) + 1e9 / 320e9));
  CHECK(seconds(links.ring(Bytes(1e9), {}, Passes::One, 10.0)) == 0.0);
}

TEST_CASE("dispatchers move rows by different numbers of words") {
  Stack stack;
  CHECK(permuted_words(stack, {.dispatcher = Dispatcher::AllToAll}) == 8.0);
  CHECK(permuted_words(stack, {.dispatcher = Dispatcher::DeepEp}) == 4.0);
  CHECK(permuted_words(stack, {.dispatcher = Dispatcher::HybridEp}) == 1.3);
  stack.software.permute_fusion = false;
  CHECK(permuted_words(stack, {.dispatcher = Dispatcher::AllToAll}) == 16.0);
  CHECK(permuted_words(stack, {.dispatcher = Dispatcher::DeepEp}) == 4.0);
  CHECK(fullest_load(stack) == 1.0);
  stack.software.balance = Balance::Natural;
  CHECK(fullest_load(stack) == 1.25);
}

TEST_CASE("exchanges hide behind the other pass, and no more than it takes") {
  const auto waited = [](double device, double exchanges) {
    return seconds(with_exchanges(Seconds(device), Seconds(exchanges), 0.75)) - device;
  };
  CHECK(waited(0.004, 0.0022) == near(0.00055));
  CHECK(waited(0.0075, 0.0022) == near(0.00055));
  CHECK(waited(0.004, 0.008) == near(0.004));
  CHECK(waited(0.0075, 0.008) == near(0.002));
  CHECK(seconds(with_exchanges(Seconds(1.0), Seconds(2.0), 0.0)) == 3.0);
}

TEST_CASE("tensor ranks gather inputs in the bits that products read") {
  CHECK(gathered_share(te(Precision::Bf16)) == 1.0);
  CHECK(gathered_share(te(Precision::Fp8CurrentScaling)) == 0.5);
  CHECK(gathered_share(te(Precision::Mxfp8)) == 0.515);
  CHECK(gathered_share(te(Precision::Nvfp4)) == 0.28125);
  Setup eager = te(Precision::Nvfp4);
  eager.stack.quantized_gathers = false;
  CHECK(gathered_share(eager) == 1.0);
}

TEST_CASE("tensor ranks wait for four sums, four gathers, and one of inputs again") {
  struct Case {
    Links links;
    double width;
    Precision precision;
    double forward, backward;
  };
  const Case cases[] = {
      {kGb200, 16384, Precision::Nvfp4, 0.000967806652631579, 0.0010828254315789474},
      {kH100, 8192, Precision::Fp8CurrentScaling, 0.0009664956553846153, 0.0011306862646153846}};
  for (const Case& one : cases) {
    CAPTURE(one.width);
    Setup setup = on(one.links);
    const LinkTimes links(setup);
    Setup counted = test::round_setup();
    counted.precision = one.precision;
    counted.stack.quantized_gathers = true;
    const Transformer model{.hidden = static_cast<std::int64_t>(one.width),
                            .layers = 1,
                            .heads = 64,
                            .kv_heads = 8,
                            .head_dim = 128,
                            .value_dim = 128,
                            .mlp = 4096,
                            .vocabulary = 32000};
    const Division division{.sequence = 8192, .tensor = 4, .sequence_parallel = true};
    const BlockWork work = layer_work(counted, model, division, false);
    const Seconds sum = links.collective(work.tensor_whole, {4, 1}, work.tensor_passes);
    const Seconds gather = links.collective(work.tensor_gathered, {4, 1}, Passes::One);
    const Seconds sums = sum * work.tensor_sums;
    CHECK(seconds(sums + gather * work.tensor_gathers_forward) == near(one.forward));
    CHECK(seconds(sums + gather * work.tensor_gathers_backward) == near(one.backward));
  }
}

TEST_CASE("the last bucket of gradients and the first of weights hide behind nothing") {
  const auto waited = [](double reduced, double gathered, double backward, double forward,
                         double buckets) {
    return seconds(exposed_beside(Seconds(reduced), Seconds(backward), 0.8, 1.0 / buckets) +
                   exposed_beside(Seconds(gathered), Seconds(forward), 0.8, 1.0 / buckets));
  };
  CHECK(waited(0.75, 0.75, 0.5, 0.25, 375.0) == near(0.9));
  CHECK(waited(0.02, 0.02, 0.3, 0.15, 50.0) == near(0.0008));
  CHECK(waited(0.02, 0.02, 0.3, 0.15, 1.0) == near(0.04));
}

TEST_CASE("sinks, heads of multi-token prediction and the fullest chip take longer") {
  Setup setup = test::round_setup();
  const Transformer model{.hidden = 1024,
                          .layers = 2,
                          .heads = 16,
                          .kv_heads = 4,
                          .head_dim = 64,
                          .value_dim = 64,
                          .mlp = 4096,
                          .vocabulary = 32000,
                          .experts = Experts{.count = 8, .used = 2, .mlp = 512}};
  const Division division{.sequence = 2048, .expert = 4};
  const BlockWork plain = layer_work(setup, model, division, true);
  const BlockWork end = last_work(setup, model, division);
  setup.stack.software = {.balance = Balance::Natural, .sinks = Sinks::Part, .mtp = 1};
  const BlockWork other = layer_work(setup, model, division, true);
  // 58 kB for each of 2048 tokens and 16 heads, at half of 1 TB/s.
  const double sinks = 58e3 * 2048.0 * 16.0 / 0.5e12;
  CHECK(other.backward.elementwise > plain.backward.elementwise + Seconds(sinks));
  CHECK(other.dispatched.in_base_units() == near(1.25 * 2.0 * 1024.0 * 2048.0));
  CHECK(plain.dispatched.in_base_units() == near(2.0 * 1024.0 * 2048.0));
  setup.stack.software = {.sinks = Sinks::Part};
  CHECK(seconds(layer_work(setup, model, division, true).backward.elementwise) ==
        near(seconds(plain.backward.elementwise) + sinks));
  setup.stack.software = {.mtp = 1};
  CHECK(seconds(last_work(setup, model, division).forward.products) ==
        near(2.0 * seconds(end.forward.products)));
  // On a GB300: 16,384 tokens and 64 heads, at 0.62 of 8 TB/s.
  setup.chip.memory = BytesPerSecond(8e12);
  setup.chip.elementwise.share.back() = 0.62;
  const Transformer wide{.hidden = 2880,
                         .layers = 2,
                         .heads = 64,
                         .kv_heads = 8,
                         .head_dim = 64,
                         .value_dim = 64,
                         .mlp = 2880,
                         .vocabulary = 32000};
  const auto backward = [&](Sinks kind) {
    setup.stack.software = {.sinks = kind};
    return seconds(layer_work(setup, wide, {.sequence = 16384}, false).backward.elementwise);
  };
  CHECK(backward(Sinks::Part) - backward(Sinks::Fused) == near(0.012261574193548386));
}

TEST_CASE("open switches of experts are those of the level, told ones stay") {
  Setup setup = te();
  setup.stack.open.low = {.graphs = {GraphScope::FullIteration}, .expert_overlap = true};
  setup.stack.open.typical = {.graphs = {GraphScope::Router}, .dispatcher = Dispatcher::HybridEp};
  setup.stack.open.release = {0.8, 1.0, 1.3};
  CHECK(setup.switches(true).replays_router);
  CHECK(setup.switches(true).dispatcher == Dispatcher::HybridEp);
  CHECK(!setup.switches(false).replays_router);
  CHECK(setup.at(memory::Level::Low).switches(true).replays_layers);
  CHECK(setup.at(memory::Level::Low).release(true) == 0.8);
  CHECK(setup.at(memory::Level::Low).release(false) == 1.0);
  CHECK(setup.at(memory::Level::High).scenario.links == 1.3);
  setup.stack.software = {.graphs = {GraphScope::None}, .dispatcher = Dispatcher::DeepEp};
  CHECK(!setup.at(memory::Level::Low).switches(true).replays_layers);
  CHECK(setup.switches(true).dispatcher == Dispatcher::DeepEp);
  CHECK(setup.at(memory::Level::High).release(true) == 1.0);
}

}  // namespace
}  // namespace dfsearch::stack::layers_of_experts
