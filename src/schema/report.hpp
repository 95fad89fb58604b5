#pragma once
// Messages of the rules of a struct about values that are right by themselves.

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
  /// Whether a key is there whose row has this flag.
  [[nodiscard]] virtual bool given_any(unsigned flag) const = 0;
  [[nodiscard]] virtual std::size_t count() const = 0;
  /// False once further messages are only counted: no need to word them well.
  [[nodiscard]] virtual bool wants_more() const = 0;

  /// Adds a message under the key of the first member: at the first member that the command line
  /// gives, else at the first that is given, else at the map.
  virtual void at(std::initializer_list<const void*> members, const std::string& what) = 0;
  /// Adds a message at the key of a member, which should not be there.
  virtual void at_key(const void* member, const std::string& what) = 0;
  /// Adds a message at a member of an element of a list, or of an object that is a member (0);
  /// null: at all of it.
  virtual void inside(const void* member, std::size_t index, const void* inner,
                      const std::string& what) = 0;
  /// Adds a message at the map itself.
  virtual void at_map(const std::string& what) = 0;
};

}  // namespace dfsearch
