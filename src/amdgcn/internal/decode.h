// Reads machine code of AMD's GPUs from its bytes: one instruction as the text that LLVM prints for it.
//
//   01 02 04 68  (gfx942)      v_add_u32_e32 v2, v1, v1
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include <triton_runner/amdgcn/encodings.h>

namespace triton_runner::amdgcn {

struct Decoded {
  std::string text;             // where `jump` is given, the name of the place is to follow
  uint32_t words = 1;           // of 32 bits
  std::optional<int64_t> jump;  // in bytes, from the end of the instruction
  std::string error;            // why it is not decoded; empty: it is
};

// The instruction that `code` begins with. `is_wave32`: how wide lane masks are. Never reads past the end of `code`.
Decoded decode(Chip chip, bool is_wave32, std::span<const uint32_t> code);

}  // namespace triton_runner::amdgcn
