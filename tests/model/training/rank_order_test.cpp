// Against ranks that are numbered and placed one by one.

#include "model/training/framework.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <random>
#include <set>
#include <vector>

namespace dfsearch::training {
namespace {

/// The place of each role of ranks in this order, in dimensions of the given sizes.
std::vector<Division> place(const Degrees& degrees, RankOrder order,
                            const std::vector<std::int64_t>& dimensions) {
  std::vector<Division> network(dimensions.size());
  std::int64_t step = 1;
  for (const Role role : order) {
    std::vector<std::set<std::int64_t>> met(dimensions.size());
    for (std::int64_t digit = 0; digit < degrees[role]; ++digit) {
      std::int64_t chip = digit * step;
      for (std::size_t d = 0; d < dimensions.size(); ++d) {
        met[d].insert(chip % dimensions[d]);
        chip /= dimensions[d];
      }
    }
    for (std::size_t d = 0; d < dimensions.size(); ++d) {
      network[d][role] = static_cast<std::int64_t>(met[d].size());
    }
    step *= degrees[role];
  }
  return network;
}

TEST_CASE("ranks are numbered so if and only if they come to lie so one by one") {
  std::mt19937_64 draws(1);
  const auto below = [&](std::uint64_t n) { return draws() % n; };
  int so = 0, not_so = 0, inside = 0;
  for (int world = 0; world < 20000; ++world) {
    CAPTURE(world);
    // Some chips of roles in each dimension, which are all that there are.
    std::vector<Division> network(1 + below(3));
    std::vector<std::int64_t> dimensions;
    Degrees degrees;
    for (Division& dimension : network) {
      dimensions.push_back(1);
      for (int draw = 0; draw < 3; ++draw) {
        const Role role = kRoles[below(kRoles.size())];
        const std::int64_t chips = below(4) == 0 ? 3 : 1 + static_cast<std::int64_t>(below(2));
        dimension[role] *= chips;
        degrees[role] *= chips;
        dimensions.back() *= chips;
      }
    }
    for (const RankOrder order : {kUsualOrder, kStagesInside}) {
      // Where a role ends within a dimension that it does not divide, no plan has it so.
      const bool expected = place(degrees, order, dimensions) == network;
      CHECK(is_numbered_so(network, order) == expected);
      (expected ? so : not_so)++;
    }
    const bool usual = is_numbered_so(network, kUsualOrder);
    const bool other = is_numbered_so(network, kStagesInside);
    const bool plain = degrees[Role::Context] == 1 && degrees[Role::Expert] == 1;
    const TensorLayout kept = TensorLayout::LeastKept, whole = TensorLayout::WholeExperts;
    CHECK(can_number(Framework::Torchtitan, network, kept) == usual);
    CHECK(can_number(Framework::Megatron, network, kept) == (usual || (other && plain)));
    CHECK(can_number(Framework::Megatron, network, whole) ==
          (usual || (other && plain && degrees[Role::Tensor] == 1)));
    inside += !usual && can_number(Framework::Megatron, network, kept);
  }
  CHECK(so > 1000);
  CHECK(not_so > 1000);
  CHECK(inside > 100);
}

TEST_CASE("whoever places the chips of a mesh numbers them") {
  std::vector<Division> network(1);
  network[0][Role::Pipeline] = 2;
  network[0][Role::Tensor] = 4;
  network[0].order = {Role::Pipeline, Role::Tensor};
  CHECK(is_numbered_so(network, kUsualOrder));
}

}  // namespace
}  // namespace dfsearch::training
