#pragma once
// The groups of chips that the collectives of a trace are among.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace dfsearch {

class TraceGroups {
 public:
  struct Group {
    std::int64_t members = 0;          ///< 0: not known, all chips
    std::vector<std::int64_t> counts;  ///< as Communication::group has them
  };

  /// None is known, and each is of all chips.
  TraceGroups() = default;
  /// The text of the file that traces come with, `name` in messages: JSON from the names of groups
  /// to their chips.  Throws InputError.
  TraceGroups(const std::string& json, const std::string& name);

  [[nodiscard]] Group find(const std::string& name) const;
  /// Of the machine, as far as groups tell; 0: not known.
  [[nodiscard]] std::int64_t chips() const { return chips_; }

 private:
  std::map<std::string, Group> groups_;
  std::int64_t chips_ = 0;
};

}  // namespace dfsearch
