// Counts of published models, from their checkpoints and from Megatron-LM's paper.

#include "graph/workloads/llm/transformer.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "support/published_models.hpp"
#include "support/random_models.hpp"

namespace dfsearch {
namespace {

using test::gpt;
using test::llama;

struct Published {
  const char* name;
  Transformer model;
  std::int64_t sequence;
  std::int64_t parameters;
  std::int64_t active;
  std::int64_t matmul;
  double training;
  double causal;
  double cache;
};

TEST_CASE("six models are as large as published, to the last digit") {
  const std::array models = {
      Published{"GPT-3 175B", gpt(12288, 96, 96, 50257), 2048, 174'604'259'328, 174'604'259'328,
                174'563'733'504, 1'076'373'430'272.0, 1'061'884'993'536.0, 4'718'592.0},
      Published{"Llama-3 8B", test::llama3_8b(), 8192, 8'030'261'248, 8'030'261'248, 7'504'658'432,
                57'912'852'480.0, 51'471'187'968.0, 131'072.0},
      Published{"Llama-3 70B", llama(8192, 80, 64, 28672, 128256), 8192, 70'553'706'496,
                70'553'706'496, 69'501'714'432, 481'434'796'032.0, 449'226'473'472.0, 327'680.0},
      Published{"Llama-3.1 405B", llama(16384, 126, 128, 53248, 128256), 8192, 405'853'388'800,
                405'853'388'800, 403'747'897'344, 2'625'424'588'800.0, 2'523'968'372'736.0,
                516'096.0},
      Published{"Mixtral 8x7B", test::mixtral_8x7b(), 4096, 46'702'792'704, 12'879'925'248,
                12'748'587'008, 82'933'972'992.0, 79'713'533'952.0, 131'072.0},
      Published{"DeepSeek-V3", test::deepseek_v3(), 4096, 671'026'419'200, 37'552'297'472,
                36'624'596'992, 281'152'192'512.0, 250'457'382'912.0, 70'272.0},
  };
  for (const Published& published : models) {
    CAPTURE(published.name);
    const ModelCounts counts = count(published.model, published.sequence, Bytes(2.0));
    CHECK(counts.parameters == published.parameters);
    CHECK(counts.active_parameters == published.active);
    CHECK(counts.matmul_parameters == published.matmul);
    CHECK(counts.training_flop_per_token == Flops(published.training));
    CHECK(counts.causal_training_flop_per_token == Flops(published.causal));
    CHECK(counts.cache_bytes_per_token == Bytes(published.cache));
    CHECK(3.0 * forward_flop_per_token(published.model, published.sequence, false) ==
          counts.training_flop_per_token);
  }
}

TEST_CASE("DeepSeek-V3 uses 36.6 billion parameters beside its embedding") {
  const Transformer model = test::deepseek_v3();
  CHECK(count(model, 4096, Bytes(2.0)).active_parameters - model.vocabulary * model.hidden ==
        36'625'618'432);
}

struct Megatron {
  std::int64_t hidden, heads, layers, parameters, batch, chips;
  double seconds;  // of a step, with selective recomputation
  double utilization;
};

constexpr std::array kMegatron = {
    Megatron{6144, 64, 48, 22'074'273'792, 4, 8, 1.10, 0.4165},
    Megatron{12288, 96, 96, 174'615'846'912, 64, 64, 13.75, 0.5139},
    Megatron{20480, 128, 105, 529'600'819'200, 280, 280, 37.83, 0.5605},
    Megatron{25600, 160, 128, 1'008'038'758'400, 512, 512, 71.49, 0.5627},
};

TEST_CASE("the four models of Megatron-LM are as large as published") {
  for (const Megatron& published : kMegatron) {
    const Transformer model = gpt(published.hidden, published.layers, published.heads, 51200);
    CHECK(count(model, 2048, Bytes(2.0)).parameters == published.parameters);
  }
}

TEST_CASE("their FLOP are those of the published formula, and give the published utilization") {
  for (const Megatron& published : kMegatron) {
    const Transformer model = gpt(published.hidden, published.layers, published.heads, 51200);
    const double h = static_cast<double>(published.hidden);
    const double layers = static_cast<double>(published.layers);
    const double batch = static_cast<double>(published.batch);
    const double s = 2048.0;
    const double step =
        count(model, 2048, Bytes(2.0)).training_flop_per_token.in_base_units() * batch * s;
    CHECK(step == doctest::Approx(72.0 * batch * layers * s * h * h *
                                  (1.0 + s / (6.0 * h) + 51200.0 / (12.0 * layers * h)))
                      .epsilon(1e-14));
    const double peak = static_cast<double>(published.chips) * 312e12;
    // To the digits of the measured times.
    CHECK(std::abs(step / published.seconds / peak - published.utilization) < 5e-5);
  }
}

TEST_CASE("a decoded token of Llama-3 8B reads its weights and its cache") {
  const Transformer model = test::llama3_8b();
  CHECK(test::decode_bytes(model, 8192, 1, Bytes(2.0)) == Bytes(16'083'591'168.0));
  // The weights once, the cache for each sample.
  const Bytes cache = Bytes(131'072.0 * 8192.0);
  CHECK(test::decode_bytes(model, 8192, 5, Bytes(2.0)) == Bytes(16'083'591'168.0) + 4.0 * cache);
}

TEST_CASE("experts are read once each, however many tokens choose them") {
  const Experts experts{.count = 8, .used = 2, .mlp = 1};
  CHECK(touched_experts(experts, 1) == 2.0);
  CHECK(touched_experts(experts, 2) == doctest::Approx(8.0 * (1.0 - 0.75 * 0.75)));
  CHECK(touched_experts(experts, 1000) == doctest::Approx(8.0));
  Transformer model = test::mixtral_8x7b();
  const double one = 3.0 * 4096.0 * 14336.0 * 32.0;  // an expert of every layer
  const double active = static_cast<double>(count(model, 1, Bytes(1.0)).active_parameters);
  const double embedding = 32000.0 * 4096.0;
  CHECK(test::decode_bytes(model, 0, 1, Bytes(1.0)) == Bytes(active - embedding));
  CHECK(test::decode_bytes(model, 0, 2, Bytes(1.0)) == Bytes(active - embedding + 1.5 * one));
}

TEST_CASE("a sliding window bounds what a query sees and what is cached") {
  Transformer model = test::llama3_8b();
  model.window = 4096;
  const double beside = 2.0 * 7'504'658'432.0;
  const double pair = 2.0 * 32.0 * 32.0 * 256.0;  // of a query and a key in all layers
  CHECK(forward_flop_per_token(model, 8192, false) == Flops(beside + pair * 4096.0));
  // The first 4096 queries see 1, 2, ... 4096 keys, all others 4096.
  const double seen = (4096.0 * 4097.0 / 2.0 + 4096.0 * 4096.0) / 8192.0;
  CHECK(forward_flop_per_token(model, 8192, true) == Flops(beside + pair * seen));
  CHECK(test::decode_bytes(model, 8192, 1, Bytes(2.0)) ==
        test::decode_bytes(model, 4096, 1, Bytes(2.0)));
}

TEST_CASE("where layers alternate each sees what its kind sees") {
  // gpt-oss 120B: 36 layers, the second, fourth and so on see all tokens, the others 128.
  Transformer model{.hidden = 2880, .layers = 36, .heads = 64};
  model.kv_heads = 8;
  model.head_dim = model.value_dim = 64;
  model.mlp = 2880;
  model.vocabulary = 201088;
  Transformer all = model;
  model.window = 128;
  model.full_attention_every = 2;
  for (const std::int64_t tokens : {1, 100, 128, 129, 4096}) {
    CAPTURE(tokens);
    double cached = 0.0, pairs = 0.0;
    for (int layer = 0; layer < 36; ++layer) {
      const std::int64_t most = layer % 2 == 1 ? tokens : std::min<std::int64_t>(128, tokens);
      cached += static_cast<double>(most);
      for (std::int64_t query = 1; query <= tokens; ++query) {
        pairs += static_cast<double>(std::min(query, most));
      }
    }
    const Bytes without = test::decode_bytes(all, 0, 1, Bytes(2.0));
    CHECK(test::decode_bytes(model, tokens, 1, Bytes(2.0)) ==
          without + Bytes(cached * 2.0 * 8.0 * 128.0));
    const Flops products =
        Flops(2.0 * static_cast<double>(count(all, 1, Bytes(2.0)).matmul_parameters));
    const Flops found = forward_flop_per_token(model, tokens, true) - products;
    CHECK(found.in_base_units() * static_cast<double>(tokens) ==
          doctest::Approx(pairs * 2.0 * 64.0 * 128.0).epsilon(1e-12));
  }
  CHECK(model.full_layers(0, 36) == 18);
  CHECK(model.full_layers(1, 4) == 2);
}

TEST_CASE("shapes of any size have a count") {
  constexpr std::int64_t kHuge = std::int64_t{1} << 40;
  Transformer model{.hidden = kHuge,
                    .layers = kHuge,
                    .heads = kHuge,
                    .kv_heads = kHuge,
                    .head_dim = kHuge,
                    .value_dim = kHuge,
                    .mlp = kHuge,
                    .vocabulary = kHuge,
                    .experts = Experts{.count = kHuge, .used = kHuge, .mlp = kHuge}};
  CHECK(std::isfinite(parameter_count(model)));
  CHECK(parameter_count(model) > kMostParameters);
}

}  // namespace
}  // namespace dfsearch
