// Answers what opcodes.def says of an opcode's modifiers and operands: whether an instruction has a form of
// its row.
#pragma once
#include <span>
#include <string>
#include <vector>

#include <triton_runner/ptx/opcode.h>

namespace triton_runner::ptx {

struct FormCheck {
  bool ok = true;
  // The number of operands that the forms take which these modifiers fit, if ok; otherwise the modifier that
  // is wrong (its index), or -1 if one is missing, and what to say of it.
  uint32_t least = 0, most = ~0u;
  int wrong = -1;
  std::string message;
  std::vector<std::string> notes;
};
FormCheck check_form(Opcode opcode, std::span<const Mod> mods);
// Opcodes that take any modifier: those without a row, textures and surfaces.
bool takes_anything(Opcode opcode);
// The modifiers that an opcode has in some form, for "did you mean".
std::vector<std::string> modifiers_of(Opcode opcode);

}  // namespace triton_runner::ptx
