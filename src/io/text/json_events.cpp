// The library reports values without places, so a cursor follows it through the text: between two
// events of the parser there are only blanks, commas and colons, and the end of a token is easily
// found in valid JSON.

#include "io/text/json_events.hpp"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/mark.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

namespace dfsearch {
namespace {

using SaxJson = nlohmann::json;

class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) {}

  /// Where the next token begins.
  YAML::Mark next() {
    while (at_ < text_.size() &&
           std::string_view(" \t\n,:").find(text_[at_]) != std::string::npos) {
      if (text_[at_++] != '\n') continue;
      ++line_;
      line_begin_ = at_;
    }
    YAML::Mark mark;
    mark.pos = static_cast<int>(at_);
    mark.line = line_;
    mark.column = static_cast<int>(at_ - line_begin_);
    return mark;
  }
  void skip_bracket() { ++at_; }
  void skip_string() {
    for (++at_; text_[at_] != '"'; ++at_) at_ += text_[at_] == '\\';
    ++at_;
  }
  std::string_view skip_word() {
    const std::size_t end = std::min(text_.find_first_of(" \t\n,:]}", at_), text_.size());
    const std::string_view word = text_.substr(at_, end - at_);
    at_ = end;
    return word;
  }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t line_begin_ = 0;
  int line_ = 0;
};

class Events final : public nlohmann::json_sax<SaxJson> {
 public:
  Events(std::string_view text, YAML::EventHandler& handler) : cursor_(text), handler_(handler) {}

  bool null() override {
    const YAML::Mark mark = cursor_.next();
    cursor_.skip_word();
    handler_.OnNull(mark, kNoAnchor);
    return true;
  }
  bool boolean(bool /*value*/) override { return word(); }
  bool number_integer(number_integer_t /*value*/) override { return word(); }
  bool number_unsigned(number_unsigned_t /*value*/) override { return word(); }
  bool number_float(number_float_t /*value*/, const string_t& /*text*/) override { return word(); }
  bool string(string_t& value) override {
    const YAML::Mark mark = cursor_.next();
    cursor_.skip_string();
    handler_.OnScalar(mark, quoted_, kNoAnchor, value);
    return true;
  }
  bool binary(binary_t& /*value*/) override { return false; }
  bool key(string_t& value) override { return string(value); }

  bool start_object(std::size_t /*size*/) override {
    const YAML::Mark mark = cursor_.next();
    cursor_.skip_bracket();
    handler_.OnMapStart(mark, plain_, kNoAnchor, YAML::EmitterStyle::Flow);
    return true;
  }
  bool end_object() override {
    cursor_.next();
    cursor_.skip_bracket();
    handler_.OnMapEnd();
    return true;
  }
  bool start_array(std::size_t /*size*/) override {
    const YAML::Mark mark = cursor_.next();
    cursor_.skip_bracket();
    handler_.OnSequenceStart(mark, plain_, kNoAnchor, YAML::EmitterStyle::Flow);
    return true;
  }
  bool end_array() override {
    cursor_.next();
    cursor_.skip_bracket();
    handler_.OnSequenceEnd();
    return true;
  }
  bool parse_error(std::size_t /*position*/, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*error*/) override {
    return false;
  }

 private:
  static constexpr YAML::anchor_t kNoAnchor = 0;

  /// Emits the next token of the text as the value.
  bool word() {
    const YAML::Mark mark = cursor_.next();
    handler_.OnScalar(mark, plain_, kNoAnchor, std::string(cursor_.skip_word()));
    return true;
  }

  const std::string plain_ = "?";
  const std::string quoted_ = "!";
  Cursor cursor_;
  YAML::EventHandler& handler_;
};

bool is_plain(char c) { return c == '\t' || c == '\n' || (c >= 0x20 && c < 0x7f); }

}  // namespace

bool handle_json(const std::string& text, YAML::EventHandler& handler) {
  const std::size_t first = text.find_first_not_of(" \t\n");
  if (first == std::string::npos || (text[first] != '{' && text[first] != '[')) return false;
  if (!std::all_of(text.begin(), text.end(), is_plain)) return false;
  Events events(text, handler);
  return SaxJson::sax_parse(text, &events);
}

}  // namespace dfsearch
