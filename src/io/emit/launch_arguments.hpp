#pragma once
// A result as the launch arguments of frameworks that train and serve.

#include <string>

#include "model/framework.hpp"

namespace dfsearch {

/// Arguments of the plan or deployment of a result in JSON (docs/results.md); comments say what the
/// framework cannot do as the answer says.  `name` stands for the result in messages.  Throws
/// InputError for a result without a plan, or without a deployment, as the framework needs.
std::string launch_arguments(const std::string& result, const std::string& name,
                             Framework framework);

}  // namespace dfsearch
