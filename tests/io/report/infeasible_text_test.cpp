#include "io/report/report.hpp"

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

TEST_CASE("no advice is given against what the config says") {
  Problem problem = example_problem();  // tensor 2, pipeline 2, a micro-batch of 2
  const Infeasible weights{
      .resource = Resource::Memory, .needed = 3e9, .available = 1e9, .where = "weights"};
  const Infeasible all{.resource = Resource::Memory,
                       .needed = 3e9,
                       .available = 1e9,
                       .where = "weights and activations"};
  const auto ends = [&](const Infeasible& reason, const char* advice) {
    const std::string text = infeasible_text(problem, reason);
    CAPTURE(text);
    CHECK(text.ends_with(advice));
  };
  ends(weights,
       "too much. More memory, a larger pipeline degree or a larger tensor degree would help.");
  ends(all,
       "too much. More memory, a larger pipeline degree, a larger tensor degree or a smaller "
       "micro-batch would help.");
  problem.workload.micro_batch = 1;
  problem.system.network[1].strategy = Strategy::Data;
  ends(all, "too much. More memory or a larger tensor degree would help.");
  problem.system.network[0].strategy = Strategy::Data;
  ends(all, "too much. More memory would help.");
  const Infeasible sram{.resource = Resource::Sram, .needed = 3e6, .available = 1e6, .where = "A"};
  problem.equations.lone_kernels = LoneKernels::Whole;
  ends(sram, "too much. More SRAM or a smaller tile would help.");
  problem.equations.lone_kernels = LoneKernels::Streamed;
  ends(sram, "or kernels one by one (execution.style=kernel_by_kernel) would help.");
  problem.equations.lone_kernels = LoneKernels::Whole;
  problem.system.network[0].strategy.reset();
  ends(sram, "too much. More SRAM, a smaller tile or a larger tensor degree would help.");
  problem.parallelism[static_cast<std::size_t>(Strategy::Tensor)].values = {2};
  ends(sram, "too much. More SRAM or a smaller tile would help.");
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
        "dimension 1, on 10 chips (perhaps less, but at least 3). Each of these alone is enough.");
}

}  // namespace dfsearch
