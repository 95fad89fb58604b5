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
    std::int64_t members = 0;          ///< 0: unknown, all chips
    std::vector<std::int64_t> counts;  ///< as in Communication::group
  };

  /// No group is known; each is taken to have all chips.
  TraceGroups() = default;
  /// The text of the file that traces come with, `name` in messages: JSON from the names of groups
  /// to their chips.  Throws InputError.
  TraceGroups(const std::string& json, const std::string& name);

  [[nodiscard]] Group find(const std::string& name) const;
  /// Number of chips of the machine, if groups reveal it; else 0.
  [[nodiscard]] std::int64_t chips() const { return chips_; }

 private:
  std::map<std::string, Group> groups_;
  std::int64_t chips_ = 0;
};

/// Returns a section `workload` of `kind: graph` for the trace of one chip, `name` in messages, and
/// a section `execution` that runs its kernels one by one, as a trace does.  Each computing node
/// becomes a kernel.  A tensor joins two kernels if the output of one reaches the other through
/// data dependencies, also via collectives, messages, copies and nodes of the host.  `num_ops` are
/// the FLOP of a node, `tensor_size` the bytes that it reads and writes, as in simulators; a node
/// with at least two FLOP per byte is a product.  A trace with collectives that its chip waits for
/// is taken to be of one of several chips that all do the same: each such collective becomes a
/// kernel that communicates among the chips of its group.  Comments list the parts that are left
/// out.  Throws InputError for a file that is no such trace, for a cycle, and for nodes that
/// compute without `num_ops`.
std::string import_trace(const std::string& bytes, const std::string& name,
                         const TraceGroups& groups);

/// The step of the plan of a result (docs/results.md): `.N.et` for each chip N, and `.json` with
/// the chips of each group of the traces.  `name` is the result in messages.  Throws
/// InputError for a plan whose step has no such traces.
void write_step_traces(const Json& result, const std::string& name, const TakeFile& take);

}  // namespace dfsearch
