#pragma once
// Lower limits of time and memory that no machine can beat, computed from the numbers of a config
// by first principles and compared with the program's answers.
//
// - A step takes its FLOP over the peak of all chips, and one sample takes all layers one after
//   the other, however many samples there are.
// - A chip holds its share of the parameters; what it holds and needs for a token it reads from
//   memory, and what the first memory does not hold comes from the second.
// - What a chip needs and has not comes over its links; what the halves of a group owe each other
//   passes the links between them.
//
// The links between the halves of a dimension of n chips, one way: 2 of a ring, n/2 of a switch,
// n^2/4 of a fully connected one, times the lines that run in parallel.  Two halves that add up
// their values send each other a sum; if all pairs exchange messages, the messages from half to
// half pass.  All limits are loose: they hold for any schedule, any algorithm of a collective, any
// overlap.

#include <vector>

#include "physics/answer.hpp"

namespace dfsearch::test {

/// Limits on the whole step of a mapping.
const std::vector<NamedCheck>& mapping_limits();
/// Limits by the values that tensor ranks need but do not have, kernel by kernel
/// (layout_limits.cpp).
const std::vector<NamedCheck>& layout_limits();
/// Limits on the plan of a training step.
const std::vector<NamedCheck>& plan_limits();

/// Limits on executions of Calculon's model.
const std::vector<NamedCheck>& execution_limits();
/// Limits on deployments, the points of a front and the models of a fleet.
const std::vector<NamedCheck>& serving_limits();
/// Limits on chips from budgets, and on mappings onto them.
const std::vector<NamedCheck>& budget_limits();
/// Limits on stages that divide a graph, and on LSTMs.
const std::vector<NamedCheck>& stages_limits();
/// Limits on each row of a study.
const std::vector<NamedCheck>& study_limits();

/// All limits above: they depend on the numbers of a config alone.
const std::vector<NamedCheck>& rooflines();

/// Seconds that the workload takes at least on all chips of the machine, whatever the decisions:
/// FLOP over the peak, and weights that the chips cannot keep over the bandwidth of their memories.
double least_step(const Json& config);
/// Bytes that all chips hold at least together.
double least_held(const Json& config);

/// One dimension of a network as a group of chips sees it.
struct Line {
  std::string topology;
  double bandwidth = 0.0;
  double members = 1.0;  ///< of the group, in this dimension
};

/// Bytes per second that the links between both halves of one of the dimensions carry one way, for
/// the whole group.
double cut_bandwidth(const std::vector<Line>& group, std::size_t dimension);
/// The share of the chips in the smaller half.
double smaller_half(const Line& line);
/// Bytes per second that one chip of the group can receive in all.
double chip_bandwidth(const std::vector<Line>& group);
/// The longest time of any cut for this number of bytes one way.
double slowest_cut(const std::vector<Line>& group, double bytes);

}  // namespace dfsearch::test
