#include "base/error.hpp"

#include <doctest/doctest.h>

#include <string>
#include <type_traits>
#include <vector>

namespace dfsearch {
namespace {

// A handler for wrong input must never swallow a bug of ours, nor the reverse.
static_assert(!std::is_base_of_v<std::logic_error, InputError>);
static_assert(!std::is_base_of_v<std::runtime_error, InternalError>);

TEST_CASE("an input error keeps its one message") {
  const InputError error("a.yaml:3:5: degree: expected a whole number, got 'x'");
  CHECK(error.messages().size() == 1);
  CHECK(std::string(error.what()) == "a.yaml:3:5: degree: expected a whole number, got 'x'");
}

TEST_CASE("an input error shows all its messages, a line each") {
  const InputError error(std::vector<std::string>{"first", "second", "third"});
  CHECK(error.messages() == std::vector<std::string>{"first", "second", "third"});
  CHECK(std::string(error.what()) == "first\nsecond\nthird");
}

TEST_CASE("an internal error asks for a report") {
  const InternalError error("evaluate gives 3 s, the search 4 s");
  const std::string text = error.what();
  CHECK(text.find("internal error: evaluate gives 3 s, the search 4 s") == 0);
  CHECK(text.find("report") != std::string::npos);
}

TEST_CASE("a failed assertion names the condition and its place") {
  try {
    detail::assertion_failed("tile > 0", "tile.cpp", 12);
  } catch (const InternalError& error) {
    CHECK(std::string(error.what()).find("tile.cpp:12: tile > 0") != std::string::npos);
    return;
  }
  FAIL("assertion_failed returned");
}

TEST_CASE("assertions are evaluated exactly in builds with checks") {
  bool evaluated = false;
  [[maybe_unused]] const auto holds = [&evaluated] { return evaluated = true; };
  DFSEARCH_ASSERT(holds());
#ifdef DFSEARCH_CHECKS
  CHECK(evaluated);
  CHECK_THROWS_AS(DFSEARCH_ASSERT(1 + 1 == 3), InternalError);
#else
  CHECK_FALSE(evaluated);
#endif
}

}  // namespace
}  // namespace dfsearch
