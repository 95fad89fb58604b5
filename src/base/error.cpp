#include "base/error.hpp"

#include <utility>

namespace dfsearch {
namespace {

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) {
    if (!text.empty()) text += '\n';
    text += line;
  }
  return text;
}

}  // namespace

InputError::InputError(std::vector<std::string> messages)
    : std::runtime_error(joined(messages)), messages_(std::move(messages)) {}

InputError::InputError(const std::string& message) : InputError(std::vector{message}) {}

InternalError::InternalError(const std::string& what)
    : std::logic_error("internal error: " + what + "; please report it with the input") {}

namespace detail {

void assertion_failed(const char* condition, const char* file, int line) {
  throw InternalError(std::string(file) + ":" + std::to_string(line) + ": " + condition);
}

}  // namespace detail
}  // namespace dfsearch
