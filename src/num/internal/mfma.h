// mfma() adds a group of products as AMD's CDNA 3 matrix cores do: products are aligned to the largest
// exponent among them and cut toward zero 24 bits after its point, and added exactly (of fp8 the even ones
// and the odd ones apart, which are then aligned, rounded down and added). That sum and the accumulator are
// aligned to the larger of their exponents and rounded down, 31 and 24 bits after the point; the sum of both
// is rounded to nearest. Xie et al. 2025 ("MMA-Sim", arXiv 2511.10909), seen there on an MI300X.
#pragma once
#include <stdint.h>

namespace triton_runner::num {

// One row of A times columns of B as AMD's matrix cores add a group of products. Numbers are significands and
// exponents; B's and the sums stand column by column.
struct MfmaStep {
  const int32_t *a, *a_exponent;  // [k]
  const int32_t *b, *b_exponent;  // [k][columns]
  float* sums;                    // [columns], finite
  int columns, k;                 // at most kMfmaMaxColumns, a multiple of 4
  int up;                         // from a product's last bit to the 24th after its point
  bool by_halves;
};
inline constexpr int kMfmaMaxColumns = 32;

// By the current instruction set; the same bits on each.
void mfma(const MfmaStep& step);

// Four rows of A times B, group by group as mfma() adds each: a fast way for numbers that are 0 or of sizes from kMfmaLeast
// to kMfmaMost, whose products f32 holds with room for 2^(24 - exponent).
struct MfmaRows {
  const float* a;  // [k][rows]: the first of the four
  const int16_t* a_exponent;
  const float* b;  // [k][columns]
  const int16_t* b_exponent;
  float* const* sums;           // of each row [columns]
  int rows, columns, k, group;  // columns: a multiple of 16
  bool by_halves;
};
inline constexpr int kMfmaRows = 4;
inline constexpr float kMfmaLeast = 0x1p-50f, kMfmaMost = 0x1p50f;
// Groups from `first` (a k) on; returns k, or where it stopped: before the group a sum was not finite, or of a size below 2^-100.
int mfma_rows(const MfmaRows& rows, int first);
// The same of fused products, one after the other, of any numbers.
void mfma_chain_rows(const MfmaRows& rows);

// sums += a row of A times B, a fused product after the other. b: [k][columns].
void mfma_chain(const float* a, const float* b, float* sums, int columns, int k);

// Takes n finite numbers of a format apart: value = significand * 2^(exponent - fraction), and no exponent is below
// `least`; zeros have that of f32's subnormals.
void mfma_parts(const float* value, int64_t n, int least, int fraction, int32_t* significand,
                int32_t* exponent);
// The bits of the largest size among numbers, and one less than those of the smallest (0 is above all others).
struct MfmaSizes {
  uint32_t most = 0, least_below = ~uint32_t{0};
};
// The exponents alone of numbers that need not be finite; returns their sizes.
MfmaSizes mfma_exponents(const float* value, int64_t n, int least, int16_t* exponent);
// to[i] = the half of words[i] that begins at bit `shift`.
void mfma_halves(const uint32_t* words, int n, int shift, uint16_t* to);

}  // namespace triton_runner::num
