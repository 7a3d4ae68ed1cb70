// Implements block_of() by the rule that both engines have (machine::block_in).
#include "state/grid.h"

namespace triton_runner::simt {

std::array<uint32_t, 3> block_of(const Launch& launch, int64_t cluster, uint32_t rank) {
  const auto &blocks = launch.blocks, &shape = launch.code->cluster;
  const auto at =
      machine::block_in({blocks[0], blocks[1], blocks[2]}, {shape[0], shape[1], shape[2]}, cluster, rank);
  return {static_cast<uint32_t>(at[0]), static_cast<uint32_t>(at[1]), static_cast<uint32_t>(at[2])};
}

}  // namespace triton_runner::simt
