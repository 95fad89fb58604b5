// Loads of ranks of experts: three worked cases of an independent program, and what holds for all.

#include "model/serving/expert_balance.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <initializer_list>

namespace dfsearch {
namespace {

using namespace serving;

TEST_CASE("loads of ranks are those of worked cases") {
  const auto near = [](double value) { return doctest::Approx(value).epsilon(1e-11); };
  CHECK(expert_imbalance(256, 64, 0, 0.5) == near(2.652381899464));
  CHECK(expert_imbalance(256, 72, 32, 0.5) == near(1.025118707588));
  CHECK(expert_imbalance(128, 8, 0, 0.3) == near(1.065070406886));
  CHECK(1.0 + chance_of_ranks(64) / std::sqrt(256.0) == near(1.180253360825));
  CHECK(1.0 + chance_of_ranks(72) / std::sqrt(256.0) == near(1.182788003039));
  CHECK(1.0 + chance_of_ranks(8) / std::sqrt(2048.0) == near(1.045063340206));
}

TEST_CASE("copies never load the fullest rank more than experts that follow each other") {
  for (const std::int64_t count : {8, 60, 128, 384}) {
    for (const std::int64_t ranks : {2, 4, 8, 32}) {
      for (const double exponent : {0.2, 0.5, 1.0}) {
        CAPTURE(count);
        CAPTURE(ranks);
        CAPTURE(exponent);
        const std::int64_t copies = ranks * ((count + 2 * ranks) / ranks) - count;
        if (count % ranks == 0) {
          CHECK(expert_imbalance(count, ranks, 0, 0.0) == doctest::Approx(1.0));
          CHECK(expert_imbalance(count, ranks, copies, exponent) <=
                expert_imbalance(count, ranks, 0, exponent));
        }
        CHECK(expert_imbalance(count, ranks, copies, exponent) >= 1.0);
      }
    }
  }
}

}  // namespace
}  // namespace dfsearch
