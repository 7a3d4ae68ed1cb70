// Lowers bar, barrier, barrier.cluster, fences, and instructions that only tell the hardware something. PTX
// ISA 9.7.13.1 to 9.7.13.4, 9.7.13.13, 9.7.19. mbarriers are in mbarrier.cpp.
#include "ops/barrier.h"

#include "front/ptx/lower.h"

namespace triton_runner::simt {
namespace {

bool lower_bar(Lowering& l, const ptx::Instruction& in) {
  using ptx::Mod;
  auto operand = [&](size_t i) { return l.place(in.operands[i], Mod::kU32); };
  if (in.has(Mod::kCluster))
    return l.emit(in.has(Mod::kArrive) ? handler<cluster_arrive> : handler<cluster_wait>, {});
  if (in.has(Mod::kWarp)) {
    if (in.operands.size() != 1) return l.fail(in, "bar.warp.sync takes a mask of its threads");
    return l.emit<warp_sync>({.a = operand(0)});
  }
  if (in.has(Mod::kRed)) {
    // d, a {, b}, {!}c
    if (in.operands.size() < 3) return l.fail(in, "barrier.red takes a result, a barrier and a predicate");
    const ptx::Operand& c = in.operands.back();
    const uint32_t d = l.reg(in.operands[0]), a = operand(1);
    const uint32_t b = in.operands.size() > 3 ? operand(2) : kNoRegister;
    const uint32_t p = l.place(c, Mod::kPred), flip = c.negated ? 0xff : 0;
    const int64_t vote = in.has(Mod::kPopc) ? kCount : in.has(Mod::kAnd) ? kAll : kAny;
    return l.emit<bar_red>({.d = d, .a = a, .b = b, .c = p, .small = flip, .imm = vote});
  }
  if (in.operands.empty()) return l.fail(in, "expected the number of a barrier");
  uint32_t a = operand(0), b = in.operands.size() > 1 ? operand(1) : kNoRegister;
  if (in.has(Mod::kArrive) && b == kNoRegister)
    return l.fail(in, "barrier.arrive needs the number of threads of the barrier");
  return l.emit(in.has(Mod::kArrive) ? handler<bar_arrive> : handler<bar_sync>, {.a = a, .b = b});
}

}  // namespace

bool lower_barrier(Lowering& l, const ptx::Instruction& in) {
  if (in.does(ptx::Effect::kMeets)) return lower_bar(l, in);
  // Fences: memory is coherent here, in program order. setmaxnreg, griddepcontrol, nanosleep: hints.
  return lower_hint(l, in);
}

bool lower_hint(Lowering& l, const ptx::Instruction&) {
  l.emit(nothing).guard = kNoRegister;
  return true;
}

}  // namespace triton_runner::simt
