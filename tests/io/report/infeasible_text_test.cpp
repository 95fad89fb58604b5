#include "io/report/infeasible_text.hpp"

#include <doctest/doctest.h>

#include "io/example_problem.hpp"

namespace dfsearch {

TEST_CASE("there is a sentence for every reason") {
  const Problem problem = example_problem();
  for (const Resource resource :
       {Resource::Sram, Resource::Memory, Resource::Cores, Resource::Partitions,
        Resource::Precedence, Resource::Phase, Resource::Pin, Resource::Sharding, Resource::Repeat,
        Resource::Batch, Resource::Tile}) {
    const Infeasible reason{
        .resource = resource, .needed = 3.0, .available = 0.0, .where = "somewhere"};
    const std::string text = infeasible_text(problem, reason);
    CAPTURE(text);
    CHECK(text.ends_with("."));
    CHECK(text.find(':') != std::string::npos);
  }
}

TEST_CASE("what would help is told with what is missing and how sure that is") {
  Problem problem = example_problem();
  CHECK(changes_text(problem, {}).empty());
  const FeasibleChange sram{.what = Raised::Sram, .from = 1000, .at_least = 1500, .enough = 1500};
  CHECK(changes_text(problem, {sram}) == "SRAM of 1.5 kB (1500 B) on each chip, 500 B more.");
  const FeasibleChange degree{
      .what = Raised::Degree, .dimension = 1, .from = 2, .at_least = 3, .enough = 5};
  CHECK(changes_text(problem, {sram, degree}) ==
        "SRAM of 1.5 kB (1500 B) on each chip, 500 B more; or degree 5 in place of 2 of network "
        "dimension 1, on 10 chips (perhaps less, but at least 3). Each alone would do.");
}

}  // namespace dfsearch
