#pragma once
// What an export to DFModel cannot say.

#include <string>
#include <utility>
#include <vector>

namespace dfsearch {

/// Collects everything that a config says and a setup has no field for, under the key of
/// the config, to be reported all at once.
class Complaints {
 public:
  explicit Complaints(std::string name) : name_(std::move(name)) {}
  void add(const std::string& key, const std::string& what);
  /// An InputError with all of them.
  void throw_if_any() const;

 private:
  std::string name_;
  std::vector<std::string> messages_;
};

}  // namespace dfsearch
