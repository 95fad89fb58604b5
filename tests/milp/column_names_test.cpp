#include "milp/column_names.hpp"

#include <doctest/doctest.h>

#include <set>

namespace dfsearch {
namespace {

DataflowGraph graph_of(const std::vector<std::string>& names,
                       const std::vector<std::pair<std::size_t, std::size_t>>& pairs) {
  std::vector<Kernel> kernels;
  for (const std::string& name : names) kernels.push_back({.name = name, .m = 2, .n = 2});
  std::vector<Tensor> tensors;
  for (const auto& [from, to] : pairs) {
    tensors.push_back({.from = KernelId(from), .to = KernelId(to)});
  }
  return {std::move(kernels), std::move(tensors)};
}

}  // namespace

TEST_CASE("plain names stay, others lose what solvers refuse, none is lost") {
  const DataflowGraph graph =
      graph_of({"Q", "a b", "a_b", "a-b", "a,b", "x[1]", std::string(60, 'k'), std::string(61, 'k'),
                "\xc3\xa9", "a_b~2"},
               {});
  const MilpNames names(graph);
  CHECK(names.of(KernelId(0)) == "Q");
  CHECK(names.of(KernelId(1)) == "a_b~2");
  CHECK(names.of(KernelId(2)) == "a_b");
  CHECK(names.of(KernelId(3)) == "a_b~3");
  CHECK(names.of(KernelId(5)) == "x_1_");
  CHECK(names.of(KernelId(6)) == std::string(40, 'k'));
  std::set<std::string> all;
  for (std::size_t k = 0; k < graph.kernel_count(); ++k) {
    all.insert(names.of(KernelId(k)));
    CHECK(names.kernel(names.of(KernelId(k))) == KernelId(k));
  }
  CHECK(all.size() == graph.kernel_count());
  CHECK_FALSE(names.kernel("a-b").has_value());
}

TEST_CASE("tensors are named by their ends, several between two kernels apart") {
  const DataflowGraph graph = graph_of({"u", "v", "w"}, {{0, 1}, {1, 2}, {0, 1}, {0, 2}});
  const MilpNames names(graph);
  CHECK(names.of(TensorId(0)) == "u,v");
  CHECK(names.of(TensorId(1)) == "v,w");
  CHECK(names.of(TensorId(2)) == "u,v~~2");
  CHECK(names.of(TensorId(3)) == "u,w");
}

TEST_CASE("names of columns are read in both kinds of brackets") {
  for (const char* text : {"Y[Q,4x2,11]", "Y(Q,4x2,11)"}) {
    const auto name = parse_milp_name(text);
    REQUIRE(name.has_value());
    CHECK(name->symbol == "Y");
    REQUIRE(name->indices.size() == 3);
    CHECK(name->indices[0] == "Q");
    CHECK(name->indices[1] == "4x2");
    CHECK(parse_index(name->indices[2]) == 11);
  }
  for (const char* text : {"A", "A[Q,2)", "[Q]", "(MINimum)", "A]Q[", "A["}) {
    CAPTURE(text);
    CHECK_FALSE(parse_milp_name(text).has_value());
  }
  CHECK_FALSE(parse_index("2x").has_value());
  CHECK_FALSE(parse_index("").has_value());
}

}  // namespace dfsearch
