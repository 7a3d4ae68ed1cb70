// Implements Assembler: Intel's manual, volume 2, 2.7 (EVEX) and 2.3 (VEX).
#include "native/assembler.h"

#include <bit>
#include <utility>

namespace triton_runner::simt {

// Bits of registers are complemented there; `rm` of memory is 0, or that of the base: the others have no upper bits.
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

void Assembler::with_memory(VectorOp op, int reg, int second, Memory rm, int mask) {
  prefix(op, reg, second, rm.base, mask, k512);
  operands(reg, rm);
}

void Assembler::operands(int reg, Memory rm) {
  constexpr int kDisp32 = 2 << 6, kSib = 4, kRax = 0;
  byte(static_cast<uint8_t>(kDisp32 | (reg & 7) << 3 | (rm.scale ? kSib : rm.base & 7)));
  if (rm.scale) byte(static_cast<uint8_t>(std::countr_zero(rm.scale) << 6 | kRax << 3 | (rm.base & 7)));
  word(rm.at);
}

void Assembler::begin_at(uint32_t index, bool by_lane) {
  for (const int b : {0x49, 0x8b, 0x88}) byte(static_cast<uint8_t>(b));  // mov rcx, [r8 + 8 * index]
  word(8 * index);
  if (by_lane)
    for (const int b : {0x48, 0x8d, 0x0c, 0xc1}) byte(static_cast<uint8_t>(b));  // lea rcx, [rcx + 8 * rax]
}

void Assembler::prefetch(Memory rm) {
  constexpr int kIntoSecond = 2;
  for (const int b : {0x0f, 0x18}) byte(static_cast<uint8_t>(b));  // prefetcht1
  operands(kIntoSecond, rm);
}

// Loads [rdi + 4 * rcx + place].
void Assembler::load_other(int reg, uint32_t place) {
  prefix(kLoad, reg, 0, 0, 0, k512);
  constexpr int kDisp32 = 2 << 6, kSib = 4, kRdi = 7, kBy4 = 2 << 6;
  byte(static_cast<uint8_t>(kDisp32 | (reg & 7) << 3 | kSib));
  byte(static_cast<uint8_t>(kBy4 | kRcx << 3 | kRdi));
  word(place);
}

void Assembler::load_swapped(int reg, uint32_t place, uint32_t by) {
  for (const uint32_t b : {0x89u, 0xc1u, 0x83u, 0xf1u, by})  // mov ecx, eax; xor ecx, by
    byte(static_cast<uint8_t>(b));
  load_other(reg, place);
}

void Assembler::move_up(int reg, int a, uint32_t place, uint32_t by) {
  // mov ecx, eax; and ecx, ~16: the first half of the warp, or these
  for (const int b : {0x89, 0xc1, 0x83, 0xe1, 0xef}) byte(static_cast<uint8_t>(b));
  load_other(use_.scratch, place);
  vector_imm(kAlign, reg, a, use_.scratch, static_cast<uint8_t>(16 - by));
  // mov ecx, eax; and ecx, 16; shr ecx, 4; dec ecx; and ecx, lanes; kmovw k, ecx: lanes below `by` in the first half
  for (const int b : {0x89, 0xc1, 0x83, 0xe1, 0x10, 0xc1, 0xe9, 0x04, 0xff, 0xc9, 0x81, 0xe1})
    byte(static_cast<uint8_t>(b));
  word((uint32_t{1} << by) - 1);
  for (const int b : {0xc5, 0xf8, 0x92, 0xc0 | use_.mask_scratch << 3 | kRcx}) byte(static_cast<uint8_t>(b));
  vector(kBlend, reg, reg, a, use_.mask_scratch);
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

void Assembler::look_up(int first, int second, int of, const WordTables& tables, std::span<const int> masks,
                        std::span<const int, 2> others) {
  const auto [index, more] = std::pair{others[0], others[1]};
  vector_imm(kShiftWordsBy, kRightBy, index, of, tables.lowest);
  for (size_t bit = 0; 32u << bit < tables.entries; ++bit) vector(kTest, masks[bit], index, tables.bits[bit]);
  const auto mask_of = [&](uint32_t part) {  // elements whose index has the bits of the number of 32 words
    int found = 0;
    for (size_t bit = 0; part >> bit != 0; ++bit) {
      if (!(part >> bit & 1)) continue;
      if (found != 0) mask(MaskOp::kAnd, masks.back(), found, masks[bit]);
      found = found ? masks.back() : masks[bit];
    }
    return found;
  };
  for (uint32_t part = 0; 32 * part < tables.entries; ++part) {
    const int of_part = mask_of(part);
    for (const auto& [found, table] : {std::pair{first, tables.first}, {second, tables.second}}) {
      const int words = part == 0 ? found : more;
      vector(kLoad, words, 0, Constant16{table + 128 * part, false});
      vector(kPick, words, index, Constant16{table + 128 * part + 64, false});
      if (part) vector(kMove, found, 0, words, of_part);
    }
  }
}

size_t Assembler::far_jump(uint8_t condition) {
  byte(0x0f);
  byte(condition);
  word(0);
  return bytes.size();
}

size_t Assembler::jump_always() {
  byte(0xe9);
  word(0);
  return bytes.size();
}

void Assembler::land(size_t jump) {
  const size_t by = bytes.size() - jump;
  for (size_t k = 0; k < 4; ++k) bytes[jump - 4 + k] = static_cast<uint8_t>(by >> (8 * k));
}

size_t Assembler::jump_if_all(int mask) {
  for (const int b : {0xc5, 0xf8, 0x98, 0xc0 | mask << 3 | mask}) byte(static_cast<uint8_t>(b));  // kortestw
  constexpr uint8_t kIfCarry = 0x82;
  return far_jump(kIfCarry);
}

size_t Assembler::jump_if_none(int mask) {
  for (const int b : {0xc5, 0x78, 0x93, 0xd0 | mask}) byte(static_cast<uint8_t>(b));  // kmovw r10d, mask
  return jump_again();
}

size_t Assembler::jump_again() {
  for (const int b : {0x45, 0x85, 0xd2}) byte(static_cast<uint8_t>(b));  // test r10d, r10d
  constexpr uint8_t kIfZero = 0x84;
  return far_jump(kIfZero);
}

void Assembler::constants_at(const void* place) {
  const auto address = reinterpret_cast<uintptr_t>(place);
  for (const int b : {0x48, 0xbe}) byte(static_cast<uint8_t>(b));  // mov rsi, place
  word(static_cast<uint32_t>(address));
  word(static_cast<uint32_t>(uint64_t{address} >> 32));
}

}  // namespace triton_runner::simt
