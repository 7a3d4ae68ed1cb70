// Lowers loads and stores of global, shared and local memory: the engine's own, with the registers that the
// machine code names.
#include "ops/memory.h"

#include "front/sass/lower.h"

namespace triton_runner::simt {
namespace {

template <Space space, bool write>
bool lower_access(SassLowering& l) {
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
    a.regs[k] = zero && !write ? kNoRegister
                               : l.reg(zero ? sass::kZero : value.index + k,
                                       value.kind == sass::OperandKind::kUniform, !write);
    if (write || a.regs[k] != place) continue;
    l.unguarded([&] { return l.copy(place = l.temporary(4), a.regs[k], 4); });  // the address is loaded into
  }
  if (!write) l.emit_fills();
  return l.emit(access_handler(a, write), {.a = place}, a);
}

// Returns whether a generic address is in a space. The register that is written, too, was seen as RZ alone.
bool lower_space_query(SassLowering& l) {
  const sass::Operand& where = *l.slot(2);
  const char* space = l.has("G")   ? "global"
                      : l.has("S") ? "shared::cta"
                      : l.has("D") ? "shared::cluster"
                      : l.has("L") ? "local"
                                   : nullptr;
  uint32_t at = l.address(where, true);
  if (at == kNoRegister || !space || l.slot(1)->index != sass::kZero) return false;
  if (where.integer) {
    const uint32_t start = at;
    l.ptx("add.s64 %d0, %d1, " + std::to_string(where.integer), {at = l.temporary(8), start});
  }
  return l.ptx(std::string("isspacep.") + space + " %p0, %d1", {l.predicate_result(0), at});
}

}  // namespace

bool lower_memory(SassLowering& l) {
  using enum sass::Opcode;
  static constexpr SassRow kRows[] = {
      {lower_access<Space::kGeneric, false>, {kLD}},
      {lower_access<Space::kGeneric, true>, {kST}},
      {lower_space_query, {kQSPC}},
      {lower_access<Space::kGlobal, false>, {kLDG, kLDGMC}},  // of several devices' memory: there is one
      {lower_access<Space::kGlobal, true>, {kSTG}},
      {lower_access<Space::kShared, false>, {kLDS}},
      {lower_access<Space::kShared, true>, {kSTS}},
      {lower_access<Space::kLocal, false>, {kLDL}},
      {lower_access<Space::kLocal, true>, {kSTL}}};
  return lower_by(l, kRows);
}

}  // namespace triton_runner::simt
