// Loads of ranks of experts: three worked cases of an independent program, and what holds for all.

#include "model/serving/expert_balance.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <numeric>
#include <vector>

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

/// Loads of copies: each goes to the expert with the most load of a copy, found anew each time.
std::vector<double> loads_of_copies(std::int64_t count, std::int64_t copies, double exponent) {
  std::vector<double> load;
  for (std::int64_t k = 1; k <= count; ++k) {
    load.push_back(1.0 / std::pow(static_cast<double>(k), exponent));
  }
  std::vector<double> slots(load.size(), 1.0);
  for (; copies > 0; --copies) {
    std::size_t fullest = 0;
    for (std::size_t k = 1; k < load.size(); ++k) {
      if (load[k] / slots[k] > load[fullest] / slots[fullest]) fullest = k;
    }
    ++slots[fullest];
  }
  std::vector<double> parts;
  for (std::size_t k = 0; k < load.size(); ++k) {
    for (double slot = 0.0; slot < slots[k]; ++slot) parts.push_back(load[k] / slots[k]);
  }
  return parts;
}

/// The least load of the fullest rank of all ways to place the copies from `next` on.
double best_placement(const std::vector<double>& parts, std::size_t next, std::size_t room,
                      std::vector<double>& of_rank, std::vector<std::size_t>& held) {
  if (next == parts.size()) return *std::max_element(of_rank.begin(), of_rank.end());
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t rank = 0; rank < of_rank.size(); ++rank) {
    if (held[rank] == room) continue;
    ++held[rank];
    of_rank[rank] += parts[next];
    least = std::min(least, best_placement(parts, next + 1, room, of_rank, held));
    of_rank[rank] -= parts[next];
    --held[rank];
    if (held[rank] == 0) break;  // ranks without any are alike
  }
  return least;
}

TEST_CASE("copies and their places are those of a slow search, and no placement beats the best") {
  for (const std::int64_t count : {3, 5, 6}) {
    for (const std::int64_t ranks : {2, 3}) {
      for (const double exponent : {0.0, 0.3, 0.7, 1.5}) {
        CAPTURE(count);
        CAPTURE(ranks);
        CAPTURE(exponent);
        const std::int64_t copies = ranks * (count / ranks + 1) - count;
        std::vector<double> parts = loads_of_copies(count, copies, exponent);
        const double mean =
            std::accumulate(parts.begin(), parts.end(), 0.0) / static_cast<double>(ranks);
        const std::size_t room = parts.size() / static_cast<std::size_t>(ranks);
        // By falling load, each to the least loaded rank with room.
        std::sort(parts.begin(), parts.end(), std::greater<>());
        std::vector<double> of_rank(static_cast<std::size_t>(ranks));
        std::vector<std::size_t> held(of_rank.size());
        for (const double part : parts) {
          std::size_t to = of_rank.size();
          for (std::size_t rank = 0; rank < of_rank.size(); ++rank) {
            const bool is_less = to == of_rank.size() || of_rank[rank] < of_rank[to];
            if (held[rank] < room && is_less) to = rank;
          }
          of_rank[to] += part;
          ++held[to];
        }
        const double fullest = *std::max_element(of_rank.begin(), of_rank.end());
        const double found = expert_imbalance(count, ranks, copies, exponent);
        CHECK(found == doctest::Approx(std::max(fullest / mean, 1.0)).epsilon(1e-12));
        std::fill(of_rank.begin(), of_rank.end(), 0.0);
        std::fill(held.begin(), held.end(), 0);
        const double best = best_placement(parts, 0, room, of_rank, held) / mean;
        CHECK(found >= best * (1.0 - 1e-12));
        CHECK(found <= 4.0 / 3.0 * best);
      }
    }
  }
}

}  // namespace
}  // namespace dfsearch
