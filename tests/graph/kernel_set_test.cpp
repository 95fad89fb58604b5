// Sets of kernels against std::set, around the sizes where words begin and
// where they leave the object.

#include "graph/kernel_set.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <random>
#include <set>
#include <unordered_set>
#include <utility>
#include <vector>

namespace dfsearch {
namespace {

using Members = std::set<std::size_t>;

void check_same(const KernelSet& set, const Members& members, std::size_t capacity) {
  std::vector<std::size_t> visited;
  set.for_each([&](std::size_t k) { visited.push_back(k); });
  REQUIRE(visited == std::vector<std::size_t>(members.begin(), members.end()));
  for (std::size_t k = 0; k < capacity; ++k) {
    REQUIRE(set.contains(k) == members.contains(k));
  }
  for (std::size_t from = 0; from <= capacity; ++from) {
    const auto next = members.lower_bound(from);
    REQUIRE(set.first_from(from) == (next == members.end() ? set.end() : *next));
  }
  REQUIRE(set.end() >= capacity);
}

KernelSet set_of(const Members& members, std::size_t capacity) {
  KernelSet set(capacity);
  for (const std::size_t k : members) set.insert(k);
  return set;
}

}  // namespace

TEST_CASE("kernel sets hold what was inserted and not erased, at any capacity") {
  for (const std::size_t capacity :
       {0U, 1U, 63U, 64U, 65U, 127U, 128U, 129U, 192U, 193U, 255U, 256U, 257U, 1000U}) {
    CAPTURE(capacity);
    std::mt19937_64 random(capacity);
    KernelSet set(capacity);
    Members members;
    check_same(set, members, capacity);
    if (capacity == 0) continue;
    for (int step = 0; step < 60; ++step) {
      // The ends of the words now and then.
      std::size_t k = random() % capacity;
      if (step % 4 == 0) k = capacity - 1;
      if (step % 4 == 1) k = std::min(capacity - 1, k / 64 * 64 + 63);
      if (random() % 3 == 0) {
        set.erase(k);
        members.erase(k);
      } else {
        set.insert(k);
        members.insert(k);
      }
      check_same(set, members, capacity);
    }
  }
}

TEST_CASE("equality, union, intersection and hash depend on the members alone") {
  for (const std::size_t capacity : {5U, 64U, 128U, 129U, 256U, 257U, 300U}) {
    CAPTURE(capacity);
    std::mt19937_64 random(capacity);
    for (int round = 0; round < 50; ++round) {
      Members a;
      Members b;
      for (int i = 0; i < 6; ++i) {
        a.insert(random() % capacity);
        b.insert(random() % capacity);
      }
      const KernelSet x = set_of(a, capacity);
      const KernelSet y = set_of(b, capacity);
      CHECK((x == y) == (a == b));
      KernelSet both = x;
      both |= y;
      Members all = a;
      all.insert(b.begin(), b.end());
      CHECK(both == set_of(all, capacity));
      CHECK(both.hash() == set_of(all, capacity).hash());
      KernelSet shared = x;
      shared &= y;
      Members in_both;
      std::set_intersection(a.begin(), a.end(), b.begin(), b.end(),
                            std::inserter(in_both, in_both.end()));
      CHECK(shared == set_of(in_both, capacity));

      KernelSet there_and_back = x;
      const std::size_t k = random() % capacity;
      if (!x.contains(k)) {
        there_and_back.insert(k);
        CHECK_FALSE(there_and_back == x);
        there_and_back.erase(k);
      }
      CHECK(there_and_back == x);
    }
  }
}

TEST_CASE("copies are independent, moves take the members along") {
  for (const std::size_t capacity : {100U, 200U}) {
    KernelSet original = set_of({3, 99}, capacity);
    KernelSet copy = original;
    copy.insert(4);
    CHECK_FALSE(original.contains(4));
    const KernelSet moved = std::move(copy);
    check_same(moved, {3, 4, 99}, capacity);
  }
}

TEST_CASE("the hash tells nearly all small sets of a large graph apart") {
  std::unordered_set<std::size_t> hashes;
  std::size_t sets = 0;
  for (std::size_t a = 0; a < 200; ++a) {
    for (std::size_t b = a; b < 200; ++b, ++sets) hashes.insert(set_of({a, b}, 200).hash());
  }
  CHECK(hashes.size() > sets - sets / 100);
}

}  // namespace dfsearch
