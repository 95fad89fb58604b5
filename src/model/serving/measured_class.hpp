#pragma once
// The errors of predictions for an engine: classes of measured deployments, and the error of each
// class (docs/serving.md, section 8).

#include <string>

#include "model/serving/deployment.hpp"
#include "model/serving/task.hpp"

namespace dfsearch::serving {

/// The class of a deployment with these figures; it has no rows yet.
MeasuredClass class_of(const Task& task, const Deployment& deployment, const Figures& figures);

/// Whether both classes contain the same deployments.
bool is_same_class(const MeasuredClass& a, const MeasuredClass& b);

/// The class of the engine that is nearest to `to`; null if nothing was measured with the engine.
const MeasuredClass* nearest_class(const Engine& engine, const MeasuredClass& to);

/// Adds the error of a prediction to a class: the error of a time per token, or minus the error of
/// the throughput of a job.
void add_error(double error, MeasuredClass& to);

/// The text of a class: "experts in 4 bits, ranks of requests, up to 256 at once".
std::string text_of(const MeasuredClass& of);

/// A caution if no or few deployments of this class were measured, or if errors were large.  Empty
/// otherwise, and for an ideal engine without measurements.
std::string doubt_of(const Engine& engine, const MeasuredClass& of);

}  // namespace dfsearch::serving
