#include "io/text/quoted_text.hpp"

#include <doctest/doctest.h>

namespace dfsearch {

TEST_CASE("cells are quoted where they must be") {
  CHECK(csv_cell("") == "");
  CHECK(csv_cell("a b") == "a b");
  CHECK(csv_cell("a,b") == R"("a,b")");
  CHECK(csv_cell("a\"b") == R"("a""b")");
  CHECK(csv_cell("a\nb") == "\"a\nb\"");
  CHECK(csv_cell("a\rb") == "\"a\rb\"");
}

TEST_CASE("what a spreadsheet would run is marked as a text, numbers are not") {
  for (const char* number : {"-1", "+1", "-2.5e3", "1", "+0.25"}) CHECK(csv_cell(number) == number);
  for (const std::string formula : {"=1+1", "+1+1", "-1+1", "@SUM(1)", "-", "+", "=", "\t=1",
                                    "\r=1", "\n=1", "--1", "++1", "-1 GB",
                                    "\xef\xbc\x9d"
                                    "1"}) {
    CAPTURE(formula);
    CHECK(csv_cell(formula) == "\"'" + formula + "\"");
  }
  CHECK(csv_cell("=\"a\"") == R"("'=""a""")");
}

}  // namespace dfsearch
