#pragma once
// The open nodes of a search as bytes: the only part of a checkpoint with up to a million entries.

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/answer/search_state.hpp"
#include "graph/loop_set.hpp"
#include "io/checkpoint/bytes.hpp"
#include "model/problem.hpp"

namespace dfsearch {

/// Returns the bound if it is a valid one; otherwise throws BadBytes, with `of` as its name.
Score checked_bound(double bound, const std::string& of);

/// The number that stands for a loop in files.
std::uint64_t number_of(LoopPair loop);

/// Packs nodes into three byte strings: closed partitions and sets of shardings,
/// which nodes share, are written once.
class NodeWriter {
 public:
  explicit NodeWriter(std::size_t kernels) : kernels_(kernels) {}

  /// The node must not change until the last node is put.
  void put(const MappingProblem::Node& node);

  [[nodiscard]] const std::string& nodes() const { return nodes_.bytes(); }
  [[nodiscard]] const std::string& chain() const { return chain_.bytes(); }
  [[nodiscard]] std::size_t chain_length() const { return numbers_.size(); }
  [[nodiscard]] const std::string& shardings() const { return shardings_.bytes(); }
  [[nodiscard]] std::size_t sharding_count() const { return sharding_numbers_.size(); }

 private:
  std::uint64_t number_of(const LoopSets& sharding);
  std::uint64_t number_of(const ClosedPartition* last);

  const std::size_t kernels_;
  ByteWriter nodes_;
  ByteWriter chain_;
  std::unordered_map<const ClosedPartition*, std::uint64_t> numbers_;
  ByteWriter shardings_;
  std::map<LoopSets, std::uint64_t> sharding_numbers_;
  /// Numbers by the address of a sharding: most nodes share one, which is then compared once.
  std::unordered_map<const LoopSets*, std::uint64_t> numbers_by_place_;
};

/// Reads the strings of a NodeWriter, the nodes last.  Indices are checked, so that
/// no file leads outside an array; throws BadBytes.
class NodeReader {
 public:
  explicit NodeReader(const Problem& problem);

  void read_chain(std::string_view bytes, std::uint64_t length);
  void read_shardings(std::string_view bytes, std::uint64_t count);
  std::vector<SearchState::Entry> read_nodes(std::string_view bytes, std::uint64_t count) const;

  /// A mapping without its costs.  `point` has its network, tile, micro-batch, and 1 if it needs
  /// the second tier of memory, else 0; `loops` are values of number_of().
  [[nodiscard]] MappingSolution mapping(const std::vector<std::uint64_t>& point,
                                        const std::vector<std::uint64_t>& loops,
                                        std::vector<std::int64_t> partition) const;

 private:
  struct Link {
    std::shared_ptr<const ClosedPartition> closed;
    KernelSet done;
    std::int32_t used = 0;
  };

  [[nodiscard]] const Link& link(std::uint64_t number) const {
    return number == 0 ? none_ : links_[number - 1];
  }
  [[nodiscard]] OuterPoint checked(std::uint64_t network, std::int64_t tile,
                                   std::int64_t micro_batch, std::uint64_t spilled) const;
  MappingProblem::Node get_node(ByteReader& in) const;

  const std::size_t kernels_;
  const std::size_t networks_;
  const std::int64_t sequence_;
  const std::int64_t batch_;
  const std::int64_t partitions_;
  Link none_;
  std::vector<Link> links_;
  std::vector<std::shared_ptr<const LoopSets>> shardings_;
};

}  // namespace dfsearch
