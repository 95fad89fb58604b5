#pragma once
// Values of options, read so that an error contains what was expected.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/units.hpp"
#include "base/words.hpp"

namespace dfsearch {

inline constexpr std::int64_t kMostThreads = 1024;

/// Throws an InputError that ends in where the help is.
[[noreturn]] void usage_error(const std::string& message);

/// A whole number from `least` to `most`.
std::int64_t parse_count(const std::string& option, const std::string& text, std::int64_t most,
                         std::int64_t least = 1);

/// All hardware threads, at most kMostThreads.
int hardware_threads();

/// Throws for a word that is no choice of an option or input.
[[noreturn]] void refuse_word(const std::string& option, const std::string& word,
                              std::span<const std::string_view> known);

/// The value of an enumeration that a word names.
template <HasWords E>
E parse_word(const std::string& option, const std::string& text) {
  std::vector<std::string_view> names;
  for (const auto& word : words(E{})) {
    if (text == word.name) return word.value;
    names.emplace_back(word.name);
  }
  refuse_word(option, text, names);
}

/// A parse error of `convert` about the value of an option, with its name.
template <class Convert>
auto converted(const std::string& option, Convert convert) {
  try {
    return convert();
  } catch (const InputError& error) {
    usage_error(option + ": " + error.messages().front());
  }
}

/// Memory that this process may use: all of the machine, or the limit of a control group or of the
/// shell.
Bytes machine_memory();

}  // namespace dfsearch
