#include "io/report/report.hpp"

#include <doctest/doctest.h>

#include "io/example_problem.hpp"
#include "io/text/text_table.hpp"

namespace dfsearch {
namespace {

bool has_text(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::string evaluated(const Problem& problem, const Mapping& mapping) {
  const auto verdict = evaluate(problem, mapping);
  return text_of(report_text(Outcome::of(problem, mapping, verdict), "example"));
}

SearchResult found(const Problem& problem, SearchStatus status, double bound_share) {
  SearchResult result;
  result.status = status;
  result.mapping = example_mapping();
  result.cost = std::get<Cost>(evaluate(problem, *result.mapping));
  result.lower_bound = result.cost->objective * bound_share;
  result.gap = 1.0 - bound_share;
  return result;
}

std::size_t longest_line(const std::string& text) {
  std::size_t longest = 0;
  std::size_t begin = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
    longest = std::max(longest, end - begin);
    begin = end + 1;
  }
  return longest;
}

}  // namespace

TEST_CASE("a report names what was asked and every part of the answer") {
  const Problem problem = example_problem();
  const std::string text = evaluated(problem, example_mapping());
  for (const std::string part :
       {"example", "graph: 3 kernels, 3 tensors; 4 layers, sequence 64, global batch 8",
        "4 chips of 1.024 TFLOP/s", "ring of 2 at 1 GB/s, switch of",
        "result        the mapping fits", "tensor 2, pipeline 2, data 1", "micro-batch   2",
        "tile          at most 16 of 64: 4 tiles of 16", "2 layers per stage", "M: A, B", "K: C",
        "all-reduce    C", "SRAM          at most", "price "}) {
    CAPTURE(part);
    CHECK(has_text(text, part));
  }
  CHECK_FALSE(has_text(text, "\nsearch "));
  CHECK_FALSE(has_text(text, "\npower "));  // nothing draws any
  CHECK(longest_line(text) <= kReportWidth);
}

TEST_CASE("partitions keep their numbers, and their cores stand with the kernels") {
  const Problem problem = example_problem();
  const std::string text = evaluated(problem, example_mapping());
  const Cost cost = std::get<Cost>(evaluate(problem, example_mapping()));
  const CoreGrid& grid = cost.cores[2];
  CHECK(
      has_text(text, "C[" + std::to_string(grid.lanes) + "x" + std::to_string(grid.stages) + "]"));
  CHECK(has_text(text, "\n  0 "));
  CHECK_FALSE(has_text(text, "\n  1 "));
  CHECK(has_text(text, "\n  2 "));
}

TEST_CASE("the report says how sure the answer is") {
  const Problem problem = example_problem();
  const auto report = [&](const SearchResult& result) {
    return text_of(report_text(Outcome::of(problem, result), "example"));
  };
  CHECK(has_text(report(found(problem, SearchStatus::Optimal, 1.0)), "optimal, proved: gap 0"));

  // The optimum may be as low as 0.8 of the incumbent, which is then 25 % above.
  CHECK(has_text(report(found(problem, SearchStatus::Optimal, 0.8)),
                 "within the gap that was allowed"));
  SearchResult stopped = found(problem, SearchStatus::Feasible, 0.8);
  stopped.stopped_by = StopReason::Time;
  CHECK(has_text(report(stopped), "stopped by the time limit with a mapping; at most 25 % above"));
  stopped.stopped_by = StopReason::Nodes;
  CHECK(has_text(report(stopped), "stopped by the node limit"));
  stopped.lower_bound = Score{};
  CHECK(has_text(report(stopped), "no lower bound is known yet"));

  SearchResult none;
  none.stopped_by = StopReason::Signal;
  none.lower_bound = Score(2.5);
  CHECK(has_text(report(none),
                 "stopped by a signal before a mapping was found; none can take less than 2.5 s"));
}

TEST_CASE("an infeasible problem is told by how much and what would help") {
  const Problem problem = example_problem();
  SearchResult result;
  result.status = SearchStatus::Infeasible;
  result.infeasible =
      Infeasible{.resource = Resource::Sram, .needed = 3e6, .available = 2e6, .where = "A"};
  const std::string text = text_of(report_text(Outcome::of(problem, result), "example"));
  CHECK(has_text(text, "infeasible, proved: no mapping fits"));
  CHECK(has_text(text, "A needs at least 3 MB, the chip has 2 MB: 1 MB (50 %) too much."));
  CHECK(has_text(text, "larger tensor degree"));
}

TEST_CASE("what was fixed beforehand is told, and what else there is") {
  Problem problem = example_problem();
  problem.sharding = ShardingChoice::LeastBytes;
  SearchResult result;
  result.status = SearchStatus::Infeasible;
  result.infeasible =
      Infeasible{.resource = Resource::Sram, .needed = 3e6, .available = 2e6, .where = "A"};
  result.scope = scope_of(problem, network_choices(problem));
  REQUIRE_FALSE(result.scope.empty());
  const auto report = [&] { return text_of(report_text(Outcome::of(problem, result), "example")); };
  CHECK(has_text(report(),
                 "infeasible, proved for the sharding that communicates least: no mapping fits\n"
                 "scope         sharding: least_bytes beforehand; other shardings "
                 "(search.sharding: joint) were not\n"
                 "              tried\n"));
  result.beyond_scope.emplace();
  result.beyond_scope->status = SearchStatus::Infeasible;
  CHECK(has_text(report(), "with search.sharding: joint nothing fits\n"));
  result.beyond_scope->status = SearchStatus::Optimal;
  result.beyond_scope->cost.emplace();
  result.beyond_scope->cost->objective = result.beyond_scope->lower_bound = Score(2.5);
  CHECK(has_text(report(), "with search.sharding: joint a mapping fits: 2.5 s\n"));
}

TEST_CASE("as published a row-split input of a GEMM that is sharded on outer gets a note") {
  Problem problem = example_problem();
  std::vector<Kernel> kernels = problem.workload.graph.kernels();
  kernels[2].outer = 4;  // heads
  problem.workload.graph = DataflowGraph(kernels, problem.workload.graph.tensors());
  Mapping mapping = example_mapping();
  mapping.sharding = {Loop::M, Loop::M, Loop::Outer};
  CHECK_FALSE(has_text(evaluated(problem, mapping), "\nnote "));
  problem.equations.layout_conversion_bytes = ConversionBytes::Shard;
  CHECK(has_text(evaluated(problem, mapping), "\nnote "));
  mapping.sharding = {Loop::K, Loop::None, Loop::Outer};
  CHECK_FALSE(has_text(evaluated(problem, mapping), "\nnote "));
}

TEST_CASE("long lists are wrapped under themselves") {
  const std::vector<std::string> words(30, "kernel_name");
  const std::string text = wrapped(words, 10, 10);
  CHECK(text.find("\n          kernel_name") != std::string::npos);
  CHECK(longest_line(text + "\n") <= kReportWidth);

  TextTable table({"#", "time", "kernels"});
  table.add({"0", "1 ms"}, words);
  table.add({"10", "12.5 ms"}, {"x"});
  CHECK(table.text().starts_with(" #     time  kernels\n 0     1 ms  kernel_name kernel_name"));
  CHECK(table.text().ends_with("\n10  12.5 ms  x\n"));
}

}  // namespace dfsearch
