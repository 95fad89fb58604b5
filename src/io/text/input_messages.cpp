#include "io/text/input_messages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <tuple>

#include "base/error.hpp"
#include "io/text/joined.hpp"

namespace dfsearch {
namespace {

/// The shortest name that begins with the given text, or else contains it; empty if none does.
std::string_view shortest_with(std::string_view given, std::span<const std::string_view> known) {
  constexpr std::size_t kFewLetters = 3;
  if (given.empty()) return {};
  const auto rank = [&](std::string_view name) {
    return std::pair(!name.starts_with(given), name.size());
  };
  std::string_view best;
  for (const std::string_view name : known) {
    const std::size_t at = name.find(given);
    if (at == std::string_view::npos) continue;
    // Few letters match by chance unless they are nearly the whole name.
    if (given.size() < kFewLetters && (at > 0 || name.size() > given.size() + 1)) continue;
    if (best.empty() || rank(name) < rank(best)) best = name;
  }
  return best;
}

/// The nearest of the names that share a prefix of more than half of the given text with it, the
/// last one among equals; empty if there is none.
std::string_view begins_alike(std::string_view given, std::span<const std::string_view> known) {
  constexpr std::size_t kFewLetters = 3;
  std::string_view best;
  std::size_t least = 0;
  for (const std::string_view name : known) {
    const auto differs = std::mismatch(given.begin(), given.end(), name.begin(), name.end());
    const auto same = static_cast<std::size_t>(differs.first - given.begin());
    if (same < kFewLetters || 2 * same <= given.size()) continue;
    const std::size_t distance = edit_distance(given, name);
    if (!best.empty() && distance > least) continue;
    best = name;
    least = distance;
  }
  return best;
}

}  // namespace

std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (byte(0) < 0x80) return 1;
  std::size_t length = 0;
  if (byte(0) >= 0xC2 && byte(0) < 0xE0) length = 2;
  if (byte(0) >= 0xE0 && byte(0) < 0xF0) length = 3;
  if (byte(0) >= 0xF0 && byte(0) < 0xF5) length = 4;
  if (length == 0 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return 0;
  }
  return length;
}

namespace {

/// Writes control characters, except the kept ones, and bytes that are no UTF-8 as escapes.
std::string without_controls(std::string_view text, std::string_view kept) {
  std::string result;
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const std::size_t length = utf8_length(text.substr(i));
    // U+0080 to U+009F are also control characters.
    const bool control =
        kept.find(text[i]) == std::string_view::npos &&
        (byte < 0x20 || byte == 0x7f ||
         (byte == 0xC2 && length == 2 && static_cast<unsigned char>(text[i + 1]) < 0xA0));
    if (control && text[i] == '\n') {
      result += "\\n";
      ++i;
    } else if (length == 0 || control) {
      for (std::size_t end = i + std::max<std::size_t>(length, 1); i < end; ++i) {
        result += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[i]));
      }
    } else {
      result += text.substr(i, length);
      i += length;
    }
  }
  return result;
}

}  // namespace

std::string escaped(std::string_view text) { return without_controls(text, ""); }

std::string printable(std::string_view text) { return without_controls(text, "\n\t"); }

std::string Place::to_text() const {
  const std::string name = source ? escaped(*source) : std::string();
  return line > 0 ? fmt::format("{}:{}:{}", name, line, column) : name;
}

void InputMessages::add(const Place& place, std::string_view key, std::string_view what) {
  ++count_;
  if (!wants_more()) return;
  std::string text = place.to_text();
  if (!key.empty()) text += fmt::format("{}{}", text.empty() ? "" : ": ", escaped(key));
  text += fmt::format("{}{}", text.empty() ? "" : ": ", escaped(what));
  messages_.push_back({.place = place, .text = std::move(text)});
}

void InputMessages::add(const std::vector<std::string>& messages) {
  for (const std::string& message : messages) {
    ++count_;
    if (wants_more()) messages_.push_back({.place = {}, .text = message});
  }
}

void InputMessages::throw_if_any() const {
  if (messages_.empty()) return;
  // Sources in order of their first message, places within each in file order.
  std::vector<std::string> sources;
  std::vector<std::tuple<std::size_t, int, int, std::size_t>> order;
  for (std::size_t i = 0; i < messages_.size(); ++i) {
    const Place& place = messages_[i].place;
    const std::string name = place.source ? *place.source : std::string();
    const auto found = std::find(sources.begin(), sources.end(), name);
    const auto rank = static_cast<std::size_t>(found - sources.begin());
    if (found == sources.end()) sources.push_back(name);
    order.emplace_back(rank, place.line, place.column, i);
  }
  std::sort(order.begin(), order.end());
  std::vector<std::string> lines;
  lines.reserve(order.size() + 1);
  for (const auto& key : order) lines.push_back(messages_[std::get<3>(key)].text);
  if (count_ > messages_.size()) {
    lines.push_back(fmt::format("... and {} more", count_ - messages_.size()));
  }
  throw InputError(std::move(lines));
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t kLength = 60;
  if (text.size() <= kLength) return fmt::format("'{}'", escaped(text));
  std::size_t end = kLength;
  // Does not cut a UTF-8 sequence, whose later bytes are 10xxxxxx.
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return fmt::format("'{}...'", escaped(text.substr(0, end)));
}

std::string without_place(const std::string& message, const std::string& source) {
  if (source.empty() || !message.starts_with(source)) return message;
  const std::size_t end = message.find_first_not_of(":0123456789", source.size());
  if (end == std::string::npos) return message;
  return message.substr(message[end] == ' ' ? end + 1 : end);
}

std::string joined_choices(std::span<const std::string_view> choices) {
  return listed(choices, " or ");
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

std::string suggestion(std::string_view given, std::span<const std::string_view> known) {
  constexpr std::size_t kLongestName = 64;
  if (given.size() > kLongestName) return {};
  // Up to a third of the letters may differ, or two in short names, but never all.
  std::size_t least = std::min(std::max<std::size_t>(2, given.size() / 3) + 1, given.size());
  std::string_view nearest;
  // A name that extends the given text, such as h100_dgx for h100, is nearer than a name with other
  // letters, such as h800.
  for (const std::string_view name : known) {
    const bool begins = name.starts_with(given) && (name.size() == given.size() + 1 ||
                                                    name.substr(given.size()).starts_with('_'));
    if (begins && (nearest.empty() || name.size() < nearest.size())) nearest = name;
  }
  if (!nearest.empty()) least = 0;
  for (const std::string_view name : known) {
    if (name.size() > kLongestName) continue;
    const std::size_t distance = edit_distance(given, name);
    if (distance < least) {
      least = distance;
      nearest = name;
    }
  }
  if (nearest.empty()) nearest = shortest_with(given, known);
  if (nearest.empty()) nearest = begins_alike(given, known);
  return nearest.empty() ? std::string() : fmt::format(", did you mean '{}'?", nearest);
}

}  // namespace dfsearch
