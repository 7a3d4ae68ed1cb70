// Each instruction set's copy of mma.cpp and mma_operands.cpp offers these.
#pragma once
#include <stdint.h>

#include <triton_runner/num/mfma.h>

namespace triton_runner::num {

// Products for 16 rows and some columns; layouts as in num/mma.h.
struct MmaStep {
  const float* a;  // [k][16]
  const int16_t* a_exponent;
  const float* b;  // [columns][b_stride]
  const int32_t* b_exponent;
  int64_t b_stride;
  float* sums;  // [columns][16]
  int columns, k;
  int block;  // products that are added at once
  int fraction, result;
  int min_exponent;
  bool f16;                   // sums are f16 values
  const float* row_scale;     // [16] powers of two or null
  const float* column_scale;  // [columns]
};

// How 16 bytes of a tile become floats.
enum class MmaCode : uint8_t {
  kF16,
  kBF16,
  kTF32,
  kE4M3,
  kE5M2,
  kE3M2,
  kE2M3,
  kE2M1Byte,
  kE2M1,
  kS8,
  kU8,
  kS4,
  kU4
};

// The largest and the smallest exponent of what is not 0; 128 is the exponent of infinities and NaNs.
struct MmaRange {
  int32_t high, low;
};
inline constexpr int32_t kMmaNoExponent = -(1 << 13);      // of 0
inline constexpr int32_t kMmaAbsent = kMmaNoExponent - 1;  // of an element that a sparse row does not have

// The values that sums hold. Ordinary ones, 0 or from 2^-100 to 2^120, stay within what f32 and int32 can scale
// as long as all products are 0 or have exponents from kMmaLowest to kMmaHighest.
enum class MmaSums : uint8_t { kOrdinary, kFinite, kSpecial };
inline constexpr int kMmaLowest = -75, kMmaHighest = 100;

// Lane 4 g + t of a warp's sums has row g: each element of A as often as there are t.
inline constexpr int kMmaSpread = 64;

struct MmaTable {
  // Steps of one plan. Ordinary sums; all of k, block by block.
  void (*exact)(const MmaStep* steps, int count);
  void (*exact_wide)(const MmaStep& step);  // any finite operands, and scales; one block
  void (*fma)(const MmaStep& step);         // sums as f32 chains; f16 sums are rounded at the end
  // The same chains from registers to registers of warps: kMmaSpread floats of A and 8 of B for each of k.
  void (*fma_registers)(const float* a, const float* b, int k, int columns, const uint32_t* const (*c)[4],
                        uint32_t* const (*d)[4]);
  // s32 sums from exact f32 products of small integers.
  void (*integer)(const MmaStep& step, bool saturate);
};

struct MmaOperands {
  // A tile, transposed: element x of row r at out[x * 16 + r]; and as it is: out[r * stride + x].
  void (*rows)(MmaCode code, const void* tile, float* out);
  // Transposed as fma_registers has A, eight of its rows, and B.
  void (*spread_rows)(MmaCode code, const void* tile, float* out);
  void (*sorted_rows)(MmaCode code, const void* tile, float* out);
  void (*columns)(MmaCode code, const void* tile, float* out, int64_t stride);
  // The exponents of n values, a multiple of 16; at least `lowest`, 0 has kMmaNoExponent. B's stand in both
  // halves of a word, so that one load repeats them in vectors of 16 bits.
  MmaRange (*row_exponents)(const float* value, int16_t* exponent, int64_t n, int lowest);
  MmaRange (*column_exponents)(const float* value, int32_t* exponent, int64_t n, int lowest);
  MmaSums (*look_at_sums)(const float* value, int64_t n);
  void (*load_f32)(uint32_t* sums, const uint32_t* const* registers);
  void (*store_f32)(const uint32_t* sums, uint32_t* const* registers);
};

#define NUM_DECLARE_MMA(isa)                                            \
  namespace isa {                                                       \
  extern const MmaTable mma_table;                                      \
  extern const MmaOperands mma_operands;                                \
  void mfma(const MfmaStep& step);                                      \
  int mfma_rows(const MfmaRows& rows, int first);                       \
  void mfma_chain_rows(const MfmaRows& rows);                           \
  void mfma_parts(const float*, int64_t, int, int, int32_t*, int32_t*); \
  MfmaSizes mfma_exponents(const float*, int64_t, int, int16_t*);       \
  void mfma_halves(const uint32_t*, int, int, uint16_t*);               \
  void mfma_chain(const float*, const float*, float*, int, int);        \
  }
NUM_DECLARE_MMA(portable)
#if defined(__x86_64__)
NUM_DECLARE_MMA(avx2)
NUM_DECLARE_MMA(avx512)
#endif
#undef NUM_DECLARE_MMA

}  // namespace triton_runner::num
