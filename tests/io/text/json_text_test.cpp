#include "io/text/json_text.hpp"

#include <doctest/doctest.h>

#include <limits>

namespace dfsearch {

TEST_CASE("doubles are the shortest text that reads back") {
  CHECK(json_line(0.1) == "0.1");
  CHECK(json_line(4096.0) == "4096");
  CHECK(json_line(1e300) == "1e+300");
  CHECK(json_line(5e-324) == "5e-324");
  for (const double value :
       {1.0 / 3.0, 112.70826754845002, 9007199254740993.0, 2.2250738585072014e-308}) {
    CHECK(Json::parse(json_line(value)).get<double>() == value);
  }
}

TEST_CASE("what JSON cannot say is null") {
  CHECK(json_number(std::numeric_limits<double>::infinity()).is_null());
  CHECK(json_number(std::numeric_limits<double>::quiet_NaN()).is_null());
  CHECK(json_line(Json{{"x", std::numeric_limits<double>::infinity()}}) == R"({"x": null})");
}

TEST_CASE("control characters are escaped, those that JSON allows as well") {
  const std::string text = "\x01\x1b\x7f\xc2\x80\xc2\x9b\xc2\xa0\xc3\xa9";
  CHECK(json_string(text) == "\"\\u0001\\u001b\\u007f\\u0080\\u009b\xc2\xa0\xc3\xa9\"");
  CHECK(Json::parse(json_string(text)) == text);
}

TEST_CASE("names are escaped, and bytes that are no text replaced") {
  CHECK(json_string("a\"b\\c\n") == R"("a\"b\\c\n")");
  CHECK(json_string("\xff") == "\"\xef\xbf\xbd\"");
}

TEST_CASE("short values stay on one line, long ones are broken within 100 columns") {
  Json names = Json::array();
  for (int i = 0; i < 60; ++i) names.push_back("kernel_" + std::to_string(i));
  const Json value = {{"short", {{"degree", 8}}}, {"names", names}, {"empty", Json::array()}};
  const std::string text = json_text(value);
  CHECK(Json::parse(text) == value);
  CHECK(text.find("\n  \"short\": {\"degree\": 8},\n") != std::string::npos);
  CHECK(text.find("\"empty\": []") != std::string::npos);
  std::size_t begin = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
    CHECK(end - begin <= 100);
    begin = end + 1;
  }
  CHECK(begin == text.size());
}

}  // namespace dfsearch
