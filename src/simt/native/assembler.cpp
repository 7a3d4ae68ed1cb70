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
