// Computes what tensor cores do: D = A * B + C on raw bits, as each generation of the hardware adds.
//
// A tensor core is not a chain of IEEE operations. It takes a block of products and the accumulator, aligns them
// all to the largest exponent among them, cuts each off `fraction` bits after that exponent's one, adds
// exactly, and cuts the sum to the accumulator's format. How many products a block has and how many bits stay
// is a row of mma_model's table; doc/internals/hardware.md says where the rows come from. Fast models are
// chains of f32 fused multiply-adds in ascending k instead.
//
// Operands come as tiles of 8 rows of 16 bytes: what one 32-bit register of a warp holds (lane l: row l / 4,
// bytes 4 * (l % 4)), a core matrix of shared memory, or what ldmatrix loads (PTX ISA 9.7.14.5, 9.7.15.5).
// The results are the same bits on every instruction set.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

namespace triton_runner::num {

enum class MmaType : uint8_t {
  kF16,
  kBF16,
  kTF32,  // 32 bits, the low 13 are not looked at
  kE4M3,
  kE5M2,
  kE3M2,      // one a byte, in the low six bits
  kE2M3,      // one a byte, in the low six bits
  kE2M1Byte,  // one a byte, in bits 2 to 5
  kE2M1,      // two a byte, low four bits first
  kS8,
  kU8,
  kS4,  // two a byte
  kU4,
};
enum class MmaSum : uint8_t { kF32, kF16, kS32 };
// The instruction: generations do not add the same way in all of them.
enum class MmaUnit : uint8_t { kMma, kWgmma, kTcgen05 };
// How scale factors come in (kind::mx...): not at all, as powers of two a row and column (ue8m0), or as
// factors of groups of 16 products that are added exactly before (kind::mxf4, kind::mxf4nvf4).
enum class MmaScale : uint8_t { kNone, kPowers, kGroups };

// One row of the table: how sums of one kind are taken.
struct MmaModel {
  int16_t block = 16;           // products a step; a longer k takes several, in ascending order
  int8_t fraction = 25;         // bits that a term keeps after the point of the largest exponent
  int8_t result = 23;           // bits after the point that an f32 sum keeps; f16 sums are rounded to nearest
  int16_t min_exponent = -133;  // the largest exponent counts as no less
  // There is no such unit: operands are converted to f16 (where their subnormals are normal), the halves of k
  // (elements 0 and 1 of each four, then 2 and 3) are two products that start from 0, and the accumulator is
  // added last, rounded to nearest.
  bool converted = false;
  std::string_view source;  // "measured: H200", or the paper
};
MmaModel mma_model(int capability, MmaUnit unit, MmaType type, MmaSum sum, MmaScale scale = MmaScale::kNone);

int mma_bits(MmaType type);  // of an element in a tile
inline constexpr int kMmaMaxK = 256;
// Longer sums leave registers seldom enough, and as much of A, four times, pushes the rest out of the first cache.
inline constexpr int kMmaMaxInRegisters = 32;

// How one kind of product is computed; made once, when an instruction is lowered.
struct MmaPlan {
  MmaPlan() = default;
  // k: elements of a row of A, a multiple of the elements of 16 bytes.
  MmaPlan(int capability, MmaUnit unit, MmaType a, MmaType b, MmaSum sum, int k, bool fast,
          MmaScale scale = MmaScale::kNone);
  MmaType a = MmaType::kF16, b = MmaType::kF16;
  MmaSum sum = MmaSum::kF32;
  MmaScale scale = MmaScale::kNone;
  int k = 0;
  bool fast = false;      // mma="fast"
  bool saturate = false;  // s32: clamp the sum instead of wrapping
  bool sparse = false;    // A: half of the elements are there
  // Fast sums of f32 in registers of warps (mma_multiply_registers), of 16 rows and k up to kMmaMaxInRegisters:
  // operands are made ready for that.
  bool in_registers = false;
  int a_sign = 1, b_sign = 1;  // -1: the operand is negated (wgmma imm-scale, tcgen05 negate)
  MmaModel model;

  int block() const { return model.converted ? k / 2 : sparse ? 2 * model.block : model.block; }
  int a_tiles() const { return k * mma_bits(a) / 128; }  // tiles side by side that make up k
  int b_tiles() const { return k * mma_bits(b) / 128; }
};

// 16 rows of A, ready to be multiplied: element k of row i at [k * 16 + i]; in_registers: four times from
// [k * 64 + 4 * i] on.
struct MmaRows {
  alignas(64) float value[kMmaMaxK * 16];
  alignas(64) int16_t exponent[kMmaMaxK * 16];
  alignas(64) float scale[16][16];         // kPowers: [0][i] of row i; kGroups: [group][i]
  bool special = false;                    // an infinity or a NaN among them
  int min_exponent = 0, max_exponent = 0;  // of what is not 0
};
// Columns of B: element k of column j at [j * k_of_plan + k]; in_registers: of eight columns, the even and then the
// odd ones, from [k * 8] on.
struct MmaColumns {
  std::vector<float> value;
  std::vector<int32_t> exponent;  // in both halves
  std::vector<float> scale;       // kPowers: [j]; kGroups: [j * 16 + group]
  bool special = false;
  int min_exponent = 0, max_exponent = 0;
  void resize(const MmaPlan& plan, int columns);
};

// A from tiles[2 * i + h]: rows 8 * h to 8 * h + 7, bytes 16 * i to 16 * i + 15 of each. `rows` 8: there are
// tiles[i] only, and rows 8 to 15 are 0.
void mma_pack_rows(const MmaPlan& plan, MmaRows& out, const void* const* tiles, int rows = 16);
// The same from a row-major matrix of 16 rows, value[row * k + x]: sparse A. Where `present` is false there
// is not a product, so that an infinity of B does not count.
void mma_pack_rows(const MmaPlan& plan, MmaRows& out, const float* value, const bool* present);
// Eight columns of B from column `first` on, from tiles[i]: rows are columns of B, bytes 16 * i to 16 * i
// + 15. The first call for an operand is the one with first == 0.
void mma_pack_columns(const MmaPlan& plan, MmaColumns& out, int first, const void* const* tiles);

// sums[16 * j + i] += row i times column j, for columns first to first + columns - 1 (multiples of 8). Sums
// are f32 or s32 as plan.sum says; f16 sums are held as f32.
void mma_multiply(const MmaPlan& plan, const MmaRows& a, const MmaColumns& b, int first, int columns,
                  void* sums);
// The same for plan.in_registers: the accumulators' fragments come from registers c[j] and go to d[j], of the eight columns
// j of `count` from number `first` of them on.
void mma_multiply_registers(const MmaPlan& plan, const MmaRows& a, const MmaColumns& b, int first, int count,
                            const uint32_t* const (*c)[4], uint32_t* const (*d)[4]);

// Elements of one type in a tile row (16 bytes), as f32.
void mma_widen(MmaType type, const void* bytes, float* out);

// The accumulator fragment of m16n8 (PTX ISA 9.7.14.5): registers of 32 lanes each, from and to sums[8 * 16].
void mma_load_sums(MmaSum sum, void* sums, const uint32_t* const* registers);
void mma_store_sums(MmaSum sum, const void* sums, uint32_t* const* registers);

// The f16 of a value that is one (an f16 sum); NaN is 0x7fff.
uint32_t mma_f16_bits(float value);

// Scale factors as f32: 2^(x - 127), and unsigned e4m3. NaN for their NaNs.
float mma_ue8m0(uint8_t bits);
float mma_ue4m3(uint8_t bits);

}  // namespace triton_runner::num
