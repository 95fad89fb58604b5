#pragma once
// Errors of an input, collected while it is read, so that all are reported at once.

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dfsearch {

/// Source of a piece of a config: a file with line and column, counted from 1, or "--set KEY=VALUE"
/// with neither (0).
struct Place {
  std::shared_ptr<const std::string> source;
  int line = 0;
  int column = 0;

  [[nodiscard]] bool is_override() const { return line == 0; }
  /// `file:line:column`, or the source alone.
  [[nodiscard]] std::string to_text() const;
};

/// Collects messages; the first hundred are kept, later ones only counted.
class InputMessages {
 public:
  /// `key` is the subject of the message; empty: the whole input.
  void add(const Place& place, std::string_view key, std::string_view what);
  /// Adds the messages that another reader threw.
  void add(const std::vector<std::string>& messages);
  /// Adds a note on a valid input, to be shown with the answer.
  void note(std::string text) { notes_.push_back(std::move(text)); }
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }

  [[nodiscard]] std::size_t count() const { return count_; }
  /// False once further messages are only counted and need no careful text.
  [[nodiscard]] bool wants_more() const { return messages_.size() < kKept; }
  /// Throws InputError with everything collected, ordered by place within each
  /// source, if there is anything.
  void throw_if_any() const;

 private:
  static constexpr std::size_t kKept = 100;
  struct Message {
    Place place;
    std::string text;
  };
  std::vector<Message> messages_;
  std::vector<std::string> notes_;
  std::size_t count_ = 0;
};

/// The length of the UTF-8 sequence at the front of a text that is not empty; 0 if it is none.
std::size_t utf8_length(std::string_view text);

/// Escapes any text into one line of UTF-8 without control characters, since messages go to
/// terminals; such a line is unchanged.
std::string escaped(std::string_view text);

/// Escapes control characters of any text, except ends of lines and tabs.
std::string printable(std::string_view text);

/// A text of the input as it may stand in a message: in quotes, cut to a
/// readable length, control characters escaped.
std::string in_quotes(std::string_view text);

/// Removes the place from "source:line:column: key: fault", for readers who never see the
/// source; other messages are unchanged.
std::string without_place(const std::string& message, const std::string& source);

/// "a, b or c".
std::string joined_choices(std::span<const std::string_view> choices);
/// The names of elements that live on, by a member or a function.
template <class Range, class Name>
std::vector<std::string_view> names_of(const Range& range, const Name& name) {
  std::vector<std::string_view> names;
  for (const auto& element : range) names.emplace_back(std::invoke(name, element));
  return names;
}

/// Number of letters to insert, delete or replace.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// ", did you mean 'overlap'?" for the known name of least edit distance, else for the shortest
/// name that begins with the given text or contains it, else for a name with a common prefix; empty
/// if no name is near.
std::string suggestion(std::string_view given, std::span<const std::string_view> known);

}  // namespace dfsearch
