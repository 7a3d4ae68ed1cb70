// Reduces angles that are too large for a product in f64 as Payne and Hanek do: x * 2/pi modulo 4 in 256-bit
// integers.
#include <bit>
#include <cmath>

#include "simd/tables.h"

namespace triton_runner::num {
namespace {

// 2/pi, 64 bits a word from the binary point on, after one word of zeros for the bits left of it.
constexpr uint64_t kTwoOverPi[] = {
    0,
    0xa2f9836e4e441529,
    0xfc2757d1f534ddc0,
    0xdb6295993c439041,
    0xfe5163abdebbc561,
    0xb7246e3a424dd2e0,
    0x06492eea09d1921c,
    0xfe1deb1cb129a73e,
    0xe88235f52ebb4484,
    0xe99c7026b45f7e41,
    0x3991d639835339f4,
    0x9c845f8bbdf9283b,
    0x1ff897ffde05980f,
    0xef2f118b5a0a6d1f,
    0x6d367ecf27cb09b7,
    0x4f463f669e5fea2d,
    0x7527bac7ebe5f17b,
    0x3d0739f78a5292ea,
    0x6bfb5fb11f8d5d08,
    0x56033046fc7b6bab,
    0xf0cfbc209af4361d,
};

// 64 bits of the table from bit `at` on.
uint64_t bits_at(int at) {
  int word = at / 64, shift = at % 64;
  return shift == 0 ? kTwoOverPi[word] : kTwoOverPi[word] << shift | kTwoOverPi[word + 1] >> (64 - shift);
}

}  // namespace

HugeAngle reduce_huge_angle(double x) {
  uint64_t bits = std::bit_cast<uint64_t>(x);
  int exponent = static_cast<int>(bits >> 52 & 0x7ff) - 1075;  // |x| = mantissa * 2^exponent
  uint64_t mantissa = (bits & 0xfffffffffffff) | uint64_t{1} << 52;
  // Bits of 2/pi that give multiples of 4 are left out; of the others 256 are enough for every f64.
  int first = 64 + exponent - 2;
  uint64_t product[4];
  unsigned __int128 carry = 0;
  for (int i = 3; i >= 0; --i) {
    carry += static_cast<unsigned __int128>(mantissa) * bits_at(first + 64 * i);
    product[i] = static_cast<uint64_t>(carry);
    carry >>= 64;
  }
  // Two bits of quadrant, then the fraction of one: to [-1/2, 1/2] by taking the next quadrant.
  auto quadrant = static_cast<int64_t>(product[0] >> 62);
  unsigned __int128 high = static_cast<unsigned __int128>(product[0]) << 64 | product[1];
  unsigned __int128 low = static_cast<unsigned __int128>(product[2]) << 64 | product[3];
  high = high << 2 | low >> 126;
  low <<= 2;
  bool negative = static_cast<uint64_t>(high >> 127) != 0;
  if (negative) {
    ++quadrant;
    low = ~low + 1;
    high = ~high + (low == 0);
  }
  int zeros = 0;
  while (zeros < 128 && !(high >> 127)) {
    high = high << 1 | low >> 127;
    low <<= 1;
    ++zeros;
  }
  double scale = std::ldexp(negative ? -1.0 : 1.0, -zeros);
  double f = static_cast<double>(static_cast<uint64_t>(high >> 75)) * 0x1p-53 * scale;
  double rest =
      static_cast<double>(static_cast<uint64_t>(high >> 22) & ((uint64_t{1} << 53) - 1)) * 0x1p-106 * scale;
  constexpr double kHigh = 0x1.921fb54442d18p+0, kLow = 0x1.1a62633145c07p-54;
  double angle = f * kHigh;
  double error = std::fma(f, kHigh, -angle) + f * kLow + rest * kHigh;
  if (std::signbit(x)) return {-angle, -error, -quadrant};
  return {angle, error, quadrant};
}

}  // namespace triton_runner::num
