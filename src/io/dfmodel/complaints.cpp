#include "io/dfmodel/complaints.hpp"

#include <fmt/format.h>

#include "base/error.hpp"

namespace dfsearch {

void Complaints::add(const std::string& key, const std::string& what) {
  messages_.push_back(fmt::format("{}: {}: cannot be expressed for DFModel: {}", name_, key, what));
}

void Complaints::throw_if_any() const {
  if (!messages_.empty()) throw InputError(messages_);
}

}  // namespace dfsearch
