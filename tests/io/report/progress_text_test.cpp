#include "io/report/report_words.hpp"

#include <doctest/doctest.h>

#include "io/example_problem.hpp"

namespace dfsearch {

TEST_CASE("lines stand under their header") {
  const Problem problem = example_problem();
  const std::string header = progress_header();
  Progress progress{.time = Seconds(12.34), .nodes = 1234567, .open = 89};
  const std::string without = progress_line(progress, scale_of(problem));
  CHECK(without.size() == header.size());
  CHECK(without.find("12.3 s") != std::string::npos);
  CHECK(without.find('%') == std::string::npos);

  progress.incumbent = Score(2.0);
  progress.lower_bound = Score(1.5);
  progress.found_by = 'T';
  const std::string with = progress_line(progress, scale_of(problem));
  CHECK(with.size() == header.size());
  CHECK(with.ends_with("25.00% T"));
  for (const char* word : {"time", "nodes", "open", "incumbent", "util", "lower bound", "gap"}) {
    const std::size_t end = header.find(word) + std::string(word).size();
    CHECK(with[end - 1] != ' ');
    CHECK(with[end] == ' ');
  }
}

TEST_CASE("huge counts do not move the columns") {
  const Problem problem = example_problem();
  const Progress progress{.time = Seconds(1e6), .nodes = 123456789012345, .open = 98765432109876};
  CHECK(progress_line(progress, scale_of(problem)).size() == progress_header().size());
}

}  // namespace dfsearch
