// Lowers mov of what is not a register of its own (special registers, addresses), cvta, isspacep. See PTX ISA
// 9.7.9.3, 9.7.9.19, 9.7.9.20. mov between registers is in alu.cpp.
#include "ops/move.h"

#include <string>

#include "front/ptx/lower.h"
#include "front/ptx/special.h"

namespace triton_runner::simt {
namespace {

uint64_t window_of(const ptx::Instruction& in) {
  using ptx::Mod;
  if (in.has(Mod::kShared) || in.has(Mod::kSharedCta) || in.has(Mod::kSharedCluster)) return kSharedWindow;
  return in.has(Mod::kLocal) ? kLocalWindow : 0;  // global and const: host addresses
}

bool lower_cvta(Lowering& l, const ptx::Instruction& in) {
  const uint64_t window = window_of(in);
  const ptx::Mod type = in.type(0);
  uint32_t a = l.place(in.operands[1], type), d = l.reg(in.operands[0]);
  const uint32_t bytes = bytes_of(type);
  Handler run = copy_register(bytes);
  if (window && in.has(ptx::Mod::kTo))
    run = bytes == 8 ? drop_window : run;
  else if (window)
    run = bytes == 8 ? add_window : run;
  if (bytes == 8 && in.has(ptx::Mod::kParam))
    run = in.has(ptx::Mod::kTo) ? generic_to_param : param_to_generic;
  const uint64_t mask = in.has(ptx::Mod::kTo) ? kWindowMask : window;
  return l.emit(run, {.d = d, .a = a, .imm = static_cast<int64_t>(mask)});
}

}  // namespace

bool lower_move(Lowering& l, const ptx::Instruction& in) {
  if (in.opcode == ptx::Opcode::kCvta) return lower_cvta(l, in);
  if (in.opcode == ptx::Opcode::kIsspacep) {
    const uint64_t window = window_of(in);
    uint32_t a = l.place(in.operands[1], ptx::Mod::kU64), d = l.reg(in.operands[0]);
    const uint32_t of_block = in.has(ptx::Mod::kShared) || in.has(ptx::Mod::kSharedCta);
    const uint32_t kind = in.has(ptx::Mod::kParam) ? 2 : window == 0;
    return l.emit(is_space,
                  {.d = d, .a = a, .e = of_block, .small = kind, .imm = static_cast<int64_t>(window)});
  }
  const ptx::Operand &to = in.operands[0], &from = in.operands[1];
  if (to.kind == ptx::OperandKind::kVector || from.kind == ptx::OperandKind::kVector) return lower_alu(l, in);
  if (to.kind != ptx::OperandKind::kRegister) return l.fail(to.offset, "expected a register");
  const uint32_t bytes = bytes_of(l.declared(to).type);
  const bool copies = from.kind == ptx::OperandKind::kRegister;
  if (copies && bytes_of(l.declared(from).type) != bytes)
    return l.fail(in, "mov between registers of different sizes");
  if (const uint32_t moved = bytes_of(in.type(0)); moved != bytes)
    return l.fail(
        in, "mov of " + std::to_string(8 * moved) + " bits into a register of " + std::to_string(8 * bytes));
  if (from.kind == ptx::OperandKind::kSpecial && read_special(l, from.special, bytes, l.reg(to))) return true;
  const uint32_t a = l.place(from, copies ? l.declared(from).type : in.type(0));
  uint32_t d = l.reg(to);
  return l.emit(copy_register(bytes), {.d = d, .a = a});
}

}  // namespace triton_runner::simt
