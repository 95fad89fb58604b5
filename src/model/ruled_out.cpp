#include "model/ruled_out.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace dfsearch {

std::string text_of(const RuledOut& reasons) { return fmt::format("{}", fmt::join(reasons, "; ")); }

std::string text_of(const DegreeChoice& choice) {
  const DegreeChoice any;
  if (choice.values.empty()) {
    return choice.most == any.most ? fmt::format("at least {}", choice.least)
                                   : fmt::format("{} to {}", choice.least, choice.most);
  }
  std::string text;
  for (std::size_t i = 0; i < choice.values.size(); ++i) {
    const bool is_last = i + 1 == choice.values.size();
    text += i == 0 ? "" : is_last ? " or " : ", ";
    text += std::to_string(choice.values[i]);
  }
  return text;
}

void check_choice(std::string_view key, const DegreeChoice& choice, std::int64_t value,
                  RuledOut& reasons) {
  if (choice.allows(value)) return;
  add_reason(key, text_of(choice), std::to_string(value), reasons);
}

void add_reason(std::string_view key, const std::string& expected, const std::string& got,
                RuledOut& reasons) {
  reasons.push_back(fmt::format("{}: expected {} as in the config, got {}", key, expected, got));
}

}  // namespace dfsearch
