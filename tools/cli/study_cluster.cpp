#include "cli/commands.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <system_error>

#include "base/error.hpp"

namespace dfsearch {
namespace {

#ifdef DFSEARCH_HAS_MPI
constexpr bool kHasMpi = true;
#else
constexpr bool kHasMpi = false;
#endif

/// A number that launchers of Open MPI and of MPICH's derivatives put into the environment.
std::optional<int> launcher_number(const std::array<const char*, 2>& names) {
  for (const char* name : names) {
    const char* text = std::getenv(name);
    if (text != nullptr && std::atoi(text) > 0) return std::atoi(text);
  }
  return std::nullopt;
}

/// Number of processes that MPI has started; one without MPI.
int process_count() { return launcher_number({"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}).value_or(1); }

/// The function of a module, which is next to the built program or in its installed place.
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

}  // namespace

void refuse_many_processes(const char* command) {
  if (process_count() == 1) return;
  throw InputError(fmt::format(
      "{}: MPI has started {} processes, and each would do all of it: only 'dfsearch study' is "
      "spread over processes, expected one, with --threads (or unset OMPI_COMM_WORLD_SIZE and "
      "PMI_SIZE)",
      command, process_count()));
}

std::unique_ptr<study::Cluster> open_cluster() {
  if (process_count() == 1) return nullptr;
  if (!kHasMpi) {
    throw InputError(
        "this dfsearch was built without MPI and would run many times over: expected "
        "one process, or parts of the study with --shard");
  }
  using Open = study::Cluster*();
  auto* const open =
      reinterpret_cast<Open*>(load_module("dfsearch_mpi.so", "dfsearch_open_cluster"));
  return std::unique_ptr<study::Cluster>(open());
}

int threads_of_a_process(int hardware_threads) {
  const int processes =
      launcher_number({"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"}).value_or(1);
  return std::max(1, hardware_threads / processes);
}

std::string cluster_text() { return kHasMpi ? "with MPI\n" : ""; }

}  // namespace dfsearch
