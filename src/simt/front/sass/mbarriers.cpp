// Lowers mbarriers and proxy fences. The 64 bits of an mbarrier that machine code writes and reads hold from
// bit 1 on minus the arrivals of a phase, from bit 43 on minus those that are missing, 20 bits each; bit 63
// is the phase's parity.
#include "front/sass/lower.h"

namespace triton_runner::simt {
namespace {

bool is_uniform(const sass::Operand& o) { return o.kind == sass::OperandKind::kUniform; }

bool lower_init(SassLowering& l) {
  if (l.slot(0)->index != sass::kZero) return false;
  const sass::Operand& where = *l.slot(1);
  const uint32_t at = l.address(where, false), count = l.temporary(4);
  if (at == kNoRegister) return false;
  l.ptx("shr.u32 %r0, %r1, 1", {count, l.word(2)});
  l.ptx("neg.s32 %r0, %r1", {count, count});
  l.ptx("and.b32 %r0, %r1, 0xfffff", {count, count});
  l.ptx("mbarrier.init.shared::cta.b64 [%r0" + SassLowering::offset_text(where) + "], %r1", {at, count});
  bool once = is_uniform(*l.slot(2));
  for (const sass::Operand& part : where.parts) once &= is_uniform(part);
  if (once) l.once_a_warp();
  return true;
}

// The state of ours as machine code has it. `each`: instead of the lower half, the threads whose arrivals the code adds for
// those above them; ours has added them.
void give_state(SassLowering& l, uint32_t state, bool each) {
  const uint32_t low = l.temporary(8), high = l.temporary(8), out = l.temporary(8);
  l.ptx("shr.u64 %d0, %d1, 20", {low, state});
  l.ptx("neg.s64 %d0, %d1", {low, low});
  l.ptx("and.b64 %d0, %d1, 0xfffff", {low, low});
  each ? l.copy(low, l.constant(0, 8), 8) : l.ptx("shl.b64 %d0, %d1, 1", {low, low});
  l.ptx("neg.s64 %d0, %d1", {high, state});
  l.ptx("and.b64 %d0, %d1, 0xfffff", {high, high});
  l.ptx("shl.b64 %d0, %d1, 43", {high, high});
  l.ptx("or.b64 %d0, %d1, %d2", {out, low, high});
  l.ptx("shr.u64 %d0, %d1, 61", {low, state});
  l.ptx("shl.b64 %d0, %d1, 63", {low, low});
  l.ptx("or.b64 %d0, %d1, %d2", {out, out, low});
  l.give_pair(0, out);
}

// .A1T0: one arrival; .ART0: as many as the register says; without: one, after that many bytes were announced.
bool lower_arrive(SassLowering& l) {
  const sass::Operand& where = *l.slot(1);
  const uint32_t at = l.address(where, false);
  if (at == kNoRegister) return false;
  const std::string address = "[%r0" + SassLowering::offset_text(where) + "]";
  if (l.has("RED")) {
    if (l.slot(0)->index != sass::kZero) return false;
    if (l.has("A0TR"))
      return l.ptx("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 " + address + ", %r1", {at, l.word(2)}),
             true;
    if (l.has("A0TX"))
      return l.ptx("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 " + address + ", %r1", {at, l.word(2)}),
             true;
    // An arrival that ARRIVES.LDGSTSBAR.TRANSCNT makes once the thread's copies are there: all that came before are.
    if (l.has("A0T1")) return l.ptx("cp.async.mbarrier.arrive.shared.b64 " + address, {at}), true;
    if (l.has("A1T0"))
      return l.ptx("mbarrier.arrive.release.cluster.shared::cluster.b64 _, " + address, {at}), true;
    return l.ptx("mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, " + address + ", %r1",
                 {at, l.word(2)}),
           !l.has("ART0");
  }
  const bool keeps = l.slot(0)->index != sass::kZero, one = l.has("A1T0"), many = l.has("ART0");
  std::string line = l.has("OPTOUT") ? "mbarrier.arrive_drop" : "mbarrier.arrive";
  if (!one && !many) line += ".expect_tx";
  if (l.has("TMASK")) line += ".noComplete";
  line += l.has("TMASK") ? ".release.cta.shared::cta.b64 " : ".shared::cta.b64 ";
  line += (keeps ? "%d1, " : "_, ") + address;
  if (!one) line += ", %r2";
  const uint32_t state = l.temporary(8), value = one ? kNoRegister : l.word(2);
  l.ptx(line, {at, state, value});
  if (keeps) give_state(l, state, l.has("TMASK"));
  return true;
}

bool lower_phase(SassLowering& l) {
  const sass::Operand& where = *l.slot(1);
  const uint32_t at = l.address(where, false), parity = l.temporary(4);
  if (at == kNoRegister) return false;
  l.ptx("shr.u32 %r0, %r1, 31", {parity, l.word(2)});
  std::string limit;  // of the wait: what sleeps after it
  if (const sass::Instruction* then = l.next();
      l.has("TRYWAIT") && then && then->spelling == "NANOSLEEP.SYNCS" && !then->operands.empty() &&
      then->operands[0].kind == sass::OperandKind::kInteger)
    limit = ", " + std::to_string(then->operands[0].integer);
  return l.ptx(std::string("mbarrier.") + (l.has("TRYWAIT") ? "try_wait" : "test_wait") +
                   ".parity.shared::cta.b64 %p0, [%r1" + SassLowering::offset_text(where) + "], %r2" + limit,
               {l.predicate_result(0), at, parity});
}

}  // namespace

bool lower_mbarriers(SassLowering& l) {
  switch (l.opcode()) {
    case sass::Opcode::kACQBULK:
      return l.ptx("griddepcontrol.wait", {});
    case sass::Opcode::kARRIVES: {
      if (l.has("TRANSCNT")) return true;  // SYNCS.ARRIVE.A0T1 has made it
      const uint32_t at = l.address(*l.slot(0), false);
      if (at == kNoRegister || !l.has("ARVCNT")) return false;
      return l.ptx(
          "cp.async.mbarrier.arrive.noinc.shared.b64 [%r0" + SassLowering::offset_text(*l.slot(0)) + "]",
          {at});
    }
    case sass::Opcode::kFENCE_VIEW_ASYNC:
      return l.ptx(l.has("S")   ? "fence.proxy.async.shared::cta"
                   : l.has("G") ? "fence.proxy.async.global"
                                : "fence.proxy.async",
                   {});
    case sass::Opcode::kPREEXIT:
      return l.ptx("griddepcontrol.launch_dependents", {});
    case sass::Opcode::kSYNCS_ARRIVE:
      return lower_arrive(l);
    case sass::Opcode::kSYNCS_CCTL: {
      const uint32_t at = l.address(*l.slot(0), false);
      if (at == kNoRegister || !l.has("IV")) return false;
      return l.ptx("mbarrier.inval.shared::cta.b64 [%r0" + SassLowering::offset_text(*l.slot(0)) + "]", {at});
    }
    case sass::Opcode::kSYNCS_EXCH:
      return lower_init(l);
    case sass::Opcode::kSYNCS_PHASECHK:
      return lower_phase(l);
    default:  // USETMAXREG: registers are there; whether more could be had: yes
      if (l.slot(0)) l.copy(l.predicate_result(0), l.constant(0xff, 1), 1);
      return true;
  }
}

}  // namespace triton_runner::simt
