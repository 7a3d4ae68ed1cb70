// Assembler writes AVX-512 instructions as bytes, in the few forms that native code is made of.
//
//   Assembler a;
//   a.vector(kAddPs, 2, 0, 1);          vaddps zmm2, zmm0, zmm1
//   a.vector(kLoad, 3, Home{512, 4});   vmovups zmm3, [rdi + 4 * rax + 512]
//
// rdi is the register file, eax the lane, rsi where constants are, r8 where spans begin (span.h), r9 where what orders their words
// is: native.cpp and the writer say who sets them.
#pragma once
#include <cstdint>
#include <vector>

namespace triton_runner::simt {

// An instruction by its encoding (EVEX): the table of opcodes, the mandatory prefix, whether elements have 64 bits.
struct VectorOp {
  enum Table : uint8_t { k0F = 1, k0F38 = 2, k0F3A = 3 } table;
  enum Prefix : uint8_t { kNone, k66, kF3, kF2 } prefix;
  bool wide;
  uint8_t code;
};

// The same for 64-bit elements.
constexpr VectorOp wide(VectorOp op) { return {op.table, op.prefix, true, op.code}; }

inline constexpr VectorOp
    // clang-format off
    kLoad{VectorOp::k0F, VectorOp::kNone, false, 0x10}, kStore{VectorOp::k0F, VectorOp::kNone, false, 0x11},
    kMove{VectorOp::k0F, VectorOp::kNone, false, 0x28},
    kBroadcast{VectorOp::k0F38, VectorOp::k66, false, 0x58}, kBroadcastWide{VectorOp::k0F38, VectorOp::k66, true, 0x59},
    kBroadcastFromEcx{VectorOp::k0F38, VectorOp::k66, false, 0x7c},
    kAddPs{VectorOp::k0F, VectorOp::kNone, false, 0x58}, kSubPs{VectorOp::k0F, VectorOp::kNone, false, 0x5c},
    kMulPs{VectorOp::k0F, VectorOp::kNone, false, 0x59}, kFma213Ps{VectorOp::k0F38, VectorOp::k66, false, 0xa8},
    kRangePs{VectorOp::k0F3A, VectorOp::k66, false, 0x50}, kComparePs{VectorOp::k0F, VectorOp::kNone, false, 0xc2},
    kAdd{VectorOp::k0F, VectorOp::k66, false, 0xfe}, kSub{VectorOp::k0F, VectorOp::k66, false, 0xfa},
    kAddWide{VectorOp::k0F, VectorOp::k66, true, 0xd4}, kSubWide{VectorOp::k0F, VectorOp::k66, true, 0xfb},
    kMulLow{VectorOp::k0F38, VectorOp::k66, false, 0x40},
    kMulSigned{VectorOp::k0F38, VectorOp::k66, true, 0x28}, kMulUnsigned{VectorOp::k0F, VectorOp::k66, true, 0xf4},
    kAnd{VectorOp::k0F, VectorOp::k66, false, 0xdb}, kOr{VectorOp::k0F, VectorOp::k66, false, 0xeb},
    kXor{VectorOp::k0F, VectorOp::k66, false, 0xef}, kTernary{VectorOp::k0F3A, VectorOp::k66, false, 0x25},
    kShiftLeft{VectorOp::k0F38, VectorOp::k66, false, 0x47}, kShiftRight{VectorOp::k0F38, VectorOp::k66, false, 0x45},
    kShiftRightSigned{VectorOp::k0F38, VectorOp::k66, false, 0x46},
    kMinSigned{VectorOp::k0F38, VectorOp::k66, false, 0x39}, kMaxSigned{VectorOp::k0F38, VectorOp::k66, false, 0x3d},
    kMinUnsigned{VectorOp::k0F38, VectorOp::k66, false, 0x3b}, kMaxUnsigned{VectorOp::k0F38, VectorOp::k66, false, 0x3f},
    kCompareSigned{VectorOp::k0F3A, VectorOp::k66, false, 0x1f}, kCompareUnsigned{VectorOp::k0F3A, VectorOp::k66, false, 0x1e},
    kShiftBy{VectorOp::k0F, VectorOp::k66, true, 0x73},
    kShuffleWords{VectorOp::k0F, VectorOp::k66, false, 0x70}, kShuffleQuarters{VectorOp::k0F3A, VectorOp::k66, true, 0x43},
    kPick{VectorOp::k0F38, VectorOp::k66, false, 0x7e},  // of two vectors, by numbers: vpermt2d
    kAlign{VectorOp::k0F3A, VectorOp::k66, false, 0x03}, kBlend{VectorOp::k0F38, VectorOp::k66, false, 0x64},
    kExtendSigned{VectorOp::k0F38, VectorOp::k66, false, 0x25}, kExtendUnsigned{VectorOp::k0F38, VectorOp::k66, false, 0x35},
    kTruncate{VectorOp::k0F38, VectorOp::kF3, false, 0x35},
    kUpperHalf{VectorOp::k0F3A, VectorOp::k66, true, 0x3b}, kInsertUpper{VectorOp::k0F3A, VectorOp::k66, true, 0x3a},
    kFloatOfSigned{VectorOp::k0F, VectorOp::kNone, false, 0x5b}, kFloatOfUnsigned{VectorOp::k0F, VectorOp::kF2, false, 0x7a},
    kMinPs{VectorOp::k0F, VectorOp::kNone, false, 0x5d}, kTruncateFloat{VectorOp::k0F, VectorOp::kF3, false, 0x5b},
    kMaskOfSigns{VectorOp::k0F38, VectorOp::kF3, false, 0x39},
    kTest{VectorOp::k0F38, VectorOp::k66, false, 0x27}, kTestNot{VectorOp::k0F38, VectorOp::kF3, false, 0x27},
    kLookUp{VectorOp::k0F38, VectorOp::k66, false, 0x36}, kMulPairs{VectorOp::k0F, VectorOp::k66, false, 0xf5},
    kShiftWordsBy{VectorOp::k0F, VectorOp::k66, false, 0x72},
    kMaskOfBytes{VectorOp::k0F38, VectorOp::kF3, false, 0x29}, kBytesOfMask{VectorOp::k0F38, VectorOp::kF3, false, 0x28};
// clang-format on

// Instructions on masks (VEX).
enum class MaskOp : uint8_t { kAnd = 0x41, kOr = 0x45, kXor = 0x47, kNot = 0x44, kMove = 0x90 };

// The place of a value in the register file: [rdi + bytes * rax + at], or of a uniform one (bytes 0) [rdi + at].
struct Home {
  uint32_t at;
  uint32_t bytes;
};

// Memory at [base + scale * rax + at], or (scale 0) [base + at]; `base` is the number of rcx or r9.
struct Memory {
  int base;
  uint32_t scale;
  uint32_t at;
};
inline constexpr int kRcx = 1, kR9 = 9;

// A constant, at [rsi + at]: a vector, or one word for all elements.
struct Constant16 {
  uint32_t at;
  bool is_word;
};

class Assembler {
 public:
  enum Length : uint8_t { k128, k256, k512 };
  // reg = op(second, rm), of the elements that `mask` has (0: of all; else the others are kept).
  void vector(VectorOp op, int reg, int second, int rm, int mask = 0, Length length = k512) {
    prefix(op, reg, second, rm, mask, length);
    byte(static_cast<uint8_t>(0xc0 | (reg & 7) << 3 | (rm & 7)));
  }
  void vector_imm(VectorOp op, int reg, int second, int rm, uint8_t imm, int mask = 0) {
    vector(op, reg, second, rm, mask);
    byte(imm);
  }
  void vector(VectorOp op, int reg, Home home, Length length = k512);
  void vector(VectorOp op, int reg, int second, Constant16 rm, int mask = 0);
  void with_memory(VectorOp op, int reg, int second, Memory rm, int mask = 0);
  void vector_imm(VectorOp op, int reg, int second, Constant16 rm, uint8_t imm, int mask = 0) {
    vector(op, reg, second, rm, mask);
    byte(imm);
  }
  void mask(MaskOp op, int reg, int second, int rm);
  void shift_mask(bool left, int reg, int rm, uint8_t by);
  // zmm `reg` = the word in each element.
  void broadcast(int reg, uint32_t word);
  // Loads a place from the other half of a warp (its first one: from it or, in that, from itself).
  void load_half(int reg, uint32_t place, bool first);
  // k `reg` = the lanes below `count`, in the first half of a warp; none in the second.
  void lanes_below(int reg, uint32_t count);
  // rsi = where constants are.
  void constants_at(const void* place);
  // rcx = the address of number `index` of those at r8, plus 8 times the lane.
  void begin_at(uint32_t index, bool by_lane);
  void byte(uint8_t value) { bytes.push_back(value); }
  void word(uint32_t value) {
    for (int k = 0; k < 32; k += 8) byte(static_cast<uint8_t>(value >> k));
  }
  std::vector<uint8_t> bytes;

 private:
  void prefix(VectorOp op, int reg, int second, int rm, int mask, Length length, bool is_word = false);
};

}  // namespace triton_runner::simt
