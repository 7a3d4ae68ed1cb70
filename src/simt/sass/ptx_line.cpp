// What machine code computes, said in PTX: a line is parsed once, and its function gets the places of the registers it
// names.
#include <triton_runner/ptx/alu.h>

#include "sass/lower.h"

namespace triton_runner::simt {

struct SassLowering::PtxLine {
  ptx::Alu alu;
  // Of d, a, b, c, e and imm: which place, or a constant of so many bytes.
  struct Ref {
    int place = -1;
    bool is_constant = false;
    uint64_t bits = 0;
    uint32_t bytes = 0;
  } refs[6];
};

namespace {

constexpr uint32_t kPlaces = 8;  // that a line may name

std::span<const ptx::Register> line_registers() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> out;
    for (char letter : {'p', 'b', 'h', 'r', 'd', 'q'})
      for (uint32_t k = 0; k < kPlaces; ++k) out.push_back(std::string("%") + letter + std::to_string(k));
    return out;
  }();
  static const std::vector<ptx::Register> registers = [] {
    constexpr ptx::Mod kTypes[] = {ptx::Mod::kPred, ptx::Mod::kB8,  ptx::Mod::kB16,
                                   ptx::Mod::kB32,  ptx::Mod::kB64, ptx::Mod::kB128};
    std::vector<ptx::Register> out;
    for (size_t i = 0; i < names.size(); ++i) out.push_back({names[i], kTypes[i / kPlaces]});
    return out;
  }();
  return registers;
}

}  // namespace

const SassLowering::PtxLine* SassLowering::ptx_line(const std::string& line) {
  if (auto known = lines_.find(line); known != lines_.end()) return known->second.get();
  auto refused = [&](const base::Diagnostic& d) {
    error("'" + std::string(in_->spelling) + "' is the PTX '" + line +
          "', which is not executed: " + d.message);
    return nullptr;
  };
  auto module = ptx::parse_body(line + ";", line_registers());
  if (!module) return refused(module.error());
  const ptx::Function& function = *(*module)->functions().front();
  const ptx::Instruction& in = function.body.front();
  auto alu = ptx::find_alu(**module, function, in);
  if (!alu) return refused(alu.error());
  auto made = std::make_shared<PtxLine>();
  made->alu = *alu;
  const std::vector<const ptx::Operand*> operands = ptx::flattened(in);
  for (size_t k = 0; k < 6; ++k) {
    const int8_t which = k < 5 ? alu->operands[k] : alu->extra;
    const ptx::Mod type = k < 5 ? alu->types[k] : alu->extra_type;
    PtxLine::Ref& ref = made->refs[k];
    if (which < 0) continue;
    const ptx::Operand& o = *operands[static_cast<size_t>(which)];
    if (o.kind == ptx::OperandKind::kRegister) {
      ref.place = function.registers[o.reg].name[2] - '0';
    } else {
      ref.is_constant = true;
      ref.bytes = static_cast<uint32_t>(std::max(1, ptx::bits(type) / 8));
      ptx::literal_bits(o, type, &ref.bits);
    }
  }
  return lines_.emplace(line, std::move(made)).first->second.get();
}

void SassLowering::ptx(const std::string& line, std::initializer_list<uint32_t> places) {
  const PtxLine* known = ptx_line(line);
  if (!known) return;
  uint32_t at[6];
  for (size_t k = 0; k < 6; ++k) {
    const PtxLine::Ref& ref = known->refs[k];
    const bool is_carry = k < 5 && known->alu.operands[k] == ptx::Alu::kCarry;
    at[k] = is_carry          ? carry()
            : ref.is_constant ? constant(ref.bits, ref.bytes)
            : ref.place >= 0  ? places.begin()[ref.place]
                              : kNoRegister;
  }
  Instr& i = emit(known->alu.run);
  i.d = at[0], i.a = at[1], i.b = at[2], i.c = at[3], i.e = at[4];
  i.small = known->alu.small;
  i.imm = known->alu.extra == ptx::Alu::kNoOperand ? known->alu.imm : at[5];
}

}  // namespace triton_runner::simt
