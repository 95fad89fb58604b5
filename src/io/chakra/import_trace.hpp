#pragma once
// Execution traces of MLCommons Chakra: import of a trace, and export of the step of a plan.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "io/emit/emit_result.hpp"
#include "io/text/json_text.hpp"

namespace dfsearch {

/// The groups of chips that the collectives of traces have.
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
  /// Number of chips of the machine, as far as groups show it; 0: not known.
  [[nodiscard]] std::int64_t chips() const { return chips_; }

 private:
  std::map<std::string, Group> groups_;
  std::int64_t chips_ = 0;
};

/// A section `workload` of `kind: graph` with a kernel for each computing node of the trace of one
/// chip, `name` in messages, and a tensor wherever the output of one reaches another through its
/// data, be it by way of collectives, messages, copies and nodes of the host; and a section
/// `execution` that runs them one by one, as a trace does.  `num_ops` are the FLOP of a node,
/// `tensor_size` the bytes that it reads and writes, as simulators take it; a product where there
/// are at least two FLOP for a byte.  A trace with collectives that its chip waits for belongs to
/// one of several chips, which all do the same: each is a kernel that communicates among the chips
/// of its group.  Comments list the parts that are left out.  Throws InputError for a file that is
/// no such trace, for a cycle, and for nodes that compute without `num_ops`.
std::string import_trace(const std::string& bytes, const std::string& name,
                         const TraceGroups& groups);

/// The step of the plan of a result (docs/results.md): `.N.et` for each chip N, and `.json` with
/// the chips of each group of the traces.  `name` stands for the result in messages.  Throws
/// InputError for a plan whose step has no such traces.
void write_step_traces(const Json& result, const std::string& name, const TakeFile& take);

}  // namespace dfsearch
