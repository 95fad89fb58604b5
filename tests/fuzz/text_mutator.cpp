// How libFuzzer changes texts.  Left alone it finds all ways to be wrong; what is
// right and extreme needs changes that leave the form as it is: another number where a
// number stands, another word of the text where a word stands, a line twice or not at all.

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <random>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

namespace {

using Random = std::minstd_rand;

/// A part of a text.
struct Span {
  std::size_t begin = 0;
  std::size_t size = 0;
};

bool is_number_part(char c) { return std::isdigit(static_cast<unsigned char>(c)) || c == '.'; }
bool is_word_part(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }
bool is_line_part(char c) { return c != '\n'; }

/// The longest runs of characters of a kind; of words those that begin with a letter.
std::vector<Span> runs(std::string_view text, bool (*is_part)(char)) {
  std::vector<Span> found;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i;
    while (end < text.size() && is_part(text[end])) ++end;
    const bool digit = std::isdigit(static_cast<unsigned char>(text[i])) != 0;
    if (end > i && !(is_part == is_word_part && digit)) found.push_back({i, end - i});
    i = std::max(end, i + 1);
  }
  return found;
}

std::vector<std::string> words(const std::string& text) {
  std::istringstream stream(text);
  return {std::istream_iterator<std::string>(stream), {}};
}

std::string other_number(std::string_view number, Random& random) {
  // Small, powers of two, the largest of every type, and around the limits of configs.
  static const std::vector<std::string> kNumbers = words(
      "0 1 2 3 7 8 64 1000 65537 1000000 1073741824 4294967296 1099511627775 1099511627776 "
      "1099511627777 4611686018427387904 9223372036854775807 18446744073709551616 "
      "0.1 0.5 1e-9 1e24 1e300 1e-320");
  std::int64_t value = 0;
  std::from_chars(number.data(), number.data() + number.size(), value);
  constexpr std::int64_t kMost = std::int64_t{1} << 61;
  value = std::min(value, kMost);
  switch (random() % 6) {
    case 0:
      return std::to_string(value + 1);
    case 1:
      return std::to_string(std::max<std::int64_t>(value - 1, 0));
    case 2:
      return std::to_string(value * 2);
    case 3:
      return std::to_string(value / 2);
    default:
      return kNumbers[random() % kNumbers.size()];
  }
}

void change(std::string& text, Random& random) {
  const auto any_of = [&](const std::vector<Span>& spans) {
    return spans[random() % spans.size()];
  };
  const std::uint_fast32_t kind = random() % 8;
  const std::vector<Span> spans = runs(text, kind < 4   ? is_number_part
                                             : kind < 6 ? is_word_part
                                                        : is_line_part);
  if (spans.empty()) return;
  const Span place = any_of(spans);
  const Span other = any_of(spans);
  if (kind < 4) {
    text.replace(place.begin, place.size,
                 other_number(std::string_view(text).substr(place.begin, place.size), random));
  } else if (kind < 6) {
    text.replace(place.begin, place.size, text.substr(other.begin, other.size));
  } else if (kind == 6) {
    text.insert(place.begin, text.substr(other.begin, other.size) + "\n");
  } else {
    text.erase(place.begin, place.size + 1);
  }
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t most, unsigned int seed) {
  Random random(seed);
  if (random() % 2 == 0) return LLVMFuzzerMutate(data, size, most);
  std::string text(reinterpret_cast<const char*>(data), size);
  do {
    change(text, random);
  } while (random() % 2 == 0);
  if (text.size() > most || text.empty()) return LLVMFuzzerMutate(data, size, most);
  std::memcpy(data, text.data(), text.size());
  return text.size();
}
