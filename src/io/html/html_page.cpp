#include "io/html/html_page.hpp"

#include "base/error.hpp"
#include "io/html/page_assets.hpp"

namespace dfsearch {
namespace {

/// As it may stand in a script element: without '<' there is neither "</script" nor "<!--".
/// In JSON '<' stands in strings only, where an escape means the same.
std::string embedded(const Json& data) {
  std::string out;
  for (const char c : json_line(data)) {
    if (c == '<') {
      out += "\\u003c";
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

std::string html_page(std::string_view scripts, const Json& data) {
  std::string page;
  std::string_view frame = page_assets::frame();
  const auto fill = [&](std::string_view mark, std::string_view text) {
    const std::size_t at = frame.find(mark);
    if (at == frame.npos) throw InternalError("page.html has lost a mark");
    page += frame.substr(0, at);
    page += text;
    frame.remove_prefix(at + mark.size());
  };
  fill("@css@", page_assets::style());
  fill("@data@", embedded(data));
  fill("@library@", page_assets::library());
  fill("@common@", page_assets::common());
  fill("@scripts@", scripts);
  page += frame;
  return page;
}

}  // namespace dfsearch
