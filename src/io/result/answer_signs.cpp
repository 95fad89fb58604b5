#include "io/result/answer_signs.hpp"

#include <fmt/format.h>

#include <string>

#include "base/error.hpp"

namespace dfsearch {
namespace {

/// Keys of differences, which may be below zero: what more of a budget changes, what a framework
/// gains.
bool is_difference(const std::string& key) { return key == "change" || key == "gain"; }

void check_at(const Json& value, const std::string& path) {
  if (value.is_number() && value.get<double>() < 0.0) {
    throw InternalError(fmt::format("the answer has a negative number: {} {}", path, value.dump()));
  }
  if (!value.is_structured()) return;
  for (const auto& [key, inner] : value.items()) {
    if (!is_difference(key)) check_at(inner, path.empty() ? key : path + "." + key);
  }
}

}  // namespace

void check_signs(const Json& answer) { check_at(answer, ""); }

}  // namespace dfsearch
