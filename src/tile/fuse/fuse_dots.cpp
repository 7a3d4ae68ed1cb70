// Gives dots some of the work around them, from which flash attention gains.
//
// A dot takes over the product of its accumulator and a column, acc * shrink[:, None]: the kernel multiplies
// the sums when it loads them, so the accumulator is not gone through once more. And a factor that a loop
// does not change, the queries, is made f32 once, where it is made, and not by each of the loop's dots.
#include <algorithm>
#include <map>

#include "lowering.h"
#include "ops/dot.h"
#include "ops/elementwise.h"

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
    widen_before_loops();
  }

 private:
  using Pending = Lowering::Pending;

  void widen_before_loops() {
    std::vector<uint32_t> makers(l_.code_.types.size(), 0);
    std::vector<size_t> made_at(l_.code_.types.size(), 0);
    for (size_t i = 0; i < l_.pending_.size(); ++i)
      for (size_t k = 0; k < l_.pending_[i].instr.num_results; ++k)
        ++makers[l_.pending_[i].slots[k]], made_at[l_.pending_[i].slots[k]] = i;
    std::map<std::pair<Slot, num::Type>, Slot> wide;
    std::multimap<size_t, Pending> after;  // the instruction with that index
    for (Pending& dot : l_.pending_)
      for (uint32_t side = 0; side < 2; ++side) {
        const std::optional<num::Type> as = narrow_factor(dot.instr, side);
        if (!as) continue;
        const Slot factor = operand(dot, side);
        if (makers[factor] != 1) continue;
        const Pending& maker = l_.pending_[made_at[factor]];
        if (maker.prologue || !is_within(dot.instr.loop, maker.instr.loop)) continue;
        auto [found, is_new] = wide.try_emplace({factor, *as});
        if (is_new) {
          found->second = l_.new_slot(l_.tile_type(num::Type::kF32, type(factor).shape));
          Pending widen;
          widen.instr = widening(l_, dot.instr, *as);
          widen.instr.loop = maker.instr.loop;
          widen.slots = {found->second, factor};
          after.emplace(made_at[factor], std::move(widen));
        }
        take_widened(l_, dot.instr, dot.slots, side, found->second);
      }
    if (!after.empty()) insert(after);
  }

  bool is_within(uint32_t loop, uint32_t outer) const {
    while (loop && loop != outer) {
      loop = l_.code_.loops[loop - 1].parent;
      if (loop == outer) return true;
    }
    return false;
  }

  // Labels go on naming the instruction that they named: who jumps there has run what is inserted before.
  void insert(std::multimap<size_t, Pending>& after) {
    std::vector<Pending> all;
    std::vector<int64_t> moved(l_.pending_.size() + 1);
    for (size_t i = 0; i < l_.pending_.size(); ++i) {
      moved[i] = static_cast<int64_t>(all.size());
      all.push_back(std::move(l_.pending_[i]));
      auto [from, to] = after.equal_range(i);
      for (auto it = from; it != to; ++it) all.push_back(std::move(it->second));
    }
    moved[l_.pending_.size()] = static_cast<int64_t>(all.size());
    for (int64_t& at : l_.labels_)
      if (at >= 0) at = moved[static_cast<size_t>(at)];
    l_.pending_ = std::move(all);
  }

  static Slot operand(const Pending& p, size_t i) { return p.slots[p.instr.num_results + i]; }
  const TileType& type(Slot s) const { return *l_.code_.types[s]; }

  // Returns what writes the slot last before `end`; -1: nothing from `begin` on.
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
    if (product.prologue || product.fusion != Fusion::kMap ||
        !is_functor(product.instr, num::elementwise_mulf, type(sum).element))
      return false;
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
