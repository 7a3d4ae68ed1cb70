// Lowers what wavefronts do once: scalar arithmetic with its condition code, EXEC, jumps, barriers.
#include <triton_runner/amdgcn/facts.h>

#include "async/copy.h"
#include "front/amdgcn/handlers.h"
#include "front/amdgcn/lower.h"
#include "ops/barrier.h"
#include "ops/control.h"
#include "ops/move.h"

namespace triton_runner::simt::amd {
namespace {

using enum lanes::Type;
using Op = lanes::Operation;
using amdgcn::Operand;

bool is_wide(AmdLowering& l) { return l.in().row->slots[0].bits == 64; }
lanes::Type bits(AmdLowering& l) { return is_wide(l) ? kB64 : kB32; }

bool is_nonzero(AmdLowering& l, uint32_t place) {
  const bool wide = is_wide(l);
  return l.compare(num::kCmpNe, wide ? kU64 : kU32, l.scc(), place, l.constant(0, wide ? 8 : 4));
}

bool give_scalar(AmdLowering& l) {
  l.give();
  const Operand& d = *l.slot(0);
  if (d.is_register() && d.index >= amdgcn::kExecLo) l.exec_changed();
  return true;
}

// a op b with either inverted, and the result.
struct Logic {
  lanes::Operation operation;
  bool not_first = false, not_second = false, not_result = false;
};
uint32_t logic(AmdLowering& l, const Logic& what, uint32_t a, uint32_t b, uint32_t d) {
  const lanes::Type type = bits(l);
  const uint32_t bytes = is_wide(l) ? 8 : 4;
  auto inverted = [&](uint32_t place) {
    const uint32_t out = l.scratch(bytes);
    l.lanes(Op::kNot, type, {.d = out, .a = place});
    return out;
  };
  if (what.not_first) a = inverted(a);
  if (what.not_second) b = inverted(b);
  l.lanes(what.operation, type, {.d = d, .a = a, .b = b});
  if (what.not_result) l.lanes(Op::kNot, type, {.d = d, .a = d});
  return d;
}
bool scalar_logic(AmdLowering& l, const Logic& what) {
  const uint32_t a = l.source(1), b = l.source(2), d = l.result();
  logic(l, what, a, b, d);
  is_nonzero(l, d);
  return give_scalar(l);
}

// d = EXEC; EXEC = a op EXEC. `writes`: d is the new EXEC.
bool save_exec(AmdLowering& l, const Logic& what, bool writes = false) {
  const bool wide = is_wide(l);
  const uint32_t bytes = wide ? 8 : 4;
  const Operand exec{.kind = amdgcn::OperandKind::kScalar, .index = amdgcn::kExecLo, .count = wide ? 2u : 1u};
  const uint32_t a = l.source(1);
  const uint32_t now = wide ? l.pair_at(exec) : l.scalar(amdgcn::kExecLo);
  const uint32_t next = l.scratch(bytes);
  logic(l, what, a, now, next);
  const uint32_t d = l.result();
  l.emit(copy_register(bytes), {.d = d, .a = writes ? next : now});
  l.give();
  if (wide)
    l.give_pair(exec, next);
  else
    l.emit(copy_register(4), {.d = l.scalar(amdgcn::kExecLo), .a = next});
  is_nonzero(l, next);
  l.exec_changed();
  return true;
}

}  // namespace

#define LOGIC_OF(name, ...) \
  bool lower_scalar_##name(AmdLowering& l) { return scalar_logic(l, {__VA_ARGS__}); }
LOGIC_OF(andn2, Op::kAnd, false, true)
LOGIC_OF(orn2, Op::kOr, false, true)
LOGIC_OF(nand, Op::kAnd, false, false, true)
LOGIC_OF(nor, Op::kOr, false, false, true)
LOGIC_OF(xnor, Op::kXor, false, false, true)
#undef LOGIC_OF
#define SAVE(name, ...) \
  bool lower_save_##name(AmdLowering& l) { return save_exec(l, {__VA_ARGS__}); }
SAVE(and, Op::kAnd)
SAVE(or, Op::kOr)
SAVE(xor, Op::kXor)
SAVE(andn2, Op::kAnd, false, true)
SAVE(orn2, Op::kOr, false, true)
SAVE(andn1, Op::kAnd, true)
SAVE(orn1, Op::kOr, true)
SAVE(nand, Op::kAnd, false, false, true)
SAVE(nor, Op::kOr, false, false, true)
SAVE(xnor, Op::kXor, false, false, true)
#undef SAVE
bool lower_write_andn1(AmdLowering& l) { return save_exec(l, {Op::kAnd, true}, true); }
bool lower_write_andn2(AmdLowering& l) { return save_exec(l, {Op::kAnd, false, true}, true); }

bool lower_scalar_select(AmdLowering& l) {
  const uint32_t a = l.source(1), b = l.source(2), d = l.result();
  l.lanes(Op::kSelp, bits(l), {.d = d, .a = a, .b = b, .c = l.scc()});
  return give_scalar(l);
}
bool lower_scalar_cmov(AmdLowering& l) {
  const Operand& o = *l.slot(0);
  const uint32_t a = l.source(1), kept = is_wide(l) ? l.pair_at(o) : l.register_at(o, 0), d = l.result();
  l.lanes(Op::kSelp, bits(l), {.d = d, .a = a, .b = kept, .c = l.scc()});
  return give_scalar(l);
}

namespace {

bool set_bit(AmdLowering& l, bool on) {
  const uint32_t bytes = is_wide(l) ? 8 : 4;
  const Operand& o = *l.slot(0);
  const uint32_t kept = is_wide(l) ? l.pair_at(o) : l.register_at(o, 0), n = l.source(1), d = l.result();
  l.emit(lanes::find(Op::kBfi, bits(l)),
         {.d = d, .a = l.constant(on ? 1 : 0, bytes), .b = kept, .c = n, .e = l.constant(1, 4)});
  return give_scalar(l);
}
bool test_bit(AmdLowering& l, bool is_set) {
  const uint32_t bytes = is_wide(l) ? 8 : 4, a = l.source(0), n = l.source(1), kept = l.scratch(4),
                 at = l.scratch(bytes);
  l.lanes(Op::kAnd, kB32, {.d = kept, .a = n, .b = l.constant(8 * bytes - 1, 4)});
  l.lanes(Op::kShr, is_wide(l) ? kU64 : kU32, {.d = at, .a = a, .b = kept});
  l.lanes(Op::kAnd, bits(l), {.d = at, .a = at, .b = l.constant(1, bytes)});
  return l.compare(is_set ? num::kCmpNe : num::kCmpEq, is_wide(l) ? kU64 : kU32, l.scc(), at,
                   l.constant(0, bytes));
}

}  // namespace

bool lower_bit_clear(AmdLowering& l) { return set_bit(l, false); }
bool lower_bit_set(AmdLowering& l) { return set_bit(l, true); }
bool lower_bit_is_clear(AmdLowering& l) { return test_bit(l, false); }
bool lower_bit_is_set(AmdLowering& l) { return test_bit(l, true); }

// --- sums and their carry: of what is unsigned where it leaves the 32 bits, of what is signed where the sign is wrong ----------
namespace {

// The sum in 64 bits says both.
bool add(AmdLowering& l, bool subtracts, bool is_signed, bool takes_carry) {
  const uint32_t a = l.source(1), b = l.source(2), d = l.result();
  const uint32_t wide[2] = {l.scratch(8), l.scratch(8)}, sum = l.scratch(8);
  const lanes::CvtKey key{kU64, is_signed ? kS32 : kU32, 8, 4, num::kNearest, false, false, false, false,
                          false};
  const lanes::CvtChoice widened = lanes::find_cvt(key);
  l.emit(widened.run, {.d = wide[0], .a = a, .small = widened.small, .imm = widened.imm});
  l.emit(widened.run, {.d = wide[1], .a = b, .small = widened.small, .imm = widened.imm});
  l.lanes(subtracts ? Op::kSub : Op::kAdd, kU64, {.d = sum, .a = wide[0], .b = wide[1]});
  if (takes_carry) {
    const uint32_t carry = l.scratch(8);
    l.lanes(Op::kSelp, kB64, {.d = carry, .a = l.constant(1, 8), .b = l.constant(0, 8), .c = l.scc()});
    l.lanes(subtracts ? Op::kSub : Op::kAdd, kU64, {.d = sum, .a = sum, .b = carry});
  }
  const uint32_t high = l.scratch(4), low = l.scratch(4);
  l.emit(steps().part, {.d = low, .a = sum, .e = high});
  if (is_signed) {
    const uint32_t sign = l.scratch(4);
    l.lanes(Op::kShr, kS32, {.d = sign, .a = low, .b = l.constant(31, 4)});
    l.compare(num::kCmpNe, kU32, l.scc(), sign, high);
  } else {
    l.compare(num::kCmpNe, kU32, l.scc(), high, l.constant(0, 4));
  }
  l.emit(copy_register(4), {.d = d, .a = low});
  return give_scalar(l);
}

bool choose(AmdLowering& l, lanes::Operation operation, num::Comparison c, lanes::Type type) {
  const uint32_t a = l.source(1), b = l.source(2), d = l.result(), out = l.scratch(4);
  l.lanes(operation, type, {.d = out, .a = a, .b = b});
  l.compare(c, type, l.scc(), a, b);
  l.emit(copy_register(4), {.d = d, .a = out});
  return give_scalar(l);
}

}  // namespace

bool lower_scalar_add(AmdLowering& l) { return add(l, false, false, false); }
bool lower_scalar_add_signed(AmdLowering& l) { return add(l, false, true, false); }
bool lower_scalar_sub(AmdLowering& l) { return add(l, true, false, false); }
bool lower_scalar_sub_signed(AmdLowering& l) { return add(l, true, true, false); }
bool lower_scalar_addc(AmdLowering& l) { return add(l, false, false, true); }
bool lower_scalar_subb(AmdLowering& l) { return add(l, true, false, true); }
bool lower_scalar_min_i32(AmdLowering& l) { return choose(l, Op::kMin, num::kCmpLt, kS32); }
bool lower_scalar_min_u32(AmdLowering& l) { return choose(l, Op::kMin, num::kCmpLt, kU32); }
bool lower_scalar_max_i32(AmdLowering& l) { return choose(l, Op::kMax, num::kCmpGt, kS32); }
bool lower_scalar_max_u32(AmdLowering& l) { return choose(l, Op::kMax, num::kCmpGt, kU32); }

bool lower_scalar_shift_add(AmdLowering& l) {
  const auto by = static_cast<uint64_t>(l.name()[6] - '0');
  const uint32_t a = l.source(1), b = l.source(2), d = l.result(), wide = l.scratch(8), other = l.scratch(8),
                 high = l.scratch(4);
  l.emit(steps().join, {.d = wide, .a = a, .b = l.constant(0, 4)});
  l.emit(steps().join, {.d = other, .a = b, .b = l.constant(0, 4)});
  l.lanes(Op::kShl, kB64, {.d = wide, .a = wide, .b = l.constant(by, 4)});
  l.lanes(Op::kAdd, kU64, {.d = wide, .a = wide, .b = other});
  l.emit(steps().part, {.d = d, .a = wide, .e = high});
  l.compare(num::kCmpNe, kU32, l.scc(), high, l.constant(0, 4));
  return give_scalar(l);
}
bool lower_scalar_addk(AmdLowering& l) {
  const Operand& o = *l.slot(0);
  const uint32_t k = l.source(1), d = l.register_at(o, 0), sum = l.scratch(4), other = l.scratch(1);
  // The sign of the sum is wrong where it is another than that of both.
  const uint32_t x = l.scratch(4), y = l.scratch(4);
  l.lanes(Op::kAdd, kU32, {.d = sum, .a = d, .b = k});
  l.lanes(Op::kXor, kB32, {.d = x, .a = sum, .b = d});
  l.lanes(Op::kXor, kB32, {.d = y, .a = sum, .b = k});
  l.lanes(Op::kAnd, kB32, {.d = x, .a = x, .b = y});
  l.compare(num::kCmpLt, kS32, other, x, l.constant(0, 4));
  l.emit(copy_register(1), {.d = l.scc(), .a = other});
  return l.emit(copy_register(4), {.d = d, .a = sum});
}
bool lower_scalar_mulk(AmdLowering& l) {
  const uint32_t d = l.register_at(*l.slot(0), 0);
  return l.lanes(Op::kMul, kU32, {.d = d, .a = d, .b = l.source(1)});
}

// --- jumps ------------------------------------------------------------------------------------------------------------------
bool lower_jump(AmdLowering& l) {
  const std::string_view label = l.operand(0).text, what = l.name();
  if (!l.kernel.labels.contains(label))
    return l.fail("there is no label '" + std::string(label) + "' in this kernel");
  if (what == "s_branch") return l.jump_to(label), true;
  const bool wants_bit = what.ends_with("nz") || what.ends_with("1");
  uint32_t condition = l.scratch(1);
  if (what.find("scc") != std::string_view::npos) {
    condition = l.scc();
  } else {
    const uint32_t low = what.find("vcc") != std::string_view::npos ? amdgcn::kVccLo : amdgcn::kExecLo;
    l.emit(is_zero, {.d = condition,
                     .a = l.scalar(low),
                     .b = l.code.width == 64 ? l.scalar(low + 1) : kNoRegister,
                     .imm = wants_bit});
  }
  l.jump_to(label);
  Instr& jump = l.code.instrs.back();
  jump.guard = condition;
  jump.guard_flip = what == "s_cbranch_scc0" ? 0xff : 0;
  return true;
}
bool lower_end(AmdLowering& l) { return l.emit(end_thread, {}); }
bool lower_trap(AmdLowering& l) { return l.emit<trap_here>(); }
bool lower_nothing(AmdLowering&) { return true; }
// Loads to registers are made at once, and waits.cpp looks at them; what goes to LDS past the registers gets there with the wait.
bool lower_wait(AmdLowering& l) {
  const auto left = amdgcn::left_by(l.in())[amdgcn::kLoads];
  return !l.copies_to_lds || !left || l.emit<run_copy_wait>({.small = *left});
}
bool lower_fence(AmdLowering& l) {
  l.facts().fences_memory = true;
  return l.emit(nothing, {});
}
bool lower_barrier(AmdLowering& l) { return l.emit<bar_sync>({.a = l.constant(0, 4), .b = kNoRegister}); }
// The wait that follows does both.
bool lower_barrier_signal(AmdLowering&) { return true; }

// A code address is the number of an instruction; that of a function is added to what s_getpc gives (AmdLowering::symbol).
bool lower_get_pc(AmdLowering& l) {
  l.emit(copy_register(8), {.d = l.result(), .a = l.constant(0, 8)});
  return l.give();
}
namespace {

bool jump_to(AmdLowering& l, uint32_t place) {
  l.jump_anywhere(static_cast<uint32_t>(l.code.instrs.size()));
  return l.emit<branch_table>({.a = place, .small = 8});
}

}  // namespace
bool lower_set_pc(AmdLowering& l) { return jump_to(l, l.source(0)); }
bool lower_swap_pc(AmdLowering& l) {
  const uint32_t to = l.source(1);
  l.emit(copy_register(8), {.d = l.result(), .a = l.constant(l.instruction() + 1, 8)});
  l.give();
  return jump_to(l, to);
}

bool lower_get_mode(AmdLowering& l) {
  return l.emit(copy_register(4), {.d = l.result(), .a = l.constant(0, 4)});
}
// Rounding and subnormals stay as the kernel descriptor has them; other fields change no value.
bool lower_set_mode(AmdLowering& l) {
  if (l.operand(0).text.find("_MODE") == std::string_view::npos) return true;
  // FP16_OVFL is set for a whole kernel by the first instructions: no way leads around them, and none back.
  const amdgcn::Operand& to = l.operand(1);
  const auto jumps = [&](const amdgcn::Instruction& in, size_t at) {
    if (!in.name.starts_with("s_cbranch") && in.name != "s_branch") return false;
    const auto label =
        in.operands.empty() ? l.kernel.labels.end() : l.kernel.labels.find(in.operands[0].text);
    if (label == l.kernel.labels.end()) return true;
    return at < l.instruction() ? label->second > l.instruction() : label->second <= l.instruction();
  };
  bool always =
      to.kind == amdgcn::OperandKind::kInteger && (l.operand(0).text == "hwreg(HW_REG_MODE, 23, 1)" ||
                                                   l.operand(0).text == "hwreg(HW_REG_WAVE_MODE, 23, 1)");
  for (size_t at = 0; always && at < l.kernel.body.size(); ++at) always = !jumps(l.kernel.body[at], at);
  if (always) return l.saturates = to.integer & 1, true;
  return l.fail("changing the mode of floats is not executed",
                {"level 'ttgir' executes the IR that this was compiled from"});
}
bool lower_clock(AmdLowering& l) {
  l.emit(
      [](Lanes& lanes, const Operands& in) {
        const auto now = static_cast<uint64_t>(exec_of(lanes).worker->steps);
        std::fill_n(lanes.reg<uint64_t>(in.d), lanes.count, now);
      },
      {.d = l.result()});
  return l.give();
}

}  // namespace triton_runner::simt::amd
