#include "cli/load_module.hpp"

#include <dlfcn.h>

#include <filesystem>
#include <system_error>

#include "base/error.hpp"

namespace dfsearch {

void* load_module(const char* file, const char* function) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  fs::path module = folder / file;
  if (!fs::exists(module, error)) module = folder / ".." / DFSEARCH_LIBRARY_FOLDER / file;
  void* loaded = dlopen(module.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (loaded == nullptr) throw InputError(module.string() + ": " + dlerror());
  void* found = dlsym(loaded, function);
  if (found == nullptr) throw InputError(module.string() + ": is no module of dfsearch");
  return found;
}

}  // namespace dfsearch
