// Loads and stores of one or several registers.
#pragma once
#include <triton_runner/num/type.h>

#include "exec.h"

namespace triton_runner::simt {

struct Tables;

inline constexpr uint32_t kMaxWords = 8;

struct Access {
  uint32_t regs[kMaxWords];  // kNoRegister: not wanted
  uint32_t words = 1, word_bytes = 4, reg_bytes = 4;
  bool is_signed = false;  // a narrow value fills a wide register with its sign
  bool strong = false;     // other blocks are looked at: volatile, relaxed, ...
  Space space = Space::kGeneric;
  uint32_t address_bytes = 8;
  int64_t offset = 0;
  const Tables* tables = nullptr;
  uint32_t bytes() const { return words * word_bytes; }
};
// The handler of a load or store. Operands::a is the address, data the Access.
Handler access_handler(const Access& access, bool write);
// A load at `offset` of the kernel's parameters, the same for every thread.
void load_param(Lanes& l, const Operands& in);

}  // namespace triton_runner::simt
