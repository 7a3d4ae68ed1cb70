// Lowers ldmatrix, stmatrix, movmatrix, and the operands of all instructions on matrices. PTX ISA 9.7.14.5.15
// to 9.7.14.5.17.
#include "front/ptx/addresses.h"
#include "front/ptx/matrices.h"

namespace triton_runner::simt {

using ptx::Mod;
using ptx::OperandKind;

bool lower_matrix_address(Lowering& l, const ptx::Instruction& in, const ptx::Operand& operand,
                          AddressPlace* out) {
  if (!address_place(l, operand, out)) return false;
  const ptx::Operand& base = operand.kind == OperandKind::kAddress ? operand.parts[0] : operand;
  out->generic = !in.has(Mod::kShared) && !in.has(Mod::kSharedCta) && base.kind != OperandKind::kVariable;
  return true;
}

bool lower_registers(Lowering& l, const ptx::Operand& operand, Mod type, bool written, uint32_t* places,
                     uint32_t* count, uint32_t most) {
  const auto parts = parts_of(operand);
  if (parts.size() > most)
    return l.fail(operand.offset, "expected at most " + std::to_string(most) + " registers, there are " +
                                      std::to_string(parts.size()));
  *count = static_cast<uint32_t>(parts.size());
  for (size_t i = 0; i < parts.size(); ++i) {
    places[i] = written ? l.reg(parts[i]) : l.place(parts[i], type);
    if (places[i] == kNoRegister && parts[i].kind != OperandKind::kSink) return false;
    if (places[i] == kNoRegister) places[i] = l.temporary(static_cast<uint32_t>(ptx::bits(type)) / 8);
  }
  return true;
}

namespace {

bool lower_load_store(Lowering& l, const ptx::Instruction& in, bool load) {
  Matrices m;
  uint32_t n = in.has(Mod::kX4) ? 4 : in.has(Mod::kX2) ? 2 : 1;
  m.trans = in.has(Mod::kTrans);
  m.bytes = !in.has(Mod::kM8N8);
  if (in.has(Mod::kM16N16)) {
    m.rows = 16;
    n *= 2;
  }
  m.bits = in.has(Mod::kB6x16P32) ? 6 : in.has(Mod::kB4x16P64) ? 4 : 8;
  uint32_t count = 0;
  const ptx::Operand& registers = in.operands[load ? 0 : 1];
  if (!lower_registers(l, registers, Mod::kB32, load, m.registers, &count, 4)) return false;
  if (count != n)
    return l.fail(registers.offset, "'" + std::string(in.spelling) + "' takes " + std::to_string(n) +
                                        (n == 1 ? " register, there are " : " registers, there are ") +
                                        std::to_string(count));
  m.count = static_cast<uint8_t>(n);
  if (!lower_matrix_address(l, in, in.operands[load ? 1 : 0], &m.address)) return false;
  Handler run = load ? load_handler(m) : handler<store_matrices>;
  return l.emit(run, {}, m);
}

}  // namespace

bool lower_matrix(Lowering& l, const ptx::Instruction& in) {
  switch (in.opcode) {
    case ptx::Opcode::kLdmatrix:
      return lower_load_store(l, in, true);
    case ptx::Opcode::kStmatrix:
      return lower_load_store(l, in, false);
    case ptx::Opcode::kMovmatrix: {
      const uint32_t d = l.reg(in.operands[0]), a = l.place(in.operands[1], Mod::kB32);
      if (d == kNoRegister || a == kNoRegister) return l.fail(in, "movmatrix takes two registers");
      return l.emit<move_matrix>({.d = d, .a = a});
    }
    case ptx::Opcode::kMma:
      return lower_mma(l, in);
    default:
      return l.fail(in, "the engine does not execute '" + std::string(in.spelling) + "'");
  }
}

}  // namespace triton_runner::simt
