// Implements Assembler: Intel's manual, volume 2, 2.7 (EVEX) and 2.3 (VEX).
#include "native/assembler.h"

#include <bit>

namespace triton_runner::simt {

// Bits of registers are complemented there; `rm` of memory is 0, as rdi, rsi and rax have no upper bits.
void Assembler::prefix(VectorOp op, int reg, int second, int rm, int mask, Length length, bool is_word) {
  const auto off = [](int value, int bit) { return (~value >> bit & 1); };
  byte(0x62);
  byte(static_cast<uint8_t>(off(reg, 3) << 7 | off(rm, 4) << 6 | off(rm, 3) << 5 | off(reg, 4) << 4 |
                            op.table));
  byte(static_cast<uint8_t>(int{op.wide} << 7 | (~second & 15) << 3 | 4 | op.prefix));
  byte(static_cast<uint8_t>(int{length} << 5 | int{is_word} << 4 | off(second, 4) << 3 | mask));
  byte(op.code);
}

void Assembler::operands(int reg, Home home) {
  constexpr int kDisp32 = 2 << 6, kSib = 4, kRdi = 7, kRax = 0;
  if (home.bytes == 0) {
    byte(static_cast<uint8_t>(kDisp32 | (reg & 7) << 3 | kRdi));
  } else {
    byte(static_cast<uint8_t>(kDisp32 | (reg & 7) << 3 | kSib));
    byte(static_cast<uint8_t>(std::countr_zero(home.bytes) << 6 | kRax << 3 | kRdi));
  }
  word(home.at);
}

void Assembler::operands(int reg, Constant16 rm) {
  constexpr int kDisp32 = 2 << 6, kRsi = 6;
  byte(static_cast<uint8_t>(kDisp32 | (reg & 7) << 3 | kRsi));
  word(rm.at);
}

void Assembler::vector(VectorOp op, int reg, int second, int rm, int mask) {
  prefix(op, reg, second, rm, mask, k512);
  operands(reg, rm);
}

void Assembler::vector(VectorOp op, int reg, int second, Constant16 rm, int mask) {
  prefix(op, reg, second, 0, mask, k512, rm.is_word);
  operands(reg, rm);
}

void Assembler::vector_imm(VectorOp op, int reg, int second, int rm, uint8_t imm, int mask) {
  vector(op, reg, second, rm, mask);
  byte(imm);
}

void Assembler::vector_imm(VectorOp op, int reg, int second, Constant16 rm, uint8_t imm, int mask) {
  vector(op, reg, second, rm, mask);
  byte(imm);
}

void Assembler::vector(VectorOp op, int reg, Home home) {
  prefix(op, reg, 0, 0, 0, k512);
  operands(reg, home);
}

void Assembler::load_mask(int reg, Home home) {
  prefix(kLoad, use_.scratch, 0, 0, 0, k128);
  operands(use_.scratch, home);
  prefix(kMaskOfBytes, reg, 0, use_.scratch, 0, k128);
  operands(reg, use_.scratch);
}

void Assembler::store_mask(int reg, Home home) {
  prefix(kBytesOfMask, use_.scratch, 0, reg, 0, k128);
  operands(use_.scratch, reg);
  prefix(kStore, use_.scratch, 0, 0, 0, k128);
  operands(use_.scratch, home);
}

void Assembler::broadcast(int reg, uint32_t value) {
  byte(0xb9);  // mov ecx, value
  word(value);
  vector(kBroadcastFromEcx, reg, 0, 1);
}

void Assembler::mask(MaskOp op, int reg, int second, int rm) {
  const bool takes_two = op != MaskOp::kNot && op != MaskOp::kMove;
  byte(0xc5);
  byte(static_cast<uint8_t>(0x80 | (takes_two ? (~second & 15) << 3 | 4 : 15 << 3)));
  byte(static_cast<uint8_t>(op));
  byte(static_cast<uint8_t>(0xc0 | reg << 3 | rm));
}

void Assembler::shift_mask(bool left, int reg, int rm, uint8_t by) {
  for (const int b : {0xc4, 0xe3, 0xf9, left ? 0x32 : 0x30, 0xc0 | reg << 3 | rm, int{by}})
    byte(static_cast<uint8_t>(b));
}

void Assembler::join_masks(int reg, int lower, int upper) {
  shift_mask(true, upper, upper, 8);
  mask(MaskOp::kOr, reg, lower, upper);
}

int Assembler::half_mask(int mask, int half) {
  if (half == 0) return mask;
  shift_mask(false, use_.mask_scratch, mask, 8);
  return use_.mask_scratch;
}

void Assembler::extend(VectorOp op, int reg, int from, int half) {
  if (half) upper(reg, from);
  vector(op, reg, 0, half ? reg : from);
}

void Assembler::narrow(int reg, int lower_half, int upper_half, bool upper_words) {
  const int halves[] = {lower_half, upper_half}, to[] = {reg, use_.scratch};
  for (int h = 0; h < 2; ++h) {  // the lower half of `reg` first: a mask keeps nothing of it
    if (upper_words) vector_imm(kShiftBy, kRightBy, use_.scratch2, halves[h], 32);
    vector(kTruncate, upper_words ? use_.scratch2 : halves[h], 0, to[h]);
  }
  vector_imm(kInsertUpper, reg, reg, use_.scratch, 1);
}

void Assembler::look_up(int first, int second, int index, const WordTables& tables,
                        std::span<const int> masks) {
  for (size_t bit = 0; 16u << bit < tables.entries; ++bit) vector(kTest, masks[bit], index, tables.bits[bit]);
  const auto mask_of = [&](uint32_t part) {  // elements whose index has the bits of the part's number
    int found = 0;
    for (size_t bit = 0; part >> bit != 0; ++bit) {
      if (!(part >> bit & 1)) continue;
      if (found != 0) mask(MaskOp::kAnd, masks.back(), found, masks[bit]);
      found = found ? masks.back() : masks[bit];
    }
    return found;
  };
  for (uint32_t part = 0; 16 * part < tables.entries; ++part) {
    const int of_part = mask_of(part);
    vector(kLookUp, first, index, Constant16{tables.first + 64 * part, false}, of_part);
    vector(kLookUp, second, index, Constant16{tables.second + 64 * part, false}, of_part);
  }
}

void Assembler::constants_at(const void* place) {
  const auto address = reinterpret_cast<uintptr_t>(place);
  for (const int b : {0x48, 0xbe}) byte(static_cast<uint8_t>(b));  // mov rsi, place
  word(static_cast<uint32_t>(address));
  word(static_cast<uint32_t>(uint64_t{address} >> 32));
}

}  // namespace triton_runner::simt
