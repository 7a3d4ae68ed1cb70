// usable_memory() tells how many bytes of memory this process may use: the machine's, or what its control
// group allows.
#include <triton_runner/exec/memory.h>

#include <unistd.h>

#include <algorithm>
#include <fstream>

namespace triton_runner::exec {

uint64_t usable_memory() {
  static const uint64_t bytes = [] {
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    uint64_t least = pages > 0 && size > 0 ? static_cast<uint64_t>(pages) * static_cast<uint64_t>(size)
                                           : uint64_t{1} << 40;
    // Control groups 2 and 1; "max" where there is no limit.
    for (const char* path : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
      uint64_t limit = 0;
      if (std::ifstream(path) >> limit && limit > 0) least = std::min(least, limit);
    }
    return least;
  }();
  return bytes;
}

}  // namespace triton_runner::exec
