// Lowers bra, brx.idx, call, ret, exit, trap. See PTX ISA 9.7.12, 9.7.19. How a callee is inlined is in call.cpp, how it is called in
// routine.cpp.
#include "ops/control.h"

#include <algorithm>

#include "front/ptx/builtin.h"
#include "front/ptx/lower.h"

namespace triton_runner::simt {
namespace {

bool lower_branch_table(Lowering& l, const ptx::Instruction& in) {
  if (in.operands.empty() || in.targets.empty()) return l.fail(in, "this branch has no targets");
  uint32_t a = l.place(in.operands[0], ptx::Mod::kU32);
  auto table = std::make_shared<BranchTable>();
  table->targets.resize(in.targets.size());
  for (size_t i = 0; i < in.targets.size(); ++i) l.table_entry(&table->targets[i], in.targets[i]);
  l.emit<branch_table>({.a = a, .small = 4, .data = table.get()});
  l.code.kept.push_back(table);
  return true;
}

// A call that goes to any of several functions: each is lowered here, after a branch on the address. Where none of the module
// fits, as for destructors that a program never sets, the call traps when it is executed.
bool lower_indirect(Lowering& l, const ptx::Instruction& in, const ptx::Operand& target,
                    std::span<const ptx::Operand> returns, std::span<const ptx::Operand> args) {
  const std::vector<const ptx::Function*> callees = l.callees_of(l.function(), in);
  auto table = std::make_shared<BranchTable>();
  table->flags = kFunctionWindow;
  table->targets.resize(l.module.functions().size());
  l.code.kept.push_back(table);
  uint32_t a = l.place(target, ptx::Mod::kB64);
  l.emit<branch_table>({.a = a, .small = 8, .data = table.get()});
  std::vector<uint32_t> ends;
  for (const ptx::Function* f : callees) {
    if (!l.emit_call(in, *f, returns, args, &table->targets[function_index(l.module, *f)])) return false;
    ends.push_back(static_cast<uint32_t>(l.code.instrs.size()));
    Instr& out = l.emit(branch);
    out.guard = kNoRegister;
  }
  for (uint32_t e : ends) l.jump_to_here(e);
  return true;
}

bool lower_call(Lowering& l, const ptx::Instruction& in) {
  const CallParts call(in);
  if (!call.target) return l.fail(in, "this call names no function");
  const ptx::Operand& target = *call.target;
  const std::span<const ptx::Operand> returns = call.returns, args = call.args;
  // A guarded call is a branch around it.
  uint32_t around = kNoRegister;
  if (in.guard >= 0) {
    around = static_cast<uint32_t>(l.code.instrs.size());
    l.emit(branch).guard_flip ^= 0xff;
  }
  bool ok = false;
  if (target.kind != ptx::OperandKind::kFunction)
    ok = lower_indirect(l, in, target, returns, args);
  else if (is_builtin(*target.function))
    ok = lower_builtin(l, in, *target.function, returns, args);
  else
    ok = l.emit_call(in, *target.function, returns, args);
  if (around != kNoRegister) l.jump_to_here(around);
  return ok;
}

}  // namespace

CallParts::CallParts(const ptx::Instruction& call) {
  std::span<const ptx::Operand> operands = call.operands;
  if (!operands.empty() && operands[0].kind == ptx::OperandKind::kGroup) {
    returns = operands[0].parts;
    operands = operands.subspan(1);
  }
  if (operands.empty()) return;
  target = &operands[0];
  if (operands.size() > 1 && operands[1].kind == ptx::OperandKind::kGroup) args = operands[1].parts;
}

uint64_t function_index(const ptx::Module& module, const ptx::Function& function) {
  auto all = module.functions();
  return static_cast<uint64_t>(std::find(all.begin(), all.end(), &function) - all.begin());
}

bool lower_control(Lowering& l, const ptx::Instruction& in) {
  auto here = [&] { return static_cast<uint32_t>(l.code.instrs.size()); };
  switch (in.opcode) {
    case ptx::Opcode::kBra: {
      if (in.operands.empty() || in.operands[0].kind != ptx::OperandKind::kLabel)
        return l.fail(in, "expected a label");
      uint32_t at = here();
      l.emit(branch);
      l.jump_to(at, static_cast<uint32_t>(in.operands[0].integer));
      return true;
    }
    case ptx::Opcode::kBrx:
      return lower_branch_table(l, in);
    case ptx::Opcode::kCall:
      return lower_call(l, in);
    case ptx::Opcode::kRet:
      if (l.is_inlined()) {
        uint32_t at = here();
        l.emit(branch);
        l.jump_to_end(at);
        return true;
      }
      return l.emit(end_thread, {});
    case ptx::Opcode::kExit:
      return l.emit(end_thread, {});
    case ptx::Opcode::kTrap:
    case ptx::Opcode::kBrkpt:
      return l.emit<trap_here>();
    default:
      return l.fail(in, "the engine does not execute '" + std::string(ptx::text(in.opcode)) + "'");
  }
}

}  // namespace triton_runner::simt
