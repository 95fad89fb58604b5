#include "io/lp/lp_text.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <sstream>

namespace dfsearch {
namespace {

/// min 2 T + 0.1 A  with  A + B = 1,  -T + 3 A + B <= -0.5,  A[x,0] binary, B = 1.
LinearModel small_model() {
  LinearModel model;
  model.comments = {"a test", "of two\nlines"};
  model.objective = "time";
  const Affine a = model.add_binary("A[x,0]");
  const Affine b = model.add_fixed("B[x]", 1.0);
  const Affine t = model.add_continuous("T[0]", 2.0);
  model.columns[0].cost = 0.1;
  LinearSum one;
  model.add_row("one[x]", one.add(1.0, a).add(1.0, b), Sense::Equal, 1.0);
  LinearSum load;
  load.add(-1.0, t).add(1.0, a).add(2.0, a).add(1.0, b).add(0.0, b).add(4.0, {.constant = 0.125});
  model.add_row("load[0]", load, Sense::AtMost, 0.0);
  return model;
}

}  // namespace

TEST_CASE("a model as LP, with round brackets") {
  CHECK(lp_text(small_model()) ==
        "\\ a test\n"
        "\\ of two lines\n"
        "Minimize\n"
        " time: + 0.1 A(x,0) + 2 T(0)\n"
        "Subject To\n"
        " one(x): + A(x,0) + B(x) = 1\n"
        " load(0): + 3 A(x,0) + B(x) - T(0) <= -0.5\n"
        "Bounds\n"
        " B(x) = 1\n"
        "Binaries\n"
        " A(x,0)\n"
        "End\n");
}

TEST_CASE("a model as free MPS, integers between markers") {
  CHECK(mps_text(small_model()) ==
        "* a test\n"
        "* of two lines\n"
        "NAME dfsearch FREE\n"
        "ROWS\n"
        " N time\n"
        " E one[x]\n"
        " L load[0]\n"
        "COLUMNS\n"
        " MARKER0 'MARKER' 'INTORG'\n"
        " A[x,0] time 0.1\n"
        " A[x,0] one[x] 1\n"
        " A[x,0] load[0] 3\n"
        " MARKER1 'MARKER' 'INTEND'\n"
        " B[x] one[x] 1\n"
        " B[x] load[0] 1\n"
        " T[0] time 2\n"
        " T[0] load[0] -1\n"
        "RHS\n"
        " RHS one[x] 1\n"
        " RHS load[0] -0.5\n"
        "BOUNDS\n"
        " UP BND A[x,0] 1\n"
        " FX BND B[x] 1\n"
        "ENDATA\n");
}

TEST_CASE("a row without columns holds, or makes the model infeasible") {
  LinearModel model;
  LinearSum three;
  three.add(1.0, {.constant = 3.0});
  model.add_row("fine", three, Sense::AtMost, 3.0);
  CHECK(model.rows.empty());
  model.add_row("wrong", three, Sense::AtLeast, 4.0);
  REQUIRE(model.rows.size() == 1);
  REQUIRE(model.rows[0].terms.size() == 1);
  // A column that is 0 must be 1.
  const auto column = static_cast<std::size_t>(model.rows[0].terms[0].column);
  CHECK(model.columns[column].upper == 0.0);
  CHECK(model.rows[0].sense == Sense::Equal);
  CHECK(model.rows[0].right == 1.0);
}

TEST_CASE("no line of an LP file is long, and no number is cut") {
  LinearModel model;
  LinearSum sum;
  for (int c = 0; c < 200; ++c) {
    sum.add(1.0 / 3.0,
            model.add_binary("A[" + std::string(40, 'k') + "," + std::to_string(c) + "]"));
  }
  model.add_row("all", sum, Sense::AtMost, 1e300);
  std::istringstream lines(lp_text(model));
  std::size_t longest = 0;
  for (std::string line; std::getline(lines, line);) longest = std::max(longest, line.size());
  CHECK(longest <= 100);
  CHECK(lp_text(model).find("0.3333333333333333 A(") != std::string::npos);
}

}  // namespace dfsearch
