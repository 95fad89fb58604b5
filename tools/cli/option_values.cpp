#include "cli/option_values.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <thread>

#include "base/units_text.hpp"
#include "io/config/load_config.hpp"
#include "io/text/input_messages.hpp"

namespace dfsearch {
namespace {

constexpr const char* kSeeHelp = "run 'dfsearch --help' for all commands and options";

}  // namespace

void usage_error(const std::string& message) {
  throw InputError(std::vector<std::string>{message, kSeeHelp});
}

void refuse_word(const std::string& option, const std::string& word,
                 std::span<const std::string_view> known) {
  usage_error(fmt::format("{}: expected {}, got {}{}", option, joined_choices(known),
                          in_quotes(word), suggestion(word, known)));
}

std::int64_t parse_count(const std::string& option, const std::string& text, std::int64_t most) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1 || value > most) {
    usage_error(fmt::format("{}: expected a whole number from 1 to {}, got {}", option, most,
                            in_quotes(text)));
  }
  return value;
}

int parse_threads(const std::string& text) {
  if (!text.empty()) return static_cast<int>(parse_count("--threads", text, kMostThreads));
  const auto hardware = static_cast<std::int64_t>(std::thread::hardware_concurrency());
  return static_cast<int>(std::clamp<std::int64_t>(hardware, 1, kMostThreads));
}

double parse_gap(const std::string& text) {
  const double gap = converted("--gap", [&] { return parse_number(text); });
  if (gap < 0.0 || gap > 1.0) {
    usage_error("--gap: expected a number from 0 to 1, got " + in_quotes(text));
  }
  return gap;
}

Seconds parse_time(const std::string& option, const std::string& text) {
  return converted(option, [&] { return parse_quantity<Seconds>(text); });
}

Bytes parse_memory_limit(const std::string& text) {
  const Bytes limit = converted("--memory-limit", [&] { return parse_quantity<Bytes>(text); });
  if (limit < kLeastMemoryLimit) {
    usage_error("--memory-limit: expected at least 16 MiB, got " + in_quotes(text));
  }
  return limit;
}

void refuse_extras(const CLI::App& app, std::string_view command, std::string_view input) {
  const std::vector<std::string> extras = app.remaining();
  if (extras.empty()) return;
  const std::string& extra = extras.front();
  if (!extra.starts_with('-') || extra == "-") {
    usage_error(fmt::format("{}: one {} is enough, got also {}", command, input, in_quotes(extra)));
  }
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  const std::vector<std::string_view> known(names.begin(), names.end());
  usage_error(fmt::format("{} has no option {}{}", command, in_quotes(extra),
                          suggestion(extra.substr(0, extra.find('=')), known)));
}

namespace {

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

Bytes machine_memory() {
  const Bytes physical(static_cast<double>(sysconf(_SC_PHYS_PAGES)) *
                       static_cast<double>(sysconf(_SC_PAGE_SIZE)));
  return std::min({physical, number_in("/sys/fs/cgroup/memory.max"), shell_limit()});
}

}  // namespace dfsearch
