// Assembler writes AVX-512 instructions as bytes, in the few forms that native code is made of. Avx2Assembler (avx2.h) is asked
// for the same and writes what AVX2 has for it.
//
//   Assembler a;
//   a.vector(kAddPs, 2, 0, 1);          vaddps zmm2, zmm0, zmm1
//   a.vector(kLoad, 3, Home{512, 4});   vmovups zmm3, [rdi + 4 * rax + 512]
//
// rdi is the register file, eax the lane, r11d the first one, rsi where constants are, r8 where spans begin (span.h), r9 where what
// orders their words is: native.cpp and the writer say who sets them. rcx and r10 hold what an instruction or two need.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace triton_runner::simt {

// An instruction by its encoding (EVEX, and VEX where AVX2 has it): the table of opcodes, the mandatory prefix, whether elements
// have 64 bits.
struct VectorOp {
  enum Table : uint8_t { k0F = 1, k0F38 = 2, k0F3A = 3 } table;
  enum Prefix : uint8_t { kNone, k66, kF3, kF2 } prefix;
  bool wide;
  uint8_t code;
  bool operator==(const VectorOp&) const = default;
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
    kMaskOfSigns{VectorOp::k0F38, VectorOp::kF3, false, 0x39}, kTest{VectorOp::k0F38, VectorOp::k66, false, 0x27},
    kLookUp{VectorOp::k0F38, VectorOp::k66, false, 0x36}, kMulPairs{VectorOp::k0F, VectorOp::k66, false, 0xf5},
    kShiftWordsBy{VectorOp::k0F, VectorOp::k66, false, 0x72},
    kShuffleBytes{VectorOp::k0F38, VectorOp::k66, false, 0x00}, kMulBytes{VectorOp::k0F38, VectorOp::k66, false, 0x04},
    kAddBytes{VectorOp::k0F, VectorOp::k66, false, 0xfc}, kAddHalfWords{VectorOp::k0F, VectorOp::k66, false, 0xfd},
    kMaskOfBytes{VectorOp::k0F38, VectorOp::kF3, false, 0x29}, kBytesOfMask{VectorOp::k0F38, VectorOp::kF3, false, 0x28};
// clang-format on

// Shifts by a number have these in the place of a register.
inline constexpr int kRightBy = 2, kRightSignedBy = 4, kLeftBy = 6;

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
inline constexpr int kRcx = 1, kR9 = 9, kR10 = 10;

// A constant, at [rsi + at]: a vector, or one word for all elements, which is there eight times.
struct Constant16 {
  uint32_t at;
  bool is_word;
};

// RegisterUse says what the processor's registers are for.
struct RegisterUse {
  int lanes;                 // words of a vector
  int first, end;            // the vectors that hold values
  int first_mask, end_mask;  // the masks that do; of none, a mask is a vector whose words are all ones or 0
  int scratch, scratch2, nan, mask_scratch;
  bool has_masks() const { return end_mask != 0; }
};

// Two tables of 64 or 128 words among the constants. The number of an entry begins at bit `lowest` of a word, and the bits above
// it do not count.
struct WordTables {
  uint32_t first, second;  // at multiples of 64
  uint32_t pairs;          // of 256 words each, for AVX2: by the bits 16 to 23
  uint32_t entries;
  uint8_t lowest;
  Constant16 bits[2];  // 32, 64
};

class Assembler {
 public:
  Assembler() : Assembler({16, 0, 29, 1, 7, 29, 30, 31, 7}) {}  // k0 means "without a mask"
  virtual ~Assembler() = default;
  const RegisterUse& use() const { return use_; }

  // reg = op(second, rm), of the elements that `mask` has (0: of all; else the others are kept).
  virtual void vector(VectorOp op, int reg, int second, int rm, int mask = 0);
  virtual void vector(VectorOp op, int reg, int second, Constant16 rm, int mask = 0);
  virtual void vector_imm(VectorOp op, int reg, int second, int rm, uint8_t imm, int mask = 0);
  virtual void vector_imm(VectorOp op, int reg, int second, Constant16 rm, uint8_t imm, int mask = 0);
  // Loads, stores or broadcasts.
  virtual void vector(VectorOp op, int reg, Home home);
  virtual void load_mask(int reg, Home home);
  virtual void store_mask(int reg, Home home);
  // reg = the word in each element.
  virtual void broadcast(int reg, uint32_t word);

  virtual void mask(MaskOp op, int reg, int second, int rm);
  // reg = the masks of both halves of longs; `upper` is overwritten.
  virtual void join_masks(int reg, int lower, int upper);
  // The mask of one half, which lasts until the next instruction.
  virtual int half_mask(int mask, int half);
  // reg = op(one half of `from`), words that become longs.
  virtual void extend(VectorOp op, int reg, int from, int half);
  // reg = the lower words of longs, or the upper ones.
  virtual void narrow(int reg, int lower, int upper, bool upper_words);
  // first, second = the words of both tables for `of`. The masks and the two other registers are overwritten.
  virtual void look_up(int first, int second, int of, const WordTables& tables, std::span<const int> masks,
                       std::span<const int, 2> more);

  virtual void with_memory(VectorOp op, int reg, int second, Memory rm, int mask = 0);
  // reg = the words of lanes ^ `by` (not fewer than a vector has), which the register file has at `place`.
  virtual void load_swapped(int reg, uint32_t place, uint32_t by);
  // reg = `a` of the lane `by` below or, where a warp has none there, its own; the register file has the lanes before these.
  virtual void move_up(int reg, int a, uint32_t place, uint32_t by);
  // Jumps to where land() is called with what this returns, where all elements have the mask.
  virtual size_t jump_if_all(int mask);
  // The same where no element has the mask; jump_again() does what the last of these jumps did.
  virtual size_t jump_if_none(int mask);
  size_t jump_again();
  // The same always.
  size_t jump_always();
  void land(size_t jump);
  // rsi = where constants are.
  void constants_at(const void* place);
  // rcx = the address of number `index` of those at r8, plus 8 times the lane.
  void begin_at(uint32_t index, bool by_lane);
  // Asks for a line of memory that may not be there, to be in the second cache.
  void prefetch(Memory rm);
  void byte(uint8_t value) { bytes.push_back(value); }
  void word(uint32_t value) {
    for (int k = 0; k < 32; k += 8) byte(static_cast<uint8_t>(value >> k));
  }
  std::vector<uint8_t> bytes;

 protected:
  explicit Assembler(const RegisterUse& use) : use_(use) {}
  // A jump of 0x0f and this byte, by as much as land() says.
  size_t far_jump(uint8_t condition);
  // Operands follow an instruction's code.
  void operands(int reg, int rm) { byte(static_cast<uint8_t>(0xc0 | (reg & 7) << 3 | (rm & 7))); }
  void operands(int reg, Home home);
  void operands(int reg, Constant16 rm);
  void operands(int reg, Memory rm);

 private:
  void load_other(int reg, uint32_t place);
  enum Length : uint8_t { k128, k256, k512 };
  void prefix(VectorOp op, int reg, int second, int rm, int mask, Length length, bool is_word = false);
  void shift_mask(bool left, int reg, int rm, uint8_t by);
  // ymm `to` = the upper half of `from`.
  void upper(int to, int from) { vector_imm(kUpperHalf, from, 0, to, 1); }

  RegisterUse use_;
};

}  // namespace triton_runner::simt
