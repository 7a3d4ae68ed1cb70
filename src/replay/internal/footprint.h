// footprints() counts the bytes of global memory that the traced programs touch, region by region. The replay
// takes the programs that were not traced to share memory in the same proportion.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include <triton_runner/replay/replay.h>

namespace triton_runner::replay {

struct Footprint {
  uint64_t each = 0;      // bytes, each once a program, of all traced programs
  uint64_t together = 0;  // each once
};
// The footprints in each of the regions.
std::vector<Footprint> footprints(const exec::Trace& trace, std::span<const Region> regions);

}  // namespace triton_runner::replay
