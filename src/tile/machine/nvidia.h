// Declares what the files of NVIDIA's ops (nvidia_*.cpp) share: columns of tensor memory, barriers, products
// of tcgen05.
#pragma once
#include "lowering.h"
#include "machine/cluster.h"
#include "machine/memdesc.h"
#include "task.h"

namespace triton_runner::tile {

// Columns for so many bytes of each row, the place of the first of them.
int64_t reserve_columns(Lowering& l, const ir::Op& op, int64_t bytes);

// mbarriers among an instruction's operands that an operation arrives at when it is done.
struct Barriers {
  int first, first_pred, count;  // operands; first_pred -1: always
  int arrivals = 1;              // at each
};
// At those of each of the blocks. False: trapped.
bool arrive_all(Task& t, const Instr& in, const Barriers& barriers, std::span<Program* const> blocks);
// Returns how many blocks of the cluster arrive at a block's mbarrier where each tells all blocks that have
// its share of one of these buffers: the blocks of a cluster are one program here, with one mbarrier.
int multicast_arrivals(Lowering& l, const ir::Op& op, std::span<const ir::Value* const> buffers);

// Both of tcgen05's products have these: an accumulator, m x n, and who is told when it is there.
struct Gen5 {
  const MemPlan* d;  // row-major
  int d_operand, use_d, pred;
  Barriers barriers;
  int64_t m, n, k;
  num::Type result;
};
// The blocks whose tensor cores do what an instruction of tcgen05 says. A pair makes one product: each block has its rows of a
// and of the accumulator, and half of the columns of b.
class TensorBlocks {
 public:
  explicit TensorBlocks(Task& t) : own_{t.program} {
    if (are_paired(*t.code)) [[unlikely]]
      pair_ = tensor_blocks(t), is_pair_ = true;
  }
  std::span<Program* const> all() const { return is_pair_ ? std::span<Program* const>(pair_) : own_; }

 private:
  Program* own_[1];
  std::vector<Program*> pair_;
  bool is_pair_ = false;
};

// Fills in which operands are d, use_d, pred and the barriers.
void find_operands(Lowering& l, const ir::Op& op, Gen5& g);

}  // namespace triton_runner::tile
