#pragma once
// Models of ONNX, read by the package of Python.

#include "cli/options.hpp"

namespace dfsearch {

/// Puts the config that a model of ONNX is into the line, if its input is one.  Throws InputError.
void import_onnx(CommandLine& line);

}  // namespace dfsearch
