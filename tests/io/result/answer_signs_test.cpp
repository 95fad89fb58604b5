#include "io/result/answer_rows.hpp"

#include <doctest/doctest.h>

#include <limits>

#include "base/error.hpp"

namespace dfsearch {
namespace {

TEST_CASE("a negative number anywhere in an answer is an error with its path") {
  const Json right = {{"objective", 1.5},
                      {"status", "optimal"},
                      {"memory", {{"total", 0}}},
                      {"gains", Json::array({{{"change", -0.07}}})},
                      {"framework", {{"gain", -1e-17}}},
                      {"top", Json::array({{{"gap", 0.0}}, nullptr})}};
  CHECK_NOTHROW(check_signs(right));
  Json wrong = right;
  wrong["top"][0]["gap"] = -1e-300;
  CHECK_THROWS_WITH_AS(check_signs(wrong),
                       doctest::Contains("the answer has a negative number: top.0.gap -1e-300"),
                       InternalError);
  wrong = right;
  wrong["memory"]["total"] = -3;
  CHECK_THROWS_WITH_AS(check_signs(wrong),
                       doctest::Contains("the answer has a negative number: memory.total -3"),
                       InternalError);
}

}  // namespace
}  // namespace dfsearch
