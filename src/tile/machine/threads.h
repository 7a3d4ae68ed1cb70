// Declares what is asked of threads by the few ops that are about them: a tile is computed as a whole, and
// its layout says who would hold what.
#pragma once
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <triton_runner/layout/linear_layout.h>

#include "lowering.h"

namespace triton_runner::tile {

struct ThreadElements {
  int64_t registers = 0, lanes = 0, warps = 0, blocks = 0;
  std::vector<int32_t> element;  // row-major index, by [block][warp][lane][register]
  int64_t threads() const { return lanes * warps * blocks; }
};

// The elements of a tensor in TTGIR. None after an error (reported at `op`): no layout, one that is not
// known, or one of more than 2^20 registers in all.
std::optional<ThreadElements> thread_elements(Lowering& l, const ir::Op& op, const ir::Type& type);

// The layout of a type's encoding; none: it has no encoding, or one that is not known.
std::optional<layout::LinearLayout> layout_of(const ir::Type& type);
// The images of the bits of an input dimension; empty: the layout has no such dimension.
std::span<const layout::Basis> bases_of(const layout::LinearLayout& layout, std::string_view dim);
// Returns whether a bit moves nothing: what it counts are copies.
bool is_copy(const layout::Basis& basis);

// Warps that run the op: those of the partition around it, else the program's.
int64_t warps_around(const CodeHeader& code, const ir::Op& op);
// Warps of a block, those of the partitions of the kernel that the op stands in included.
int64_t warps_of_block(const CodeHeader& code, const ir::Op& op);
// The number of the first warp that runs the op.
int64_t first_warp(const CodeHeader& code, const ir::Op& op);
// Returns whether the op stands in a region of ttg.warp_specialize.
bool in_partition(const ir::Op& op);

}  // namespace triton_runner::tile
