// Waits against textbook values and a queue that is played.

#include "model/serving/requests.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace dfsearch {
namespace {

using namespace serving;

TEST_CASE("so many arrivals wait as Erlang's tables say") {
  CHECK(waiting_share(1, 0.3) == doctest::Approx(0.3).epsilon(1e-12));
  CHECK(waiting_share(2, 0.5) == doctest::Approx(1.0 / 3.0).epsilon(1e-12));
  // a = 8 on 10 servers: sums of 8^k/k! by hand.
  double sum = 0.0, term = 1.0;
  for (int k = 0; k < 10; term *= 8.0 / ++k) sum += term;
  CHECK(waiting_share(10, 0.8) == doctest::Approx(term / 0.2 / (sum + term / 0.2)).epsilon(1e-12));
  CHECK(waiting_share(3, 1.0) == 1.0);
  CHECK(std::isinf(wait_of_99(3, 1.0, 1.0, 0.0)));
}

/// The wait of 99 in 100 of many arrivals at random before servers with these services.
template <class Service>
double played(int servers, double load, const Service& service) {
  std::mt19937_64 random(7);
  std::exponential_distribution<double> gap(load * servers);
  std::vector<double> free_at(static_cast<std::size_t>(servers)), waits;
  double now = 0.0;
  for (int i = 0; i < 400'000; ++i) {
    now += gap(random);
    const auto next = std::min_element(free_at.begin(), free_at.end());
    waits.push_back(std::max(*next - now, 0.0));
    *next = std::max(*next, now) + service(random);
  }
  const auto place = waits.begin() + static_cast<std::ptrdiff_t>(waits.size() * 99 / 100);
  std::nth_element(waits.begin(), place, waits.end());
  return *place;
}

TEST_CASE("the wait of 99 in 100 is that of a queue that is played") {
  const auto fixed = [](auto&) { return 1.0; };
  const auto any = [](auto& random) { return std::exponential_distribution<double>(1.0)(random); };
  for (const int servers : {1, 2, 5}) {
    CAPTURE(servers);
    CHECK(wait_of_99(servers, 0.8, 1.0, 1.0) ==
          doctest::Approx(played(servers, 0.8, any)).epsilon(0.05));
    CHECK(wait_of_99(servers, 0.8, 1.0, 0.0) ==
          doctest::Approx(played(servers, 0.8, fixed)).epsilon(0.15));
  }
}

}  // namespace
}  // namespace dfsearch
