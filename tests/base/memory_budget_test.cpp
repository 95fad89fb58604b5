#include "base/memory_budget.hpp"

#include <doctest/doctest.h>

#include <utility>
#include <vector>

namespace dfsearch {
namespace {

TEST_CASE("a budget is tight from three quarters of its limit on") {
  MemoryBudget budget(Bytes(1000.0));
  budget.add(700);
  CHECK_FALSE(budget.is_tight());
  CHECK_FALSE(budget.is_tight(49));
  CHECK(budget.is_tight(50));
  budget.add(50);
  CHECK(budget.is_tight());
  budget.remove(600);
  CHECK_FALSE(budget.is_tight());
  CHECK(budget.used() == Bytes(150.0));
  CHECK(budget.most() == Bytes(750.0));
  CHECK_FALSE(MemoryBudget().is_tight(~std::size_t{0}));
}

TEST_CASE("a charge lasts as long as what it is charged for") {
  MemoryBudget budget;
  {
    MemoryCharge first(&budget, 100);
    CHECK(budget.used() == Bytes(100.0));
    MemoryCharge moved = std::move(first);
    CHECK(budget.used() == Bytes(100.0));
    const MemoryCharge copy = moved;
    CHECK(budget.used() == Bytes(200.0));
    moved = MemoryCharge(&budget, 7);
    CHECK(budget.used() == Bytes(107.0));
    std::vector<MemoryCharge> many(3);
    many.push_back(copy);
    CHECK(budget.used() == Bytes(207.0));
  }
  CHECK(budget.used() == Bytes(0.0));
  CHECK(budget.most() == Bytes(207.0));
  const MemoryCharge none(nullptr, 100);
}

}  // namespace
}  // namespace dfsearch
