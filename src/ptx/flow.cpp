// Finds what an instruction reads and writes, and where jumps go.
#include <triton_runner/ptx/flow.h>

#include <algorithm>

namespace triton_runner::ptx {
namespace {

void collect(const Operand& o, std::vector<uint32_t>& out) {
  if (o.kind == OperandKind::kRegister) out.push_back(o.reg);
  for (const Operand& part : o.parts) collect(part, out);
}

// The first operand is a source, or there is none, or it is no register.
bool gives_nothing(const Instruction& in) {
  if (in.does(Effect::kMeets)) return !in.has(Mod::kRed);
  return in.does(Effect::kConsumes) || in.has(Mod::kDealloc);
}

void collect_labels(const Operand& o, std::vector<bool>& out) {
  if (o.kind == OperandKind::kLabel && o.integer >= 0 && static_cast<size_t>(o.integer) < out.size())
    out[static_cast<size_t>(o.integer)] = true;
  for (const Operand& part : o.parts) collect_labels(part, out);
}

bool is_result(const Instruction& in) {
  if (in.operands.empty()) return false;
  const OperandKind kind = in.operands[0].kind;
  if (kind == OperandKind::kGroup) return true;  // of a call
  if (gives_nothing(in)) return false;
  return kind == OperandKind::kRegister || kind == OperandKind::kVector || kind == OperandKind::kPair;
}

}  // namespace

std::vector<uint32_t> results_of(const Instruction& in) {
  std::vector<uint32_t> out;
  if (is_result(in)) collect(in.operands[0], out);
  return out;
}

std::vector<uint32_t> sources_of(const Instruction& in) {
  std::vector<uint32_t> out;
  for (size_t i = is_result(in) ? 1 : 0; i < in.operands.size(); ++i) collect(in.operands[i], out);
  if (in.guard >= 0) out.push_back(static_cast<uint32_t>(in.guard));
  return out;
}

bool adds_to_results(const Instruction& in) { return in.opcode == Opcode::kWgmma; }

FormalRegisters formal_registers(const Function& f) {
  const auto count = [](std::span<const Variable> formals) {
    return static_cast<uint32_t>(std::count_if(formals.begin(), formals.end(),
                                               [](const Variable& v) { return v.space == Space::kReg; }));
  };
  FormalRegisters out{count(f.returns), 0};
  out.params_end = out.returns_end + count(f.params);
  return out;
}

std::vector<bool> jump_targets(const Function& f) {
  std::vector<bool> out(f.body.size() + 1);
  for (const Instruction& in : f.body) {
    for (const Operand& o : in.operands) collect_labels(o, out);
    for (uint32_t t : in.targets)
      if (t < out.size()) out[t] = true;
  }
  return out;
}

bool is_control(const Instruction& in) { return in.does(Effect::kJumps); }

bool comes_back(const Instruction& in) { return in.opcode == Opcode::kCall; }

std::vector<uint32_t> targets_of(const Instruction& in) {
  std::vector<uint32_t> out(in.targets.begin(), in.targets.end());
  for (const Operand& o : in.operands)
    if (o.kind == OperandKind::kLabel && o.integer >= 0) out.push_back(static_cast<uint32_t>(o.integer));
  return out;
}

bool is_pure(const Instruction& in) {
  if (in.does(Effect::kComputes)) return !in.does(Effect::kCarries) && !in.has(Mod::kCc);
  return in.does(Effect::kReads) && in.has(Mod::kParam);
}

}  // namespace triton_runner::ptx
