// Computes AMD's matrix cores as num/mfma.h describes them, over all columns of a row at once.
#include <math.h>

#include "simd/common.h"
#include "simd/mma_table.h"

namespace triton_runner::num::SIMD_ISA {
namespace {

NUM_INLINE int32_t least(int32_t a, int32_t b) { return a < b ? a : b; }
NUM_INLINE int32_t most(int32_t a, int32_t b) { return a > b ? a : b; }
// 2 to the power of n, from -1022 to 1023.
NUM_INLINE double power(int32_t n) {
  return bits_as<double>(static_cast<uint64_t>(static_cast<int64_t>(n + 1023)) << 52);
}

// The sums of products k = first, first + step, ...: 24 bits after the point of the largest exponent, which is e.
NUM_INLINE void sum_products(const MfmaStep& s, int first, int step, int32_t* sum, int32_t* e) {
  const int n = s.columns;
  for (int j = 0; j < n; ++j) sum[j] = 0, e[j] = -1000;
  for (int k = first; k < s.k; k += step) {
    const int32_t* b = s.b_exponent + k * n;
#pragma GCC ivdep
    for (int j = 0; j < n; ++j) e[j] = most(e[j], s.a_exponent[k] + b[j]);
  }
  for (int k = first; k < s.k; k += step) {
    const int32_t *b = s.b + k * n, *b_exponent = s.b_exponent + k * n;
    const int32_t a = s.a[k], a_exponent = s.a_exponent[k];
#pragma GCC ivdep
    for (int j = 0; j < n; ++j) {
      const int32_t product = a * b[j] * (1 << s.up), by = least(e[j] - a_exponent - b_exponent[j], 31);
      const int32_t below = product < 0 ? static_cast<int32_t>((1u << by) - 1) : 0;  // toward zero
      sum[j] += (product + below) >> by;
    }
  }
}

}  // namespace

void mfma(const MfmaStep& s) {
  const int n = s.columns;
  alignas(64) int32_t sum[kMfmaMaxColumns], e[kMfmaMaxColumns], odd[kMfmaMaxColumns], odd_e[kMfmaMaxColumns];
  sum_products(s, 0, s.by_halves ? 2 : 1, sum, e);
  if (s.by_halves) {
    sum_products(s, 1, 2, odd, odd_e);
#pragma GCC ivdep
    for (int j = 0; j < n; ++j) {
      const int32_t both = most(e[j], odd_e[j]);
      sum[j] = (sum[j] >> least(both - e[j], 31)) + (odd[j] >> least(both - odd_e[j], 31));
      e[j] = both;
    }
  }
#pragma GCC ivdep
  for (int j = 0; j < n; ++j) {
    const uint32_t bits = bits_as<uint32_t>(s.sums[j]);
    const auto field = static_cast<int32_t>(bits >> 23 & 255);
    const int32_t size = static_cast<int32_t>(bits & 0x7fffff) | (field != 0 ? 0x800000 : 0);
    const int32_t c = bits >> 31 ? -size : size, c_exponent = most(field, 1) - 127;
    const int32_t top = most(e[j], c_exponent);
    const double products = floor{}(static_cast<double>(sum[j]) * power(7 - least(top - e[j], 900)));
    double other = floor{}(static_cast<double>(c) * power(1 - least(top - c_exponent, 900))) * 128.0;
    if (s.by_halves) other = c_exponent >= top - 25 ? other : 0.0;
    s.sums[j] = static_cast<float>((products + other) * power(top - 31));
  }
}

void mfma_chain(const float* a, const float* b, float* sums, int columns, int k) {
  for (int i = 0; i < k; ++i)
#pragma GCC ivdep
    for (int j = 0; j < columns; ++j) sums[j] = fma{}(a[i], b[i * columns + j], sums[j]);
}

void mfma_parts(const float* value, int64_t n, int smallest, int fraction, int32_t* out, int32_t* exponent) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    const uint32_t bits = bits_as<uint32_t>(value[i]);
    const auto field = static_cast<int32_t>(bits >> 23 & 255);
    const int32_t size = static_cast<int32_t>(bits & 0x7fffff) | (field != 0 ? 0x800000 : 0);
    const int32_t own = most(field, 1) - 127, e = most(own, smallest);
    const int32_t s = size >> least(23 - fraction + e - own, 31);
    out[i] = static_cast<int32_t>(bits) < 0 ? -s : s;
    exponent[i] = size != 0 ? e : -126;
  }
}

}  // namespace triton_runner::num::SIMD_ISA
