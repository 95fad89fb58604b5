#include "io/text/yaml_tree.hpp"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <sstream>
#include <utility>

#include "base/error.hpp"
#include "io/text/files.hpp"
#include "io/text/json_events.hpp"

namespace dfsearch {
namespace {

constexpr std::size_t kDeepestYaml = 100;
constexpr std::string_view kTooDeep = "nested too deeply, expected at most 100 levels";

/// Whether the quote that `text` starts with has an end; true without a quote.
bool is_closed(std::string_view text) {
  const char quote = text.empty() ? '\0' : text[0];
  if (quote != '"' && quote != '\'') return true;
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (quote == '"' && text[i] == '\\') {
      ++i;
    } else if (text[i] == quote) {
      // Two single quotes stand for one.
      if (quote == '"' || i + 1 >= text.size() || text[i + 1] != quote) return true;
      ++i;
    }
  }
  return false;
}

/// Builds the tree; refuses deep nesting on the way down, so that the recursion of the parser and
/// of later readers cannot exhaust the stack.
class TreeBuilder final : public YAML::EventHandler {
 public:
  TreeBuilder(std::string source, bool has_lines)
      : source_(std::make_shared<const std::string>(std::move(source))), has_lines_(has_lines) {
    root_.place = {.source = source_};  // place of an empty text
    if (has_lines) root_.place.line = root_.place.column = 1;
  }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ > 1) {
      stop(mark, "a second document starts here, expected the end of the text");
    }
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t /*anchor*/) override {
    YamlNode node;
    node.place = at(mark);
    add(std::move(node));
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t /*anchor*/) override {
    stop(mark, "an alias (*name) is not supported, expected the value itself");
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t /*anchor*/,
                const std::string& value) override {
    refuse_tag(mark, tag);
    if (tag == "!") last_quoted_ = mark;
    YamlNode node;
    node.type = YamlNode::Type::Scalar;
    node.place = at(mark);
    node.scalar = value;
    add(std::move(node));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t /*anchor*/,
                       YAML::EmitterStyle::value /*style*/) override {
    open(mark, tag, YamlNode::Type::Sequence);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t /*anchor*/,
                  YAML::EmitterStyle::value /*style*/) override {
    open(mark, tag, YamlNode::Type::Map);
  }
  void OnMapEnd() override {
    report_duplicates(open_.back().node);
    close();
  }

  /// Refuses a quote without an end, which yaml-cpp accepts at the end of the file.
  void check_last_quote(const std::string& text) {
    if (last_quoted_.is_null()) return;
    if (!is_closed(std::string_view(text).substr(static_cast<std::size_t>(last_quoted_.pos)))) {
      stop(last_quoted_, "YAML: the quote is never closed");
    }
  }

  [[nodiscard]] const InputMessages& messages() const { return messages_; }
  [[nodiscard]] YamlNode root() && { return std::move(root_); }

  [[noreturn]] void stop(const YAML::Mark& mark, std::string_view what) {
    messages_.add(at(mark), "", what);
    messages_.throw_if_any();
    throw InternalError("an input message was lost");
  }

 private:
  struct Open {
    YamlNode node;
    std::optional<YamlEntry> pending;  ///< a key of a map whose value comes next
  };

  Place at(const YAML::Mark& mark) const {
    if (!has_lines_ || mark.is_null()) return {.source = source_};
    return {.source = source_, .line = mark.line + 1, .column = mark.column + 1};
  }

  void refuse_tag(const YAML::Mark& mark, const std::string& tag) {
    // "?" is a plain scalar or collection, "!" a quoted scalar.
    if (tag.empty() || tag == "?" || tag == "!") return;
    stop(mark, "a tag (!name) is not supported");
  }

  void open(const YAML::Mark& mark, const std::string& tag, YamlNode::Type type) {
    refuse_tag(mark, tag);
    if (open_.size() >= kDeepestYaml) {
      stop(mark, kTooDeep);
    }
    Open opened;
    opened.node.type = type;
    opened.node.place = at(mark);
    open_.push_back(std::move(opened));
  }

  void close() {
    YamlNode node = std::move(open_.back().node);
    open_.pop_back();
    add(std::move(node));
  }

  void add(YamlNode node) {
    if (open_.empty()) {
      root_ = std::move(node);
      return;
    }
    Open& parent = open_.back();
    if (parent.node.type == YamlNode::Type::Sequence) {
      parent.node.items.push_back(std::move(node));
    } else if (parent.pending) {
      // The parser gives an empty value the place of the next token.
      if (node.type == YamlNode::Type::Null) node.place = parent.pending->place;
      parent.pending->value = std::move(node);
      parent.node.entries.push_back(std::move(*parent.pending));
      parent.pending.reset();
    } else {
      if (node.type != YamlNode::Type::Scalar || node.scalar.empty()) {
        messages_.add(node.place, "", "expected a word as key, got " + node.description());
      }
      parent.pending = YamlEntry{.key = node.scalar, .place = node.place, .value = {}};
    }
  }

  void report_duplicates(const YamlNode& map) {
    std::vector<std::size_t> order(map.entries.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return map.entries[a].key < map.entries[b].key;
    });
    for (std::size_t i = 1; i < order.size(); ++i) {
      const YamlEntry& first = map.entries[order[i - 1]];
      const YamlEntry& second = map.entries[order[i]];
      if (first.key.empty() || first.key != second.key) continue;
      const std::string earlier =
          has_lines_ ? fmt::format(", first in line {}", first.place.line) : std::string();
      messages_.add(second.place, "",
                    fmt::format("duplicate key {}{}", in_quotes(second.key), earlier));
    }
  }

  std::shared_ptr<const std::string> source_;
  bool has_lines_;
  int documents_ = 0;
  YAML::Mark last_quoted_ = YAML::Mark::null_mark();
  std::vector<Open> open_;
  YamlNode root_;
  InputMessages messages_;
};

/// The length of the UTF-8 sequence at the front of `text`, or 0 if it is none
/// or a control character other than tab and line ends.
std::size_t character_length(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  const bool blank = text[0] == '\t' || text[0] == '\n' || text[0] == '\r';
  if ((first < 0x20 && !blank) || first == 0x7f) return 0;
  return utf8_length(text);
}

/// Refuses texts that yaml-cpp cannot handle: it reads the control character 4 as the end of the
/// text, guesses an encoding from the first bytes, and keeps the tokens of a whole bracket, 240
/// bytes each, until it knows that the bracket is no key.  Brackets are counted everywhere, quotes
/// and comments included, so the limit is far above the limit of the tree.
void check_is_text(std::string_view text, const std::string& source, bool has_lines) {
  constexpr int kMostOpenBrackets = 10'000;
  Place place{.source = std::make_shared<const std::string>(source), .line = 1, .column = 1};
  const auto refuse = [&](std::string_view what) {
    if (!has_lines) place.line = place.column = 0;
    InputMessages messages;
    messages.add(place, "", what);
    messages.throw_if_any();
  };
  int open_brackets = 0;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = character_length(text.substr(i));
    if (length == 0) {
      refuse(fmt::format("expected UTF-8 text, got the byte 0x{:02x}",
                         static_cast<unsigned char>(text[i])));
    }
    if (text[i] == '[' || text[i] == '{') ++open_brackets;
    if (text[i] == ']' || text[i] == '}') open_brackets = std::max(0, open_brackets - 1);
    if (open_brackets > kMostOpenBrackets) refuse(kTooDeep);
    if (text[i] == '\n') {
      ++place.line;
      place.column = 1;
    } else {
      ++place.column;
    }
    i += length;
  }
}

}  // namespace

const YamlEntry* YamlNode::find(std::string_view key) const {
  const auto found = std::find_if(entries.begin(), entries.end(),
                                  [&](const YamlEntry& entry) { return entry.key == key; });
  return found == entries.end() ? nullptr : &*found;
}

YamlEntry* YamlNode::find(std::string_view key) {
  const auto found = std::find_if(entries.begin(), entries.end(),
                                  [&](const YamlEntry& entry) { return entry.key == key; });
  return found == entries.end() ? nullptr : &*found;
}

std::string YamlNode::description() const {
  switch (type) {
    case Type::Null:
      return "nothing";
    case Type::Scalar:
      return in_quotes(scalar);
    case Type::Sequence:
      return "a list";
    case Type::Map:
      return "a map";
  }
  return {};
}

namespace {

/// Whether a line (counted from 0) begins with a tab, which yaml-cpp reads as text.
bool is_indented_by_tab(std::string_view text, int line) {
  for (; line > 0; --line) text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  return text.substr(0, text.find_first_not_of(" \t")).find('\t') != std::string_view::npos;
}

}  // namespace

YamlNode parse_yaml(const std::string& given, const std::string& source, bool has_lines) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  const std::string text = given.substr(given.starts_with(kByteOrderMark) ? 3 : 0);
  check_is_text(text, source, has_lines);
  TreeBuilder of_json(source, has_lines);
  if (handle_json(text, of_json)) {
    of_json.messages().throw_if_any();
    return std::move(of_json).root();
  }
  TreeBuilder builder(source, has_lines);
  try {
    std::istringstream stream(text);
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
    builder.check_last_quote(text);
  } catch (const YAML::Exception& error) {
    const bool tab = is_indented_by_tab(text, error.mark.line);
    builder.stop(error.mark,
                 "YAML: " + error.msg + (tab ? "; a tab indents this line, expected spaces" : ""));
  }
  builder.messages().throw_if_any();
  return std::move(builder).root();
}

YamlNode load_yaml(const std::filesystem::path& file) {
  return parse_yaml(read_file(file), file.string(), true);
}

void merge_into(YamlNode& base, YamlNode over) {
  if (base.type != YamlNode::Type::Map || over.type != YamlNode::Type::Map) {
    base = std::move(over);
    return;
  }
  for (YamlEntry& entry : over.entries) {
    if (YamlEntry* known = base.find(entry.key)) {
      known->place = entry.place;
      merge_into(known->value, std::move(entry.value));
    } else {
      base.entries.push_back(std::move(entry));
    }
  }
  base.place = over.place;
}

}  // namespace dfsearch
