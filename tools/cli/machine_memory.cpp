#include "cli/machine_memory.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

namespace dfsearch {
namespace {

/// Infinite unless the file begins with a number.
Bytes number_in(const char* file) {
  std::ifstream in(file);
  double number = 0.0;
  return in >> number ? Bytes(number) : Bytes::infinity();
}

Bytes shell_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
    return Bytes::infinity();
  }
  return Bytes(static_cast<double>(limit.rlim_cur));
}

}  // namespace

Bytes machine_memory() {
  const Bytes physical(static_cast<double>(sysconf(_SC_PHYS_PAGES)) *
                       static_cast<double>(sysconf(_SC_PAGE_SIZE)));
  return std::min({physical, number_in("/sys/fs/cgroup/memory.max"), shell_limit()});
}

}  // namespace dfsearch
