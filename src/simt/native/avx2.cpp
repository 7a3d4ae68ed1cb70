// Implements Avx2Assembler: Intel's manual, volume 2, 2.3 (VEX).
#include "native/avx2.h"

#include <algorithm>
#include <type_traits>

namespace triton_runner::simt {
namespace {

constexpr uint8_t kIf = 0x74, kIfNot = 0x75, kAlways = 0xeb;  // jumps: zero, not zero
constexpr int kNoSecond = 0;                                  // of instructions of one operand

// Writes the bytes before the operands. Bits of registers are complemented there.
void vex(Assembler& a, VectorOp op, int reg, int second, int rm, int bits) {
  const auto off = [](int value, int bit) { return (~value >> bit & 1); };
  const bool has_wide_form = op != kBroadcastWide;
  a.byte(0xc4);
  a.byte(static_cast<uint8_t>(off(reg, 3) << 7 | 1 << 6 | off(rm, 3) << 5 | op.table));
  a.byte(static_cast<uint8_t>(int{op.wide && has_wide_form} << 7 | (~second & 15) << 3 |
                              int{bits == 256} << 2 | op.prefix));
  a.byte(op.code);
}

// [rsp + at].
struct Stack {
  int8_t at;
};
// [rdi + 4 * rcx + at].
struct ByRcx {
  uint32_t at;
};
// [rsi + 8 * rcx + at].
struct Pair {
  uint32_t at;
};

}  // namespace

void Avx2Assembler::plain(VectorOp op, int reg, int second, int rm, int bits) {
  vex(*this, op, reg, second, rm, bits);
  operands(reg, rm);
}

template <class Memory>
void Avx2Assembler::plain(VectorOp op, int reg, int second, Memory rm, int bits) {
  vex(*this, op, reg, second, 0, bits);
  constexpr int kDisp8 = 1 << 6, kDisp32 = 2 << 6, kSib = 4;
  if constexpr (std::is_same_v<Memory, Stack>) {
    byte(static_cast<uint8_t>(kDisp8 | (reg & 7) << 3 | kSib));
    byte(0x24);
    byte(static_cast<uint8_t>(rm.at));
  } else if constexpr (std::is_same_v<Memory, Pair>) {
    byte(static_cast<uint8_t>(kDisp32 | (reg & 7) << 3 | kSib));
    byte(0xce);
    word(rm.at);
  } else if constexpr (std::is_same_v<Memory, ByRcx>) {
    byte(static_cast<uint8_t>(kDisp32 | (reg & 7) << 3 | kSib));
    byte(0x8f);
    word(rm.at);
  } else {
    operands(reg, rm);
  }
}

void Avx2Assembler::plain_imm(VectorOp op, int reg, int second, int rm, int imm) {
  plain(op, reg, second, rm);
  byte(static_cast<uint8_t>(imm));
}

void Avx2Assembler::invert(int reg) {
  ones(kTemporary);
  plain(kXor, reg, reg, kTemporary);
}

void Avx2Assembler::vector(VectorOp op, int reg, int second, int rm, int mask) {
  if (op == kBlend || op == wide(kBlend)) return blend(reg, second, rm, mask);
  if (mask != 0) {
    if (op == kMove) return blend(reg, reg, rm, mask);
    if (op == kXor && reg == second && reg == rm) return plain(kAndNot, reg, mask, reg);
    vector(op, kTemporary, second, rm, 0);
    return blend(reg, reg, kTemporary, mask);
  }
  if (op == wide(kMulLow)) return multiply_longs(reg, second, rm);
  if (op == wide(kShiftRightSigned)) return shift_longs_signed(reg, second, rm);
  for (const VectorOp longs : {kMinSigned, kMaxSigned, kMinUnsigned, kMaxUnsigned})
    if (op == wide(longs)) return extremum_of_longs(longs, reg, second, rm);
  if (op == kFloatOfUnsigned) return float_of_unsigned(reg, rm);
  if (op == kMaskOfSigns) return plain_imm(kShiftWordsBy, kRightSignedBy, reg, rm, 31);
  plain(op, reg, second, rm);
}

void Avx2Assembler::vector(VectorOp op, int reg, int second, Constant16 rm, int mask) {
  if (mask == 0) {
    plain(op, reg, second, rm);
  } else if (op == kBroadcast) {
    plain(kBlendVariable, reg, reg, rm);
    byte(static_cast<uint8_t>(mask << 4));
  } else {
    plain(op, kTemporary, second, rm);
    blend(reg, reg, kTemporary, mask);
  }
}

void Avx2Assembler::vector_imm(VectorOp op, int reg, int second, int rm, uint8_t imm, int mask) {
  for (const VectorOp comparison : {kCompareSigned, kCompareUnsigned})
    if (op == comparison || op == wide(comparison)) return compare(op, reg, second, rm, imm);
  if (op == kRangePs) return extremum(reg, second, rm, imm & 1);
  if (op == kTernary && mask != 0) return plain(kXor, reg, rm, mask);  // the complement
  if (op == kTernary) return table(reg, second, rm, imm);
  if (op == kShuffleQuarters) return plain_imm(kPermuteLongs, reg, kNoSecond, rm, 0x4e);  // by 4 lanes
  plain_imm(op, reg, second, rm, imm);
}

void Avx2Assembler::vector_imm(VectorOp op, int reg, int second, Constant16 rm, uint8_t imm, int) {
  if (op == kComparePs) {
    plain(op, reg, second, rm);
    return byte(imm);
  }
  plain(kLoad, kTemporary, kNoSecond, rm);
  compare(op, reg, second, kTemporary, imm);
}

void Avx2Assembler::vector(VectorOp op, int reg, Home home) { plain(op, reg, kNoSecond, home); }

// A masked store takes long, and mostly all lanes are on.
void Avx2Assembler::with_memory(VectorOp op, int reg, int second, Memory rm, int mask) {
  if (mask == 0) return plain(op, reg, second, rm);
  plain(kSignsToWord, kR10, kNoSecond, mask);
  for (const int b : {0x41, 0x81, 0xfa}) byte(static_cast<uint8_t>(b));  // cmp r10d, lanes
  word(0xff);
  const size_t some = jump(kIfNot);
  plain(kStore, reg, kNoSecond, rm);
  const size_t done = jump(kAlways);
  here(some);
  plain(kStoreMasked, reg, mask, rm);
  here(done);
}

void Avx2Assembler::load_mask(int reg, Home home) { plain(kExtendBytes, reg, kNoSecond, home); }

void Avx2Assembler::store_mask(int reg, Home home) {
  plain_imm(kUpperLane, reg, kNoSecond, kTemporary, 1);
  plain(kPackWords, kTemporary, reg, kTemporary, 128);
  plain(kPackBytes, kTemporary, kTemporary, kTemporary, 128);
  plain(kStoreLong, kTemporary, kNoSecond, home, 128);
}

void Avx2Assembler::broadcast(int reg, uint32_t value) {
  byte(0xb9);  // mov ecx, value
  word(value);
  plain(kFromEcx, reg, kNoSecond, 1, 128);
  plain(kBroadcast, reg, kNoSecond, reg);
}

void Avx2Assembler::mask(MaskOp op, int reg, int second, int rm) {
  switch (op) {
    case MaskOp::kAnd:
      return plain(kAnd, reg, second, rm);
    case MaskOp::kOr:
      return plain(kOr, reg, second, rm);
    case MaskOp::kXor:
      return plain(kXor, reg, second, rm);
    case MaskOp::kMove:
      return plain(kMove, reg, kNoSecond, rm);
    case MaskOp::kNot:
      ones(kTemporary);
      return plain(kXor, reg, rm, kTemporary);
  }
}

void Avx2Assembler::words_of_longs(int reg, int lower, int upper, int which) {
  plain_imm(kShufflePs, reg, lower, upper, which ? 0xdd : 0x88);
  plain_imm(kPermuteLongs, reg, kNoSecond, reg, 0xd8);
}

void Avx2Assembler::join_masks(int reg, int lower, int upper) { words_of_longs(reg, lower, upper, 0); }

int Avx2Assembler::half_mask(int mask, int half) {
  extend(kExtendSigned, kTemporary, mask, half);
  return kTemporary;
}

void Avx2Assembler::extend(VectorOp op, int reg, int from, int half) {
  if (half) plain_imm(kUpperLane, from, kNoSecond, reg, 1);
  plain(op, reg, kNoSecond, half ? reg : from);
}

void Avx2Assembler::narrow(int reg, int lower, int upper, bool upper_words) {
  words_of_longs(reg, lower, upper, upper_words);
}

// `how` is 0: ==, 1: <, 2: <=, 4: !=, 5: >=, 6: >. The processor has == and > of signed numbers.
void Avx2Assembler::compare(VectorOp op, int reg, int a, int b, int how) {
  const bool is_unsigned = op == kCompareUnsigned || op == wide(kCompareUnsigned);
  if (how % 4 == 0) {
    plain(op.wide ? kEqualLongs : kEqual, reg, a, b);
  } else if (is_unsigned && !op.wide) {  // a >= b: the larger one is a
    const bool of_max = how == 1 || how == 5;
    plain(of_max ? kMaxUnsigned : kMinUnsigned, reg, a, b);
    plain(kEqual, reg, reg, a);
    if (how == 1 || how == 6) invert(reg);
    return;
  } else {
    int of_b = b;
    if (is_unsigned) {  // signed ones are in the same order when the upper bit is the other
      of_b = kTemporary;
      ones(kTemporary);
      plain_imm(kShiftBy, kLeftBy, kTemporary, kTemporary, 63);
      plain(kXor, reg, a, kTemporary);
      plain(kXor, kTemporary, b, kTemporary);
    }
    const int of_a = is_unsigned ? reg : a;
    const bool is_less = how == 1 || how == 5;
    plain(op.wide ? kGreaterLongs : kGreater, reg, is_less ? of_b : of_a, is_less ? of_a : of_b);
  }
  if (how == 2 || how == 4 || how == 5) invert(reg);
}

// reg = b op c: bit 2 b + c of `bits`, an even number.
void Avx2Assembler::function_of_two(int reg, int b, int c, int bits) {
  switch (bits >> 1) {
    case 0:
      return plain(kXor, reg, reg, reg);
    case 1:
      return plain(kAndNot, reg, b, c);
    case 2:
      return plain(kAndNot, reg, c, b);
    case 3:
      return plain(kXor, reg, b, c);
    case 4:
      return plain(kAnd, reg, b, c);
    case 5:
      return plain(kMove, reg, kNoSecond, c);
    case 6:
      return plain(kMove, reg, kNoSecond, b);
    default:
      return plain(kOr, reg, b, c);
  }
}

// a = bit 4 a + 2 b + c of `bits`: f(b, c) ^ (a & g(b, c)), where a complement of f is one of the result.
void Avx2Assembler::table(int a, int b, int c, int bits) {
  const int f = bits & 15, g = f ^ bits >> 4;
  const auto even = [](int of_two) { return of_two & 1 ? ~of_two & 15 : of_two; };
  function_of_two(kTemporary, b, c, even(g));
  plain(g & 1 ? kAndNot : kAnd, a, kTemporary, a);
  if (even(f) != 0) {
    function_of_two(kTemporary, b, c, even(f));
    plain(kXor, a, a, kTemporary);
  }
  if (f & 1) invert(a);
}

// The processor takes the second of two zeros; the other order and the bits of both make it that with the sign.
void Avx2Assembler::extremum(int reg, int a, int b, bool is_max) {
  const VectorOp op = is_max ? kMaxPs : kMinPs;
  plain(op, kTemporary, a, b);
  plain(op, reg, b, a);
  plain(is_max ? kAndPs : kOrPs, reg, reg, kTemporary);
}

void Avx2Assembler::extremum_of_longs(VectorOp op, int reg, int a, int b) {
  const bool is_unsigned = op == kMinUnsigned || op == kMaxUnsigned;
  const bool is_max = op == kMaxSigned || op == kMaxUnsigned;
  compare(wide(is_unsigned ? kCompareUnsigned : kCompareSigned), reg, a, b, 6);
  blend(reg, is_max ? b : a, is_max ? a : b, reg);
}

// The lower 64 bits: of the words' products the two crosswise ones come 32 higher.
void Avx2Assembler::multiply_longs(int reg, int a, int b) {
  plain_imm(kShiftBy, kRightBy, reg, b, 32);
  plain(kMulUnsigned, reg, reg, a);
  plain_imm(kShiftBy, kRightBy, kTemporary, a, 32);
  plain(kMulUnsigned, kTemporary, kTemporary, b);
  plain(kAddWide, reg, reg, kTemporary);
  plain_imm(kShiftBy, kLeftBy, reg, reg, 32);
  plain(kMulUnsigned, kTemporary, a, b);
  plain(kAddWide, reg, reg, kTemporary);
}

// A negative number's complement has zeros above.
void Avx2Assembler::shift_longs_signed(int reg, int a, int by) {
  plain(kXor, kTemporary, kTemporary, kTemporary);
  plain(kGreaterLongs, kTemporary, kTemporary, a);
  plain(kXor, reg, a, kTemporary);
  plain(wide(kShiftRight), reg, reg, by);
  plain(kXor, reg, reg, kTemporary);
}

// The upper 16 bits times 2^16, plus the lower ones: rounded once.
void Avx2Assembler::float_of_unsigned(int reg, int a) {
  const int upper = kTemporary, scale = use().scratch;
  plain_imm(kShiftWordsBy, kRightBy, upper, a, 16);
  plain_imm(kShiftWordsBy, kLeftBy, reg, a, 16);
  plain_imm(kShiftWordsBy, kRightBy, reg, reg, 16);
  plain(kFloatOfSigned, upper, kNoSecond, upper);
  plain(kFloatOfSigned, reg, kNoSecond, reg);
  broadcast(scale, 0x47800000);
  plain(kFma231Ps, reg, upper, scale);
}

void Avx2Assembler::load_swapped(int reg, uint32_t place, uint32_t by) {
  for (const uint32_t b : {0x89u, 0xc1u, 0x83u, 0xf1u, by})  // mov ecx, eax; xor ecx, by
    byte(static_cast<uint8_t>(b));
  plain(kLoad, reg, kNoSecond, ByRcx{place});
}

// A warp is four turns: the words of the turn before, or two before, are in the register file.
void Avx2Assembler::move_up(int reg, int a, uint32_t place, uint32_t by) {
  const Home before{place - 4 * std::max(by, 8u), 4};
  const uint8_t in_warp = by == 16 ? 16 : 31;  // bits of the lane: it has such a turn
  const int other = by < 8 ? kTemporary : reg;
  plain(kMove, other, kNoSecond, a);
  const size_t none = jump_if_lane(kIf, in_warp);
  plain(kLoad, other, kNoSecond, before);
  here(none);
  if (by >= 8) return;
  plain_imm(kTwoHalves, kTemporary, kTemporary, a, 0x21);  // the upper half there, the lower one here
  plain_imm(kAlignBytes, reg, a, kTemporary, static_cast<int>(16 - 4 * by));
  const size_t all = jump_if_lane(kIfNot, in_warp);
  plain_imm(kBlendBy, reg, reg, a, (1 << by) - 1);
  here(all);
}

size_t Avx2Assembler::jump_if_all(int mask) {
  plain(kSignsToWord, kRcx, kNoSecond, mask);
  for (const int b : {0x81, 0xf9}) byte(static_cast<uint8_t>(b));  // cmp ecx, lanes
  word(0xff);
  constexpr uint8_t kIfEqual = 0x84;
  return far_jump(kIfEqual);
}

size_t Avx2Assembler::jump_if_none(int mask) {
  plain(kSignsToWord, kR10, kNoSecond, mask);
  return jump_again();
}

size_t Avx2Assembler::jump(uint8_t condition) {
  byte(condition);
  byte(0);
  return bytes.size();
}

size_t Avx2Assembler::jump_if_lane(uint8_t condition, uint8_t bits) {
  byte(0xa8);  // test al, bits
  byte(bits);
  return jump(condition);
}

// By eight loads of pairs: on an EPYC two gathers take 1.8 times as long.
void Avx2Assembler::look_up(int first, int second, int of, const WordTables& tables, std::span<const int>,
                            std::span<const int, 2> more) {
  plain(kStore, of, kNoSecond, Stack{-32});
  const auto load = [&](int reg, int lane) {  // two pairs
    for (int k = 0; k < 2; ++k) {
      for (const int b : {0x0f, 0xb6, 0x4c, 0x24, 4 * (lane + k) + 2 - 32})
        byte(static_cast<uint8_t>(b));  // movzx ecx, byte []
      plain(k ? kLoadUpperLong : kLoadLong, reg, k ? reg : kNoSecond, Pair{tables.pairs}, 128);
    }
  };
  for (const int k : {0, 1}) {
    load(more[static_cast<size_t>(k)], 2 * k);
    load(kTemporary, 2 * k + 4);
    plain_imm(kInsertLane, more[static_cast<size_t>(k)], more[static_cast<size_t>(k)], kTemporary, 1);
  }
  plain_imm(kShufflePs, first, more[0], more[1], 0x88);
  plain_imm(kShufflePs, second, more[0], more[1], 0xdd);
}

}  // namespace triton_runner::simt
