#pragma once
// The errors of the predictions of an engine: the classes of deployments that were
// measured with it, and the error of each (docs/serving.md, section 8).

#include <string>

#include "model/serving/deployment.hpp"
#include "model/serving/task.hpp"

namespace dfsearch::serving {

/// The class of a deployment with these figures, without rows.
MeasuredClass class_of(const Task& task, const Deployment& deployment, const Figures& figures);

/// Whether a row of the second class is one of the first.
bool is_same_class(const MeasuredClass& a, const MeasuredClass& b);

/// The class of the engine that differs least, or null if nothing was measured with it.
const MeasuredClass* nearest_class(const Engine& engine, const MeasuredClass& to);

/// Adds a prediction to the class: of a time per token, or of a job's throughput with its sign
/// turned.
void add_error(double error, MeasuredClass& to);

/// The words of a class: "experts in 4 bits, ranks of requests, up to 256 at once".
std::string text_of(const MeasuredClass& of);

/// A sentence on deployments of this class where few were measured, or some far off, or none;
/// empty: enough were, or the engine states nothing that was measured.
std::string doubt_of(const Engine& engine, const MeasuredClass& of);

}  // namespace dfsearch::serving
