// Computes how many blocks of a kernel an SM holds at once, and what keeps it from holding more. No GPU is
// asked.
//
// The limits of each architecture are those of the CUDA Programming Guide, "Compute Capabilities"; registers
// are given out to warps in 256, shared memory to blocks in 128 bytes (sm_75: 256), as NVIDIA's occupancy
// calculator has it. Clusters are not counted: blocks of a cluster that must run together can lower what is
// reached.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <triton_runner/base/result.h>

namespace triton_runner::artifact {

struct Occupancy {
  int blocks = 0;      // of the kernel on an SM
  int warps = 0;       // of these blocks
  int most_warps = 0;  // that the SM holds
  // The resources that allow no further block: "registers", "shared memory", "warps", "blocks".
  std::vector<std::string> limits;
};

// The occupancy of a block: `threads`, `registers` of each, `shared` bytes of shared memory, static and
// dynamic. Errors: a target without a row (AMD, unknown capabilities); a block that no SM can hold.
base::Result<Occupancy> occupancy(std::string_view target, int threads, int registers, int64_t shared);

}  // namespace triton_runner::artifact
