#pragma once
// The version of dfsearch in results and --version.  tools/cli/options.cpp does not compile if this
// version differs from the version of the project in CMakeLists.txt.

namespace dfsearch {

inline constexpr const char* kVersion = "1.0.0";

}  // namespace dfsearch
