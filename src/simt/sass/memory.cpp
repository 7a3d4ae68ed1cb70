// Loads and stores of global, shared and local memory: the engine's own, with the registers that the machine code names.
#include "memory.h"

#include "sass/lower.h"
#include "simd/tables.h"

namespace triton_runner::simt {
namespace {

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
  const bool wide = space == Space::kGlobal || space == Space::kGeneric;
  uint32_t place = l.address(where, wide);
  if (place == kNoRegister) return false;
  a.offset = where.integer;
  a.address_bytes = wide ? 8 : 4;
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
  return l.emit(access_handler(a, write), {.a = place}, a);
}

// Whether a generic address is in a space. The register that is written, too, was seen as RZ alone.
bool lower_space_query(SassLowering& l) {
  const sass::Operand& where = *l.slot(2);
  const char* space = l.has("G")   ? "global"
                      : l.has("S") ? "shared::cta"
                      : l.has("D") ? "shared::cluster"
                      : l.has("L") ? "local"
                                   : nullptr;
  const uint32_t at = l.address(where, true);
  if (at == kNoRegister || !space || where.integer || l.slot(1)->index != sass::kZero) return false;
  return l.ptx(std::string("isspacep.") + space + " %p0, %d1", {l.predicate_result(0), at});
}

}  // namespace

bool lower_memory(SassLowering& l) {
  switch (l.opcode()) {
    case sass::Opcode::kLD:
      return lower_access(l, Space::kGeneric, false);
    case sass::Opcode::kST:
      return lower_access(l, Space::kGeneric, true);
    case sass::Opcode::kQSPC:
      return lower_space_query(l);
    case sass::Opcode::kLDG:
    case sass::Opcode::kLDGMC:  // of several devices' memory: there is one
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
