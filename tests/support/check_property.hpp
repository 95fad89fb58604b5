#pragma once
// Properties of rapidcheck as cases of doctest.

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cstdint>
#include <cstdlib>
#include <sstream>

namespace dfsearch::test {

/// Tries the property on `cases` random inputs, the same ones every time: a test of the suite
/// is no lottery.  RC_PARAMS="seed=7 max_success=10000" in the environment asks for others.  A
/// failure shows the least input that rapidcheck can make of the one it met.
template <class Property>
void check_property(const Property& property, int cases, std::uint64_t seed = 1) {
  rc::detail::TestParams params;
  params.seed = seed;
  params.maxSuccess = cases;
  if (std::getenv("RC_PARAMS") != nullptr) params = rc::detail::configuration().testParams;
  const auto result = rc::detail::checkTestable(property, rc::detail::TestMetadata{}, params);
  std::ostringstream text;
  text << "seed " << params.seed << '\n';
  rc::detail::printResultMessage(result, text);
  INFO(text.str());
  CHECK(result.template is<rc::detail::SuccessResult>());
}

}  // namespace dfsearch::test
