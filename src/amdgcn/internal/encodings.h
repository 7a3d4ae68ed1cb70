// Has the table of encodings.def: which row an opcode's number has on a target.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace triton_runner::amdgcn {

enum class Format : uint8_t {
  SOP1,
  SOP2,
  SOPC,
  SOPK,
  SOPP,
  SMEM,
  VOP1,
  VOP2,
  VOPC,
  VOP3,
  VOP3SD,
  VOP3P,
  VOP3PX,
  DS,
  FLAT,
  GLOBAL,
  SCRATCH,
  MUBUF,
  VOPD,
  VINTERP
};

// The targets whose code is decoded, in the order of the table's columns.
enum class Chip : uint8_t { gfx90a, gfx942, gfx950, gfx1100, gfx1201 };
inline constexpr size_t kChips = 5;
std::optional<Chip> chip_of(std::string_view target);
// The chip that the flags of a code object name (EF_AMDGPU_MACH); empty: one that is not decoded.
std::optional<Chip> chip_of_flags(uint32_t flags);
std::string_view name_of(Chip chip);

// One word of a row's operands.
struct Word {
  char letter = 0, mark = 0;  // mark: x: an accumulator, g: a scalar; 0
  uint8_t count = 1;          // registers
  bool is_half = false, is_mask = false;
};

struct Encoding {
  Format format;
  std::string_view name, operands;
  std::array<int16_t, kChips> numbers;  // -1: the chip lacks it
  std::vector<Word> words;
  const Word* word(char letter) const {
    for (const Word& w : words)
      if (w.letter == letter) return &w;
    return nullptr;
  }
};

const std::vector<Encoding>& encodings();
const Encoding* encoding_of(Chip chip, Format format, uint32_t number);  // null: there is none

}  // namespace triton_runner::amdgcn
