// Declares clusters whose blocks are programs of the grid: which of them an op reaches.
#pragma once
#include <vector>

#include "lowering.h"
#include "machine/memdesc.h"
#include "task.h"

namespace triton_runner::tile {

// The block of that rank in the program's cluster; null: there is none.
Program* block_of_rank(const Task& t, int64_t rank);
// The block whose memory the descriptor names.
inline Program& block_of(const Task& t, MemDesc d) {
  return d.block ? *t.program->cluster->blocks[d.block - 1] : *t.program;
}
// Returns the blocks in whose memory an op writes to its buffer and tells its barrier: the one of the rank, or those of the
// multicast mask, that it has as an operand, else its own. Of ranks that no block has none.
std::vector<Program*> blocks_reached(Task& t, const Instr& in);

// Tells whether the blocks of a cluster, which are programs, use their tensor cores in pairs.
inline bool are_paired(const CodeHeader& code) { return code.two_ctas && code.cluster_size() > 1; }
// The blocks whose tensor cores do what this block issues: the pair that it leads, or it alone; none where the other
// block of its pair issues it.
std::vector<Program*> tensor_blocks(const Task& t);
// The first block of a cluster along x asks launch control for all of them.
bool asks_for_cluster(const Task& t);
// Emits that the blocks of a cluster meet after `init`, an mbarrier's, where the compiler has them do so.
void lower_meeting(Lowering& l, const ir::Op& init);

}  // namespace triton_runner::tile
