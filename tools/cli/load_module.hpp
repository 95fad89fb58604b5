#pragma once
// Parts of the program that are loaded only where they are needed, since their libraries are large.

namespace dfsearch {

/// The function of a module, which lies beside the program as built or where it is installed.  Throws
/// InputError.
void* load_module(const char* file, const char* function);

}  // namespace dfsearch
