// Loads and stores of global, shared and local memory: the engine's own, with the registers that the machine code names.
#include "memory.h"

#include "sass/lower.h"
#include "simd/tables.h"

namespace triton_runner::simt {
namespace {

// The place of an address, and its offset and width. Global: registers of 64 bits; else of 32, maybe scaled.
bool lower_address(SassLowering& l, const sass::Operand& o, bool global, Access& a, uint32_t* place) {
  auto refused = [&] {
    return l.error("the engine does not execute '" + std::string(l.in().spelling) + "' at " +
                   std::string(o.text));
  };
  const uint32_t bytes = global ? 8 : 4;
  a.offset = o.integer;
  a.address_bytes = bytes;
  *place = kNoRegister;
  if (o.space != "" && o.space != "desc") return refused();
  for (const sass::Operand& part : o.parts) {
    const bool uniform = part.kind == sass::OperandKind::kUniform;
    if (!uniform && part.kind != sass::OperandKind::kRegister) return refused();
    if (part.minus || part.inverted || part.absolute) return refused();
    uint32_t term = kNoRegister;
    if (global && part.selector == "64") {
      term = part.index == sass::kZero ? l.constant(0, 8) : l.temporary(8);
      if (part.index != sass::kZero)
        l.ptx("mov.b64 %d0, {%r1, %r2}", {term, l.reg(part.index, uniform), l.reg(part.index + 1, uniform)});
    } else if (!global && (part.selector == "" || part.selector.starts_with('X'))) {
      term = l.reg(part.index, uniform);
      if (part.selector != "") {
        const uint32_t scaled = l.temporary(4);
        l.ptx("mul.lo.u32 %r0, %r1, " + std::string(part.selector.substr(1)), {scaled, term});
        term = scaled;
      }
    } else {
      return refused();
    }
    if (*place != kNoRegister) {
      const uint32_t sum = l.temporary(bytes);
      l.ptx(global ? "add.s64 %d0, %d1, %d2" : "add.s32 %r0, %r1, %r2", {sum, *place, term});
      term = sum;
    }
    *place = term;
  }
  if (*place == kNoRegister) *place = l.constant(0, bytes);
  return true;
}

bool lower_access(SassLowering& l, Space space, bool write) {
  const sass::Operand &value = *l.slot(write ? 1 : 0), &where = *l.slot(write ? 0 : 1);
  Access a;
  a.space = space;
  a.strong = l.has("STRONG");
  a.tables = &simd_tables(num::current_isa());
  a.words = sass::width_of(l.in());
  a.is_signed = l.has("S8") || l.has("S16");
  if (l.has("U8") || l.has("S8")) a.word_bytes = 1;
  if (l.has("U16") || l.has("S16")) a.word_bytes = 2;
  uint32_t place = kNoRegister;
  if (!lower_address(l, where, space == Space::kGlobal, a, &place)) return false;
  if (write && value.kind != sass::OperandKind::kRegister && value.kind != sass::OperandKind::kUniform)
    return false;
  for (uint32_t k = 0; k < a.words; ++k) {
    const bool zero = value.index == sass::kZero;
    a.regs[k] = zero && !write
                    ? kNoRegister
                    : l.reg(zero ? sass::kZero : value.index + k, value.kind == sass::OperandKind::kUniform);
    if (write || a.regs[k] != place) continue;
    l.copy(place = l.temporary(4), a.regs[k], 4);  // the address is loaded into
  }
  Instr& i = l.emit(access_handler(a, write));
  i.a = place;
  i.data = l.code.keep(a);
  return true;
}

}  // namespace

bool lower_memory(SassLowering& l) {
  switch (l.opcode()) {
    case sass::Opcode::kLDG:
      return lower_access(l, Space::kGlobal, false);
    case sass::Opcode::kSTG:
      return lower_access(l, Space::kGlobal, true);
    case sass::Opcode::kLDS:
      return lower_access(l, Space::kShared, false);
    case sass::Opcode::kSTS:
      return lower_access(l, Space::kShared, true);
    case sass::Opcode::kLDL:
      return lower_access(l, Space::kLocal, false);
    case sass::Opcode::kSTL:
      return lower_access(l, Space::kLocal, true);
    default:
      return false;
  }
}

}  // namespace triton_runner::simt
