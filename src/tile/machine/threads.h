// Threads, for the few ops that are about them: a tile is computed as a whole, and its layout says who
// would hold what.
#pragma once
#include <optional>
#include <vector>

#include "lowering.h"

namespace triton_runner::tile {

struct ThreadElements {
  int64_t registers = 0, lanes = 0, warps = 0, blocks = 0;
  std::vector<int32_t> element;  // row-major index, by [block][warp][lane][register]
  int64_t threads() const { return lanes * warps * blocks; }
};

// Of a tensor in TTGIR. None after an error (reported at `op`): no layout, one that is not known, or one of
// more than 2^20 registers in all.
std::optional<ThreadElements> thread_elements(Lowering& l, const ir::Op& op, const ir::Type& type);

// Warps that run the op: those of the partition around it, else the program's.
int64_t warps_around(Lowering& l, const ir::Op& op);
// Whether the op stands in a region of ttg.warp_specialize.
bool in_partition(const ir::Op& op);

}  // namespace triton_runner::tile
