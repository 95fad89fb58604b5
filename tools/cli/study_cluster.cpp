#include "cli/study_cluster.hpp"

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

namespace fs = std::filesystem;

#ifdef DFSEARCH_HAS_MPI
constexpr bool kHasMpi = true;
#else
constexpr bool kHasMpi = false;
#endif

/// A number that a launcher of Open MPI, or of MPICH and its kin, leaves in the environment.
std::optional<int> told(const std::array<const char*, 2>& names) {
  for (const char* name : names) {
    const char* text = std::getenv(name);
    if (text != nullptr && std::atoi(text) > 0) return std::atoi(text);
  }
  return std::nullopt;
}

/// Beside the program, as built, or where it is installed.
fs::path module_file() {
  std::error_code error;
  const fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  const fs::path installed = folder / ".." / DFSEARCH_LIBRARY_FOLDER / "dfsearch_mpi.so";
  const fs::path built = folder / "dfsearch_mpi.so";
  return fs::exists(built, error) ? built : installed;
}

/// How many processes MPI has started; one without it.
int process_count() { return told({"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}).value_or(1); }

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
  const fs::path file = module_file();
  void* module = dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (module == nullptr) throw InputError(file.string() + ": " + dlerror());
  using Open = study::Cluster*();
  auto* const open = reinterpret_cast<Open*>(dlsym(module, "dfsearch_open_cluster"));
  if (open == nullptr) throw InputError(file.string() + ": is no module of dfsearch");
  return std::unique_ptr<study::Cluster>(open());
}

int threads_of_a_process(int hardware_threads) {
  const int processes = told({"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"}).value_or(1);
  return std::max(1, hardware_threads / processes);
}

std::string cluster_text() { return kHasMpi ? "with MPI\n" : ""; }

}  // namespace dfsearch
