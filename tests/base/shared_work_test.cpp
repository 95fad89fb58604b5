#include "base/shared_work.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <stdexcept>
#include <vector>

#include "support/helpers.hpp"

namespace dfsearch {
namespace {

using test::Helpers;

}  // namespace

TEST_CASE("alone a thread does all pieces in their order") {
  SharedWork work;
  CHECK_FALSE(work.help());
  std::vector<std::size_t> done;
  for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{7}}) {
    done.clear();
    work.run(count, [&](std::size_t i) { done.push_back(i); });
    REQUIRE(done.size() == count);
    for (std::size_t i = 0; i < count; ++i) REQUIRE(done[i] == i);
  }
  CHECK_FALSE(work.help());
}

TEST_CASE("with others each piece is done once, and what it wrote is seen") {
  SharedWork work;
  Helpers helpers(work, 3);
  for (std::size_t round = 0; round < 20'000 || helpers.helped() == 0; ++round) {
    const std::size_t count = round % 9;
    std::vector<int> done(count);
    std::atomic<std::size_t> next = 0;
    std::vector<std::size_t> begun(count);
    work.run(count, [&](std::size_t i) {
      begun[i] = next++;
      ++done[i];
    });
    for (const int times : done) REQUIRE(times == 1);
    REQUIRE(next == count);
  }
  CHECK(helpers.helped() > 0);
}

TEST_CASE("what a piece throws is thrown once all that were begun have ended") {
  SharedWork work;
  Helpers helpers(work, 3);
  int thrown = 0;
  for (std::size_t round = 0; round < 5'000; ++round) {
    std::atomic<int> at_it = 0;
    try {
      work.run(8, [&](std::size_t i) {
        ++at_it;
        if (i == round % 11) {
          --at_it;
          throw std::runtime_error("a piece");
        }
        --at_it;
      });
    } catch (const std::runtime_error&) {
      ++thrown;
    }
    REQUIRE(at_it == 0);
  }
  CHECK(thrown == 5'000 / 11 * 8 + 5'000 % 11);
}

}  // namespace dfsearch
