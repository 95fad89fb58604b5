#include "engine/calculon/find_execution.hpp"

#include <doctest/doctest.h>

#include "support/calculon_worlds.hpp"

namespace dfsearch::calculon {
namespace {

Task search_of_1t() {
  return {.transformer = test::megatron("1T"),
          .machine = test::calculon_machine('A', 1024),
          .choices = {.maximum_batch = 1024}};
}

TEST_CASE("the space of the 1T model on 1024 A100 without a second memory") {
  Task task = search_of_1t();
  task.choices.offload = Offload{};
  CHECK(count_candidates(task, Deadline()) == 952'512);
  CHECK(count_feasible(task, Deadline()) == 15'073);
  task.choices.offload.reset();
  task.machine.memory.resize(1);
  CHECK(count_candidates(task, Deadline()) == 952'512);
  CHECK(count_feasible(task, Deadline()) == 15'073);
}

TEST_CASE("the space of the 1T model on 1024 A100 with offloading") {
  CHECK(count_candidates(search_of_1t(), Deadline()) == 6'580'992);
  CHECK(count_feasible(search_of_1t(), Deadline()) == 351'612);
}

}  // namespace
}  // namespace dfsearch::calculon
