#pragma once
// The version of dfsearch, as results and --version give it; the same as that
// of the project in CMakeLists.txt (tests/cli holds them together).

namespace dfsearch {

inline constexpr const char* kVersion = "1.0.0";

}  // namespace dfsearch
