#pragma once
// A plan of a training step: every decision taken (docs/training.md, section 1).

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/words.hpp"
#include "model/machine/machine.hpp"
#include "model/machine/mesh_placement.hpp"
#include "model/memory/trained.hpp"
#include "model/problem.hpp"

namespace dfsearch::training {

/// The roles of chips in a group that shares the work, from the innermost groups to the outermost.
enum class Role : std::uint8_t {
  Tensor,    ///< features: rows and columns of weights, heads
  Context,   ///< tokens of a sample
  Expert,    ///< samples, and the experts among the same chips
  Data,      ///< samples
  Pipeline,  ///< layers
};
inline constexpr std::array kRoles = {Role::Tensor, Role::Context, Role::Expert, Role::Data,
                                      Role::Pipeline};

/// A number for each role.  The product of the degrees is the number of chips; Expert times Data is
/// the number of replicas of the weights outside experts.
class Degrees {
 public:
  [[nodiscard]] std::int64_t operator[](Role role) const {
    return values_[static_cast<std::size_t>(role)];
  }
  std::int64_t& operator[](Role role) { return values_[static_cast<std::size_t>(role)]; }
  [[nodiscard]] std::int64_t replicas() const {
    return (*this)[Role::Expert] * (*this)[Role::Data];
  }
  friend auto operator<=>(const Degrees&, const Degrees&) = default;

 private:
  std::array<std::int64_t, kRoles.size()> values_{1, 1, 1, 1, 1};
};

/// How a dimension of the network is divided among the roles, and their places on a mesh.
struct Division : Degrees {
  std::vector<Role> order;  ///< on a mesh: roles of more than one chip, innermost first
  MeshFill fill = MeshFill::Straight;

  friend auto operator<=>(const Division&, const Division&) = default;
};

/// The order in which a stage works on its micro-batches (docs/training.md, section 4).
enum class Schedule : std::uint8_t {
  OneForwardOneBackward,
  Interleaved,  ///< a stage has several chunks of layers
  ZeroBubble,   ///< ZB-H1: gradients of weights fill idle time
  GPipe,        ///< all forward passes, then all backward ones
  DualPipe,     ///< from both ends at once; for plans that were run, not searched
};
inline constexpr std::array kSchedules = {Schedule::OneForwardOneBackward, Schedule::Interleaved,
                                          Schedule::ZeroBubble, Schedule::GPipe};

using memory::Recompute;

/// The layout of values among the tensor ranks: the layout that sends least, the layout that keeps
/// least, or a layout of the front between the two (docs/training.md, section 2).  WholeExperts,
/// for tasks with a stack, is LeastKept with undivided experts: expert ranks include the tensor
/// ranks (docs/truth.md, section 6).  Values after the named ones are the front in its order.
enum class TensorLayout : std::uint8_t { LeastSent, LeastKept, WholeExperts };
inline constexpr int kMostFrontLayouts = 16;

/// The place in the front, from 1 to kMostFrontLayouts; 0 for layouts with a name.
constexpr int place_in_front(TensorLayout layout) {
  return layout <= TensorLayout::WholeExperts ? 0 : static_cast<int>(layout) - 2;
}
constexpr TensorLayout front_layout(int place) { return static_cast<TensorLayout>(place + 2); }

/// The ranks over which the experts are divided, as frameworks count them: whole experts are
/// divided over the ranks of the expert role and the tensor ranks together (docs/training.md,
/// section 1).
inline std::int64_t expert_ranks(const Degrees& degrees, TensorLayout layout) {
  return degrees[Role::Expert] * (layout == TensorLayout::WholeExperts ? degrees[Role::Tensor] : 1);
}

struct Plan {
  Degrees degrees;
  std::int64_t micro_batch = 1;  ///< samples
  TensorLayout layout = TensorLayout::LeastSent;
  Recompute recompute = Recompute::None;
  int zero = 0;  ///< stage of ZeRO, 0 to 3: the states that the replicas divide
  Schedule schedule = Schedule::OneForwardOneBackward;
  std::int64_t chunks = 1;  ///< chunks of a stage
  Offload offload;
  std::vector<std::int64_t> layers;  ///< layers of each stage
  std::vector<Division> network;     ///< of each dimension

  /// The order of ties.
  friend auto operator<=>(const Plan&, const Plan&) = default;
};

/// The choices of a plan; an empty list allows all values.
struct Choices {
  /// Degrees by role.  The degree of Data counts all replicas, over data and expert ranks.  The
  /// degree of Expert counts the ranks that divide the experts.
  std::array<DegreeChoice, kRoles.size()> degrees;
  std::vector<std::int64_t> micro_batches;
  std::vector<TensorLayout> layouts;
  std::vector<Recompute> recomputes;
  std::vector<int> zeros;
  std::vector<Schedule> schedules;
  std::vector<std::int64_t> chunks;
  std::optional<Offload> offload;
  std::vector<std::int64_t> layers;          ///< layers of each stage; also the number of stages
  std::vector<std::optional<Role>> network;  ///< for each dimension, its only role
  std::vector<Division> divisions;           ///< of all dimensions; may be empty
};

constexpr auto words(Role) {
  return named<Role>("tensor", "context", "expert", "data", "pipeline");
}
constexpr auto words(Schedule) { return named<Schedule>("1f1b", "interleaved", "zb_h1", "gpipe"); }

using dfsearch::name_of;
/// The name in configs, or the name of a schedule that only measured plans have.
inline const char* name_of(Schedule schedule) {
  return schedule == Schedule::DualPipe ? "dualpipe" : dfsearch::name_of(schedule);
}
using memory::name_of;
/// least_sent, least_kept, whole_experts, and front_1, front_2, ... for the places in the front.
inline std::string name_of(TensorLayout layout) {
  if (layout == TensorLayout::LeastSent) return "least_sent";
  if (layout == TensorLayout::LeastKept) return "least_kept";
  if (layout == TensorLayout::WholeExperts) return "whole_experts";
  return "front_" + std::to_string(place_in_front(layout));
}

}  // namespace dfsearch::training
