#pragma once
// The two kinds of failure that are not results.
//
// InputError: the input is wrong; every message contains the place and the expectation.
// InternalError: dfsearch contradicts itself.  A mapping that does not fit and a search that was
// stopped are not errors, but values.

#include <stdexcept>
#include <string>
#include <vector>

namespace dfsearch {

/// Wrong input.  Each message is one line, `file:line:column: key: fault, expectation` if the place
/// is known.
class InputError : public std::runtime_error {
 public:
  explicit InputError(std::vector<std::string> messages);
  explicit InputError(const std::string& message);
  [[nodiscard]] const std::vector<std::string>& messages() const { return messages_; }

 private:
  std::vector<std::string> messages_;
};

/// A bug of dfsearch; its text requests a report.
class InternalError : public std::logic_error {
 public:
  explicit InternalError(const std::string& what);
};

namespace detail {
[[noreturn]] void assertion_failed(const char* condition, const char* file, int line);
}

}  // namespace dfsearch

// DFSEARCH_ASSERT states a condition that no input can make false.  It is checked in builds with
// DFSEARCH_CHECKS (the dev and sanitizer presets) and absent elsewhere.
#ifdef DFSEARCH_CHECKS
#define DFSEARCH_ASSERT(condition) \
  ((condition) ? void() : ::dfsearch::detail::assertion_failed(#condition, __FILE__, __LINE__))
#else
#define DFSEARCH_ASSERT(condition) void()
#endif
