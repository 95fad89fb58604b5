#include "cli/option_values.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <system_error>
#include <thread>

#include "io/text/input_messages.hpp"

namespace dfsearch {
namespace {

constexpr const char* kSeeHelp = "run 'dfsearch --help' for all commands and options";

/// Infinite unless the file begins with a number.
Bytes number_in(const char* file) {
  std::ifstream in(file);
  double number = 0.0;
  return in >> number ? Bytes(number) : Bytes::infinity();
}

Bytes shell_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
    return Bytes::infinity();
  }
  return Bytes(static_cast<double>(limit.rlim_cur));
}

}  // namespace

void usage_error(const std::string& message) {
  throw InputError(std::vector<std::string>{message, kSeeHelp});
}

void refuse_word(const std::string& option, const std::string& word,
                 std::span<const std::string_view> known) {
  usage_error(fmt::format("{}: expected {}, got {}{}", option, joined_choices(known),
                          in_quotes(word), suggestion(word, known)));
}

std::int64_t parse_count(const std::string& option, const std::string& text, std::int64_t most,
                         std::int64_t least) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least || value > most) {
    usage_error(fmt::format("{}: expected a whole number from {} to {}, got {}", option, least,
                            most, in_quotes(text)));
  }
  return value;
}

int hardware_threads() {
  const auto hardware = static_cast<std::int64_t>(std::thread::hardware_concurrency());
  return static_cast<int>(std::clamp<std::int64_t>(hardware, 1, kMostThreads));
}

Bytes machine_memory() {
  const Bytes physical(static_cast<double>(sysconf(_SC_PHYS_PAGES)) *
                       static_cast<double>(sysconf(_SC_PAGE_SIZE)));
  return std::min({physical, number_in("/sys/fs/cgroup/memory.max"), shell_limit()});
}

}  // namespace dfsearch
