// A dot takes over the product of its accumulator and a column, acc *
// shrink[:, None]: the rescaling of flash attention. The kernel multiplies the
// sums when it loads them, so the accumulator is not gone through once more.
#include <algorithm>

#include "lowering.h"
#include "ops/dot.h"

namespace triton_runner::tile {

class DotFuser {
 public:
  explicit DotFuser(Lowering& l) : l_(l) {}

  void run() {
    reads_.assign(l_.code_.types.size(), 0);
    for (const Pending& p : l_.pending_)
      for (size_t i = p.instr.num_results; i < p.slots.size(); ++i) ++reads_[p.slots[i]];
    std::vector<uint8_t> leader(l_.pending_.size() + 1, 0), taken(l_.pending_.size(), 0);
    for (int64_t at : l_.labels_)
      if (at >= 0) leader[static_cast<size_t>(at)] = 1;
    size_t begin = 0;  // of the basic block
    bool any = false;
    for (size_t i = 0; i < l_.pending_.size(); ++i) {
      if (leader[i]) begin = i;
      if (can_scale_accumulator(l_.pending_[i].instr)) any |= take_product(begin, i, taken);
      if (l_.pending_[i].target >= 0 || !l_.pending_[i].falls_through) begin = i + 1;
    }
    if (any) l_.remove(taken);
  }

 private:
  using Pending = Lowering::Pending;

  static Slot operand(const Pending& p, size_t i) { return p.slots[p.instr.num_results + i]; }
  const TileType& type(Slot s) const { return *l_.code_.types[s]; }

  // What writes the slot last before `end`; -1: nothing from `begin` on.
  int64_t maker(Slot s, size_t begin, size_t end) const {
    for (size_t i = end; i-- > begin;) {
      const Pending& p = l_.pending_[i];
      for (size_t k = 0; k < p.instr.num_results; ++k)
        if (p.slots[k] == s) return static_cast<int64_t>(i);
    }
    return -1;
  }

  // A tile of rank 2 that a column was made into by repeating it.
  bool is_repeated_column(Slot s, size_t begin, size_t end) const {
    const int64_t at = maker(s, begin, end);
    const ir::Op* op = at < 0 ? nullptr : l_.pending_[static_cast<size_t>(at)].instr.op;
    if (!op || op->kind != ir::OpKind::kBroadcast) return false;
    const TileType& from = type(operand(l_.pending_[static_cast<size_t>(at)], 0));
    return from.rank == 2 && from.shape[1] == 1 && type(s).shape[1] > 1;
  }

  bool take_product(size_t begin, size_t at, std::vector<uint8_t>& taken) {
    Pending& dot = l_.pending_[at];
    const Slot sum = operand(dot, 2);
    const int64_t found = maker(sum, begin, at);
    if (found < 0 || reads_[sum] != 1) return false;
    const size_t from = static_cast<size_t>(found);
    const Pending& product = l_.pending_[from];
    if (product.prologue || !product.instr.op || product.instr.op->kind != ir::OpKind::kMulF) return false;
    for (size_t side = 0; side < 2; ++side) {
      const Slot whole = operand(product, 1 - side), column = operand(product, side);
      if (!is_repeated_column(column, begin, from)) continue;
      // Both are still what they were when the dot runs.
      if (maker(whole, from, at) >= 0 || maker(column, from, at) >= 0) continue;
      scale_accumulator(l_, dot.instr, dot.slots, whole, column);
      taken[from] = 1;
      return true;
    }
    return false;
  }

  Lowering& l_;
  std::vector<uint32_t> reads_;  // by slot, in the whole code
};

void fuse_dots(Lowering& lowering) { DotFuser(lowering).run(); }

}  // namespace triton_runner::tile
