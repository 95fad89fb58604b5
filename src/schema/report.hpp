#pragma once
// How the rules of a struct say what is wrong with values that are right by themselves.

#include <initializer_list>
#include <string>
#include <string_view>

#include "schema/types.hpp"

namespace dfsearch {

/// Members are named by their addresses in the object that is checked.
class Report {
 public:
  Report() = default;
  Report(const Report&) = delete;
  Report& operator=(const Report&) = delete;
  virtual ~Report() = default;

  [[nodiscard]] virtual bool given(const void* member) const = 0;
  /// At the first of these that the command line gives, else that there is, else at the map; under
  /// the key of the first.
  virtual void at(std::initializer_list<const void*> members, const std::string& what) = 0;
};

}  // namespace dfsearch
