// Any text as PTX: parsing ends in a module or a diagnostic; a module prints back byte for byte, every place
// in it is a place of the text, and its canonical text parses to the same graph.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <triton_runner/ptx/module.h>

namespace {

namespace ptx = triton_runner::ptx;

void require(bool holds, const std::string& what) {
  if (holds) return;
  std::fprintf(stderr, "fuzz_ptx: %s\n", what.c_str());
  std::abort();
}

// The engine relies on these: indices that exist, texts that lie in the module.
void check(const ptx::Function& f, const ptx::Operand& operand, size_t text) {
  require(operand.offset <= text, "an operand lies outside of the text");
  if (operand.kind == ptx::OperandKind::kRegister) require(operand.reg < f.registers.size(), "a register");
  if (operand.kind == ptx::OperandKind::kVariable) require(operand.variable != nullptr, "a variable");
  if (operand.kind == ptx::OperandKind::kFunction) require(operand.function != nullptr, "a function");
  if (operand.kind == ptx::OperandKind::kAddress)
    require(!operand.parts.empty(), "an address without a base");
  if (operand.kind == ptx::OperandKind::kPair) require(operand.parts.size() == 2, "a pair of parts");
  for (const ptx::Operand& part : operand.parts) check(f, part, text);
}

void check(const ptx::Module& module) {
  const size_t text = module.text().size();
  for (const ptx::Function* f : module.functions())
    for (const ptx::Instruction& in : f->body) {
      require(in.offset + in.length <= text, "an instruction lies outside of the text");
      require(in.guard < 0 || static_cast<size_t>(in.guard) < f->registers.size(), "a guard");
      for (const ptx::Operand& operand : in.operands) check(*f, operand, text);
      for (uint32_t target : in.targets) require(target <= f->body.size(), "a target");
      if (in.opcode == ptx::Opcode::kBra && in.operands[0].kind == ptx::OperandKind::kLabel)
        require(static_cast<size_t>(in.operands[0].integer) <= f->body.size(), "a label");
    }
}

size_t size(const ptx::Module& module) {
  size_t out = 0;
  for (const ptx::Function* f : module.functions()) out += f->body.size() * 65536 + f->registers.size();
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size_) {
  const std::string text(reinterpret_cast<const char*>(data), size_);
  if (auto body = ptx::parse_body(text, {}); body)
    check(**body);
  else
    require(!body.error().str().empty(), "a failed parse reported nothing");
  auto module = ptx::parse(text, "fuzz.ptx");
  if (!module) {
    require(!module.error().str().empty(), "a failed parse reported nothing");
    return 0;
  }
  require((*module)->text() == text, "an accepted module does not print back byte for byte");
  check(**module);
  const std::string canonical = ptx::print_canonical(**module);
  auto again = ptx::parse(canonical, "canonical.ptx");
  if (!again) require(false, "the canonical text does not parse: " + again.error().str());
  require(size(**again) == size(**module), "the canonical text is another program");
  require(ptx::print_canonical(**again) == canonical, "the canonical text is not stable");
  return 0;
}
