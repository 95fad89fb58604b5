#pragma once
// Lists in sentences.

#include <cstddef>
#include <string>
#include <string_view>

namespace dfsearch {

/// The texts of the elements by `text_of`, with a separator between; empty texts are left out.
template <class Range, class TextOf>
std::string joined(const Range& range, std::string_view separator, const TextOf& text_of) {
  std::string text;
  for (const auto& element : range) {
    const std::string one(text_of(element));
    if (one.empty()) continue;
    if (!text.empty()) text += separator;
    text += one;
  }
  return text;
}

/// Joins words as in "a, b or c"; `last` is then " or ".
template <class Words>
std::string listed(const Words& words, std::string_view last) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? last : ", ";
    text += words[i];
  }
  return text;
}

}  // namespace dfsearch
