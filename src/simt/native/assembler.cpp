// Implements Assembler: Intel's manual, volume 2, 2.7 (EVEX) and 2.3 (VEX).
#include "native/assembler.h"

#include <bit>

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

void Assembler::vector(VectorOp op, int reg, Home home, Length length) {
  prefix(op, reg, 0, 0, 0, length);
  constexpr int kDisp32 = 2 << 6, kSib = 4, kRdi = 7, kRax = 0;
  if (home.bytes == 0) {
    byte(static_cast<uint8_t>(kDisp32 | (reg & 7) << 3 | kRdi));
  } else {
    byte(static_cast<uint8_t>(kDisp32 | (reg & 7) << 3 | kSib));
    byte(static_cast<uint8_t>(std::countr_zero(home.bytes) << 6 | kRax << 3 | kRdi));
  }
  word(home.at);
}

void Assembler::vector(VectorOp op, int reg, int second, Constant16 rm, int mask) {
  prefix(op, reg, second, 0, mask, k512, rm.is_word);
  constexpr int kDisp32 = 2 << 6, kRsi = 6;
  byte(static_cast<uint8_t>(kDisp32 | (reg & 7) << 3 | kRsi));
  word(rm.at);
}

void Assembler::with_memory(VectorOp op, int reg, int second, Memory rm, int mask) {
  prefix(op, reg, second, rm.base, mask, k512);
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

void Assembler::load_half(int reg, uint32_t place, bool first) {
  for (const int b :
       {0x89, 0xc1, 0x83, first ? 0xe1 : 0xf1, first ? 0xef : 0x10})  // mov ecx, eax; and or xor
    byte(static_cast<uint8_t>(b));
  prefix(kLoad, reg, 0, 0, 0, k512);
  constexpr int kDisp32 = 2 << 6, kSib = 4, kRdi = 7, kBy4 = 2 << 6;
  byte(static_cast<uint8_t>(kDisp32 | (reg & 7) << 3 | kSib));
  byte(static_cast<uint8_t>(kBy4 | kRcx << 3 | kRdi));
  word(place);
}

void Assembler::lanes_below(int reg, uint32_t count) {
  // mov ecx, eax; and ecx, 16; shr ecx, 4; dec ecx; and ecx, lanes; kmovw reg, ecx
  for (const int b : {0x89, 0xc1, 0x83, 0xe1, 0x10, 0xc1, 0xe9, 0x04, 0xff, 0xc9, 0x81, 0xe1})
    byte(static_cast<uint8_t>(b));
  word((uint32_t{1} << count) - 1);
  for (const int b : {0xc5, 0xf8, 0x92, 0xc0 | reg << 3 | kRcx}) byte(static_cast<uint8_t>(b));
}

void Assembler::constants_at(const void* place) {
  const auto address = reinterpret_cast<uintptr_t>(place);
  for (const int b : {0x48, 0xbe}) byte(static_cast<uint8_t>(b));  // mov rsi, place
  word(static_cast<uint32_t>(address));
  word(static_cast<uint32_t>(uint64_t{address} >> 32));
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

void Assembler::broadcast(int reg, uint32_t value) {
  byte(0xb9);  // mov ecx, value
  word(value);
  vector(kBroadcastFromEcx, reg, 0, 1);
}

}  // namespace triton_runner::simt
