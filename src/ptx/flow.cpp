// What an instruction reads and writes, and where jumps go.
#include <triton_runner/ptx/flow.h>

namespace triton_runner::ptx {
namespace {

void collect(const Operand& o, std::vector<uint32_t>& out) {
  if (o.kind == OperandKind::kRegister) out.push_back(o.reg);
  for (const Operand& part : o.parts) collect(part, out);
}

// The first operand is a source, or there is none, or it is no register.
bool gives_nothing(const Instruction& in) {
  switch (in.opcode) {
    case Opcode::kBar:
    case Opcode::kBarrier:
      return !in.has(Mod::kRed);
    case Opcode::kSt:
    case Opcode::kRed:
    case Opcode::kBra:
    case Opcode::kBrx:
    case Opcode::kCall:
    case Opcode::kNanosleep:
    case Opcode::kSetmaxnreg:
    case Opcode::kUnknown:
      return true;
    default:
      return false;
  }
}

void collect_labels(const Operand& o, std::vector<bool>& out) {
  if (o.kind == OperandKind::kLabel && o.integer >= 0 && static_cast<size_t>(o.integer) < out.size())
    out[static_cast<size_t>(o.integer)] = true;
  for (const Operand& part : o.parts) collect_labels(part, out);
}

bool is_result(const Instruction& in) {
  if (in.operands.empty() || gives_nothing(in)) return false;
  const OperandKind kind = in.operands[0].kind;
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

std::vector<bool> jump_targets(const Function& f) {
  std::vector<bool> out(f.body.size() + 1);
  for (const Instruction& in : f.body) {
    for (const Operand& o : in.operands) collect_labels(o, out);
    for (uint32_t t : in.targets)
      if (t < out.size()) out[t] = true;
  }
  return out;
}

bool is_control(const Instruction& in) {
  switch (in.opcode) {
    case Opcode::kBra:
    case Opcode::kBrx:
    case Opcode::kCall:
    case Opcode::kRet:
    case Opcode::kExit:
    case Opcode::kTrap:
      return true;
    default:
      return false;
  }
}

}  // namespace triton_runner::ptx
