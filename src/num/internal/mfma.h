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

// sums += a row of A times B, a fused product after the other. b: [k][columns].
void mfma_chain(const float* a, const float* b, float* sums, int columns, int k);

// Takes n finite numbers of a format apart: value = significand * 2^(exponent - fraction), and no exponent is below
// `least`; zeros have that of f32's subnormals.
void mfma_parts(const float* value, int64_t n, int least, int fraction, int32_t* significand,
                int32_t* exponent);

}  // namespace triton_runner::num
