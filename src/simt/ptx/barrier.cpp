// bar, barrier, barrier.cluster, fences, and instructions that only tell the hardware something. PTX
// ISA 9.7.13.1 to 9.7.13.4, 9.7.13.13, 9.7.19.
#include "barrier.h"

#include "ptx/lower.h"

namespace triton_runner::simt {
namespace {

bool lower_bar(Lowering& l, const ptx::Instruction& in) {
  using ptx::Mod;
  auto operand = [&](size_t i) { return l.place(in.operands[i], Mod::kU32); };
  if (in.has(Mod::kCluster)) {
    l.emit(in.has(Mod::kArrive) ? cluster_arrive : cluster_wait);
    return true;
  }
  if (in.has(Mod::kWarp)) {
    if (in.operands.size() != 1) return l.error(in, "bar.warp.sync takes a mask of its threads");
    uint32_t mask = operand(0);
    l.emit(warp_sync).a = mask;
    return true;
  }
  if (in.has(Mod::kRed)) {
    // d, a {, b}, {!}c
    if (in.operands.size() < 3) return l.error(in, "barrier.red takes a result, a barrier and a predicate");
    const bool popc = in.has(Mod::kPopc);
    const ptx::Operand& c = in.operands.back();
    uint32_t d = l.reg(in.operands[0]), a = operand(1);
    uint32_t b = in.operands.size() > 3 ? operand(2) : kNoRegister;
    uint32_t p = l.place(c, Mod::kPred);
    Instr& i = l.emit(bar_red);
    i.d = d, i.a = a, i.b = b, i.c = p;
    i.small = c.negated ? 0xff : 0;
    i.imm = popc ? kCount : in.has(Mod::kAnd) ? kAll : kAny;
    return true;
  }
  if (in.operands.empty()) return l.error(in, "expected the number of a barrier");
  uint32_t a = operand(0), b = in.operands.size() > 1 ? operand(1) : kNoRegister;
  if (in.has(Mod::kArrive) && b == kNoRegister)
    return l.error(in, "barrier.arrive needs the number of threads of the barrier");
  Instr& i = l.emit(in.has(Mod::kArrive) ? bar_arrive : bar_sync);
  i.a = a, i.b = b;
  return true;
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
