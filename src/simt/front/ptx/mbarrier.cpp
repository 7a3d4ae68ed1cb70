// Lowers mbarrier. See PTX ISA 9.7.13.15.
#include "async/mbarrier.h"

#include "front/ptx/addresses.h"

namespace triton_runner::simt {

using ptx::Mod;
using ptx::OperandKind;

namespace {

bool is_generic(const ptx::Instruction& in) {
  return !in.has(Mod::kShared) && !in.has(Mod::kSharedCta) && !in.has(Mod::kSharedCluster);
}

bool lower_arrive(Lowering& l, const ptx::Instruction& in, MbarrierPlan op) {
  const bool has_state = in.operands[0].kind != OperandKind::kAddress;
  const size_t at = has_state ? 1 : 0;
  if (in.operands.size() <= at) return l.fail(in, "mbarrier.arrive needs the barrier's address");
  if (!address_place(l, in.operands[at], &op.address)) return false;
  if (in.operands.size() > at + 1) op.value = l.place(in.operands[at + 1], Mod::kU32);
  op.expect_tx = in.has(Mod::kExpectTx);
  op.drop = in.has(Mod::kArriveDrop);
  op.no_complete = in.has(Mod::kNoComplete);
  if (op.expect_tx && op.value == kNoRegister) return l.fail(in, ".expect_tx needs a number of bytes");
  return l.emit(handler<run_mbarrier_arrive>, {.d = has_state ? l.reg(in.operands[0]) : kNoRegister}, op);
}

}  // namespace

bool lower_mbarrier(Lowering& l, const ptx::Instruction& in) {
  MbarrierPlan op;
  op.address.generic = is_generic(in);
  auto address = [&](size_t i) {
    return i < in.operands.size() && address_place(l, in.operands[i], &op.address);
  };
  if (in.has(Mod::kArrive) || in.has(Mod::kArriveDrop)) return lower_arrive(l, in, op);
  if (in.has(Mod::kPendingCount)) {
    const uint32_t d = l.reg(in.operands[0]), a = l.place(in.operands[1], Mod::kB64);
    if (d == kNoRegister) return true;
    return l.emit<run_mbarrier_pending_count>({.d = d, .a = a});
  }
  if (in.has(Mod::kTestWait) || in.has(Mod::kTryWait)) {
    if (in.operands.size() < 3) return l.fail(in, "a predicate, the barrier's address and what to wait for");
    op.parity = in.has(Mod::kParity);
    if (!address(1)) return false;
    op.value = l.place(in.operands[2], op.parity ? Mod::kU32 : Mod::kB64);
    const uint32_t d = l.reg(in.operands[0]);
    if (d == kNoRegister) return l.fail(in, "the result of a wait has to be a predicate");
    return l.emit(in.has(Mod::kTryWait) ? handler<run_mbarrier_try_wait> : handler<run_mbarrier_test_wait>,
                  {.d = d}, op);
  }
  if (!address(0)) return false;
  Handler run = nullptr;
  if (in.has(Mod::kInval)) {
    run = handler<run_mbarrier_inval>;
  } else {
    if (in.operands.size() < 2) return l.fail(in, "needs the barrier's address and a count");
    op.value = l.place(in.operands[1], Mod::kU32);
    run = in.has(Mod::kInit)       ? handler<run_mbarrier_init>
          : in.has(Mod::kExpectTx) ? handler<run_mbarrier_expect_tx>
                                   : handler<run_mbarrier_complete_tx>;
  }
  return l.emit(run, {}, op);
}

}  // namespace triton_runner::simt
