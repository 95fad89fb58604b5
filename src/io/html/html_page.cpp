#include "io/html/html_page.hpp"

#include <fmt/format.h>

#include <array>
#include <string>

#include "base/error.hpp"

namespace dfsearch {
namespace {

/// The value of a JSON escape that is longer than two letters.
char32_t code_of(std::string_view escape) {
  return static_cast<char32_t>(std::stoul(std::string(escape.substr(2, 4)), nullptr, 16));
}

/// JSON text that is safe in a script element: without '<' it contains neither "</script" nor
/// "<!--".  In JSON '<' occurs in strings only, where an escape means the same.  Control characters
/// other than ends of lines and tabs are shown as on terminals, `\x1b`.
std::string embedded(const Json& data) {
  const std::string text = json_line(data);
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string_view rest = std::string_view(text).substr(i);
    if (rest[0] == '<') {
      out += "\\u003c";
    } else if (rest[0] != '\\') {
      out += rest[0];
    } else if (rest[1] == 'u' && code_of(rest) < 0xA0) {
      out += fmt::format("\\\\x{:02x}", static_cast<unsigned>(code_of(rest)));
      i += 5;
    } else {
      constexpr std::string_view kLetters = "bfr";
      constexpr std::array kCodes = {0x08, 0x0c, 0x0d};
      const std::size_t letter = kLetters.find(rest[1]);
      out += letter == kLetters.npos ? std::string(rest.substr(0, 2))
                                     : fmt::format("\\\\x{:02x}", kCodes[letter]);
      ++i;
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
