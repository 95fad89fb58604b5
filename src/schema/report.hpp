#pragma once
// Messages of rules between the values of a struct that are valid by themselves.

#include <cstddef>
#include <initializer_list>
#include <string>

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
  /// Whether a key whose row has this flag is given.
  [[nodiscard]] virtual bool given_any(unsigned flag) const = 0;
  [[nodiscard]] virtual std::size_t count() const = 0;
  /// False once further messages are only counted and need no careful text.
  [[nodiscard]] virtual bool wants_more() const = 0;

  /// Adds a message under the key of the first member.  Its place is the place of the first member
  /// that the command line gives, else of the first member that is given, else of the map.
  virtual void at(std::initializer_list<const void*> members, const std::string& what) = 0;
  /// Adds a message at the key of a member that must not be given.
  virtual void at_key(const void* member, const std::string& what) = 0;
  /// Adds a message at `inner`, a member of element `index` of a list, or of an object (index 0);
  /// if `inner` is null, at the whole element.
  virtual void inside(const void* member, std::size_t index, const void* inner,
                      const std::string& what) = 0;
  /// Adds a message at the map itself.
  virtual void at_map(const std::string& what) = 0;
};

}  // namespace dfsearch
