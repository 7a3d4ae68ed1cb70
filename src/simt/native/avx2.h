// Avx2Assembler writes with AVX2 and FMA what it is asked for in terms of AVX-512: 8 words a vector, 16 registers, and a mask is a
// vector. What AVX2 has no instruction for becomes several:
//
//   a.vector(kAddPs, 2, 1, 3)                  vaddps ymm2, ymm1, ymm3
//   a.vector(kMove, 2, 0, 3, 4)                vblendvps ymm2, ymm2, ymm3, ymm4        ymm4 is a mask
//   a.vector_imm(kCompareSigned, 4, 1, 3, 1)   vpcmpgtd ymm4, ymm3, ymm1               1: less
#pragma once
#include "native/assembler.h"

namespace triton_runner::simt {

class Avx2Assembler : public Assembler {
 public:
  Avx2Assembler()
      : Assembler({8, 1, 12, 0, 0, 13, 14, 0, 15}) {
  }  // ymm0 holds NaNs and never a mask; ymm12 is kTemporary

  void vector(VectorOp op, int reg, int second, int rm, int mask) override;
  void vector(VectorOp op, int reg, int second, Constant16 rm, int mask) override;
  void vector_imm(VectorOp op, int reg, int second, int rm, uint8_t imm, int mask) override;
  void vector_imm(VectorOp op, int reg, int second, Constant16 rm, uint8_t imm, int mask) override;
  void vector(VectorOp op, int reg, Home home) override;
  void with_memory(VectorOp op, int reg, int second, Memory rm, int mask) override;
  void load_mask(int reg, Home home) override;
  void store_mask(int reg, Home home) override;
  void broadcast(int reg, uint32_t word) override;
  void mask(MaskOp op, int reg, int second, int rm) override;
  void join_masks(int reg, int lower, int upper) override;
  int half_mask(int mask, int half) override;
  void extend(VectorOp op, int reg, int from, int half) override;
  void narrow(int reg, int lower, int upper, bool upper_words) override;
  void load_swapped(int reg, uint32_t place, uint32_t by) override;
  void move_up(int reg, int a, uint32_t place, uint32_t by) override;
  size_t jump_if_all(int mask) override;
  size_t jump_if_none(int mask) override;
  void look_up(int first, int second, int of, const WordTables& tables, std::span<const int> masks,
               std::span<const int, 2> more) override;

 private:
  static constexpr int kTemporary = 12;
  // One instruction of the processor's.
  void plain(VectorOp op, int reg, int second, int rm, int bits = 256);
  template <class Memory>
  void plain(VectorOp op, int reg, int second, Memory rm, int bits = 256);
  void plain_imm(VectorOp op, int reg, int second, int rm, int imm);
  // Jumps by at most 127 bytes, from a jump to here.
  size_t jump(uint8_t condition);
  void here(size_t jump) { bytes[jump - 1] = static_cast<uint8_t>(bytes.size() - jump); }
  // Jumps where the lane has a bit of `bits`, or (of the other condition) none.
  size_t jump_if_lane(uint8_t condition, uint8_t bits);
  // reg = mask ? b : a.
  void blend(int reg, int a, int b, int mask) { plain_imm(kBlendVariable, reg, a, b, mask << 4); }
  void ones(int reg) { plain(kEqual, reg, reg, reg); }
  void invert(int reg);
  // The parts of what AVX2 lacks; `reg` is none of the operands, but for table().
  void compare(VectorOp op, int reg, int a, int b, int how);
  void table(int a, int b, int c, int bits);
  void function_of_two(int reg, int b, int c, int bits);
  void extremum(int reg, int a, int b, bool is_max);
  void extremum_of_longs(VectorOp op, int reg, int a, int b);
  void multiply_longs(int reg, int a, int b);
  void shift_longs_signed(int reg, int a, int by);
  void float_of_unsigned(int reg, int a);
  // reg = [lower | upper], of each long one word.
  void words_of_longs(int reg, int lower, int upper, int which);

  static constexpr VectorOp
      // clang-format off
      kBlendVariable{VectorOp::k0F3A, VectorOp::k66, false, 0x4a}, kEqual{VectorOp::k0F, VectorOp::k66, false, 0x76},
      kEqualLongs{VectorOp::k0F38, VectorOp::k66, false, 0x29}, kGreater{VectorOp::k0F, VectorOp::k66, false, 0x66},
      kGreaterLongs{VectorOp::k0F38, VectorOp::k66, false, 0x37}, kAndNot{VectorOp::k0F, VectorOp::k66, false, 0xdf},
      kMaxPs{VectorOp::k0F, VectorOp::kNone, false, 0x5f}, kAndPs{VectorOp::k0F, VectorOp::kNone, false, 0x54},
      kOrPs{VectorOp::k0F, VectorOp::kNone, false, 0x56}, kFma231Ps{VectorOp::k0F38, VectorOp::k66, false, 0xb8},
      kUpperLane{VectorOp::k0F3A, VectorOp::k66, false, 0x39}, kInsertLane{VectorOp::k0F3A, VectorOp::k66, false, 0x38},
      kShufflePs{VectorOp::k0F, VectorOp::kNone, false, 0xc6}, kPermuteLongs{VectorOp::k0F3A, VectorOp::k66, true, 0x00},
      kExtendBytes{VectorOp::k0F38, VectorOp::k66, false, 0x21}, kPackWords{VectorOp::k0F, VectorOp::k66, false, 0x6b},
      kPackBytes{VectorOp::k0F, VectorOp::k66, false, 0x63}, kStoreLong{VectorOp::k0F, VectorOp::k66, false, 0xd6},
      kLoadLong{VectorOp::k0F, VectorOp::kF3, false, 0x7e}, kLoadUpperLong{VectorOp::k0F, VectorOp::kNone, false, 0x16},
      kFromEcx{VectorOp::k0F, VectorOp::k66, false, 0x6e},
      kSignsToWord{VectorOp::k0F, VectorOp::kNone, false, 0x50}, kAlignBytes{VectorOp::k0F3A, VectorOp::k66, false, 0x0f}, kTwoHalves{VectorOp::k0F3A, VectorOp::k66, false, 0x46},
 kBlendBy{VectorOp::k0F3A, VectorOp::k66, false, 0x0c}, kStoreMasked{VectorOp::k0F38, VectorOp::k66, false, 0x2e};
  // clang-format on
};

}  // namespace triton_runner::simt
