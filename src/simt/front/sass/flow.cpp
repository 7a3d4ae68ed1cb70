// Lowers jumps, calls, reconvergence. A region (BSSY) keeps, in its barrier register, which threads of the
// warp entered it together; BSYNC waits for those of them that live and have not left it (BREAK).
#include "front/ptx/builtin.h"
#include "front/sass/handlers.h"
#include "front/sass/lower.h"
#include "ops/barrier.h"
#include "ops/control.h"
#include "state/turns.h"

namespace triton_runner::simt {
namespace {

bool lower_jump(SassLowering& l, const sass::Operand& label) {
  if (label.integer < 0)
    return l.fail("'" + std::string(label.selector) +
                  "' is in another section: such jumps are not executed yet");
  const auto at = static_cast<uint32_t>(l.code.instrs.size());
  l.emit(branch);
  l.jump_to(at, static_cast<uint64_t>(label.integer));
  return true;
}

// To an address of the section, in a place of 64 bits.
bool lower_jump_to(SassLowering& l, uint32_t address) {
  const uint32_t index = l.temporary(8);
  l.ptx("shr.u64 %d0, %d1, 4", {index, address});
  const auto at = static_cast<uint32_t>(l.code.instrs.size());
  l.emit<branch_table>({.a = index, .small = 8});
  l.jump_anywhere(at);
  return true;
}

// "R2 `(kernel)": R2 bytes after the label.
bool lower_far_jump(SassLowering& l) {
  if (l.slot(1)->integer < 0) return lower_jump(l, *l.slot(1));
  const uint32_t to = l.temporary(8);
  l.ptx("add.s64 %d0, %d1, " + std::to_string(l.slot(1)->integer), {to, l.pair(0)});
  return lower_jump_to(l, to);
}

// A barrier register that may come after a predicate.
uint32_t guarded_barrier(SassLowering& l) {
  if (l.shape() == 1) l.guard_by(l.predicate(0));
  return l.barrier(l.slot(l.shape())->index);
}

bool lower_barrier_move(SassLowering& l) {
  if (l.shape() == 1) {
    return l.copy(l.barrier(l.slot(0)->index), l.word(1), 4);
  }
  const uint32_t barrier = l.barrier(l.slot(1)->index);
  l.copy(l.result(0), barrier, 4);
  if (l.has("CLEAR")) l.copy(barrier, l.constant(0, 4), 4);
  return true;
}

// A function that the driver has, whose arguments lie in registers from R4 on, 64 bits at even ones. It returns to the
// address in R20.
bool lower_driver_call(SassLowering& l) {
  const uint32_t to = l.pair(0), back = l.pair_from(20);
  const BuiltinCall call{{l.pair_from(4), l.pair_from(6), l.reg(8), l.pair_from(10), l.pair_from(12)},
                         kNoRegister,
                         l.reg(4),
                         l.reg(5),
                         true};
  l.code.uses_heap = true;  // which function is called, the constant bank says
  l.emit(handler<call_builtin>, {.a = to}, call);
  l.name_last();
  const bool done = lower_jump_to(l, back);
  l.name_last();
  return done;
}

}  // namespace

bool lower_flow(SassLowering& l) {
  switch (l.opcode()) {
    case sass::Opcode::kBMOV:
      return lower_barrier_move(l);
    case sass::Opcode::kBRA:
      if (l.shape() == 1) l.guard_by(l.predicate(0));
      if (l.has("ANY")) l.guard_by_any();
      return lower_jump(l, *l.slot(l.shape()));
    case sass::Opcode::kBRA_CONV:  // the members meet here: the way for those that are apart is never taken
      if (l.shape() == 1) return true;  // no members are named: what follows brings all threads together
      [[fallthrough]];
    case sass::Opcode::kBRA_DIV: {
      const uint32_t members = l.word(0);
      l.emit<warp_sync>({.a = members});
      return l.opcode() == sass::Opcode::kBRA_DIV || lower_jump(l, *l.slot(1));
    }
    case sass::Opcode::kBREAK: {
      const uint32_t barrier = guarded_barrier(l);
      return l.emit(leave_region, {.a = barrier});
    }
    case sass::Opcode::kBRX: {  // from the instruction that follows
      const uint32_t to = l.temporary(8);
      const int64_t from = static_cast<int64_t>(l.in().address) + 16 + l.slot(1)->integer;
      l.ptx("add.s64 %d0, %d1, " + std::to_string(from), {to, l.pair(0)});
      return lower_jump_to(l, to);
    }
    case sass::Opcode::kBSSY:
      return l.emit(enter_region, {.d = l.barrier(l.slot(0)->index)});
    case sass::Opcode::kBSYNC: {
      const uint32_t barrier = guarded_barrier(l);
      return l.emit(meet_region, {.a = barrier});
    }
    case sass::Opcode::kCALL:  // the code puts the address to return to into a register itself
      return l.shape() == 0 ? lower_jump(l, *l.slot(0)) : lower_far_jump(l);
    case sass::Opcode::kCALL_ABS:
      return lower_driver_call(l);
    case sass::Opcode::kLEPC: {  // its own address, or the label's
      const sass::Operand* label = l.slot(1);
      if (label && label->integer < 0) return false;
      const auto at = label ? static_cast<uint64_t>(label->integer) : l.in().address;
      return l.give_pair(0, l.constant(at, 8));
    }
    case sass::Opcode::kEXIT:
      if (l.slot(0)) l.guard_by(l.predicate(0));
      return l.emit(end_thread, {});
    case sass::Opcode::kRET:
      return lower_far_jump(l);
    case sass::Opcode::kWARPSYNC_COLLECTIVE:  // up to ENDCOLLECTIVE, at -O0
    case sass::Opcode::kWARPSYNC_EXCLUSIVE: {
      if (l.has("ALL")) {
        return l.emit<warp_sync>({.a = kNoRegister});
      }
      const uint32_t members = l.word(0);
      l.emit(meet_region, {.a = members});
      l.only_these(members);
      return true;
    }
    case sass::Opcode::kWARPSYNC: {
      const uint32_t members = l.slot(0) ? l.word(0) : kNoRegister;
      return l.emit<warp_sync>({.a = members});
    }
    case sass::Opcode::kYIELD:
      return l.emit(handler<yield_turn>, {});
    default:  // ENDCOLLECTIVE, NOP
      return true;
  }
}

}  // namespace triton_runner::simt
