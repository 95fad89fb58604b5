#include "io/text/input_messages.hpp"
#include "io/text/quoted_text.hpp"

#include <doctest/doctest.h>

namespace dfsearch {

TEST_CASE("control characters are shown, and lines and tabs of a text of several lines stay") {
  CHECK(escaped("a\x1b[31m\t\r\nb\x7f") == R"(a\x1b[31m\x09\x0d\nb\x7f)");
  CHECK(printable("a\x1b[31m\t\r\nb\x7f") == "a\\x1b[31m\t\\x0d\nb\\x7f");
  // U+009B and U+00E9, and bytes that are no text.
  CHECK(printable("\xc2\x9b \xc3\xa9") == "\\xc2\\x9b \xc3\xa9");
  CHECK(printable("\xff\xc2") == "\\xff\\xc2");
  CHECK(printable("") == "");
}

TEST_CASE("nothing ends a label of dot but its own quote") {
  CHECK(dot_label({"a", "b c"}) == R"("a\nb c")");
  CHECK(dot_label({"a\"];x[\"", "\\"}) == R"("a\"];x[\"\n\\")");
  CHECK(dot_label({"a\nb\x1b"}) == R"("a\\nb\\x1b")");
}

}  // namespace dfsearch
