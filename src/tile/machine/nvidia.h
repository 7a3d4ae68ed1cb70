// The files of NVIDIA's ops share these.
#pragma once
#include "lowering.h"
#include "machine/memdesc.h"
#include "task.h"

namespace triton_runner::tile {

// mbarriers among an instruction's operands that an operation arrives at when it is done.
struct Barriers {
  int first, first_pred, count;  // operands; first_pred -1: always
  int arrivals = 1;              // at each
};
// False: trapped.
bool arrive_all(Task& t, const Instr& in, const Barriers& barriers);
// How many blocks of the cluster arrive at a block's mbarrier where each tells all blocks that have its share
// of one of these buffers: the blocks of a cluster are one program here, with one mbarrier.
int multicast_arrivals(Lowering& l, const ir::Op& op, std::span<const ir::Value* const> buffers);

// Both of tcgen05's products have these: an accumulator, m x n, and who is told when it is there.
struct Gen5 {
  const MemPlan* d;  // row-major
  int d_operand, use_d, pred;
  Barriers barriers;
  int64_t m, n, k;
  num::Type result;
};
// Fills in which operands are d, use_d, pred and the barriers.
void find_operands(Lowering& l, const ir::Op& op, Gen5& g);

}  // namespace triton_runner::tile
