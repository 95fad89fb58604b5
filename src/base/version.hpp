#pragma once
// The version of dfsearch, as results and --version give it; the same as that
// of the project in CMakeLists.txt (tools/cli/options.cpp does not compile otherwise).

namespace dfsearch {

inline constexpr const char* kVersion = "1.0.0";

}  // namespace dfsearch
