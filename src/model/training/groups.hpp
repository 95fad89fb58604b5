#pragma once
// The groups of chips of each role, their places in the network, and the times of their
// exchanges (docs/training.md, section 5).

#include <array>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "base/units.hpp"
#include "model/machine/collectives.hpp"
#include "model/machine/mesh_placement.hpp"
#include "model/training/layouts.hpp"
#include "model/training/plan.hpp"
#include "model/training/task.hpp"

namespace dfsearch::training {

/// A group of chips that share the work by one role, or by several at once.  A group whose place is
/// not decided has several places, and every exchange takes the least time of all places.
/// Immutable.
class Group {
 public:
  /// A group of one chip.
  Group() : Group(std::vector<Collectives>{Collectives({})}) {}
  /// `network` gives the division of each dimension among the roles.
  Group(const Machine& machine, const std::vector<Division>& network,
        std::initializer_list<Role> roles);
  static Group anywhere(const Machine& machine, std::int64_t chips);

  [[nodiscard]] std::int64_t members() const { return places_.front().members(); }
  /// `whole` are the bytes of the whole value of the group, which a member has after an all-gather.
  /// docs/training.md (9)
  [[nodiscard]] Seconds time(Exchange exchange, Bytes whole) const;
  /// The time of a message from a member to the next one.
  [[nodiscard]] Seconds hop(Bytes message) const;

 private:
  explicit Group(std::vector<Collectives> places) : places_(std::move(places)) {}

  std::vector<Collectives> places_;  // at least one place; all have the same number of chips
};

/// The members of a group in total and in one domain, a part of the innermost dimension.
struct GroupReach {
  std::int64_t members = 1;
  std::int64_t inside = 1;  ///< 0 if undecided: any common divisor of `members` and `domain`
  std::int64_t domain = 1;
};

struct Groups {
  Groups(const Machine& machine, const std::vector<Division>& network);
  /// Each group at its fastest place, independent of the other groups: no network is faster.
  static Groups anywhere(const Machine& machine, const Degrees& degrees);

  Group tensor, context, expert, pipeline;
  Group replicas;         ///< chips with the same weights
  Group expert_replicas;  ///< chips with the same experts
  /// The reach of each role.  The reach of several roles together is the product.
  std::array<GroupReach, kRoles.size()> reach;

 private:
  Groups() = default;
};

/// For each role, the most messages on one link and the most links that a message crosses.  The
/// sharing of the mesh decides whether messages of the other roles count on a link.
MeshLoads loads_of(const Mesh& mesh, const Division& division);

/// The placements of a division that no other placement dominates.  A placement dominates another
/// one if both have context, expert and data in the same order and it has no more load on a link
/// and no more hops for any role.  Of equal placements the first is kept.  Some best step has one
/// of the placements that are returned.
std::vector<Division> unbeaten_divisions(const Mesh& mesh, const Degrees& degrees);

}  // namespace dfsearch::training
