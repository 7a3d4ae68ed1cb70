// cvt.rs: rounding up or down by chance, with random bits that the program brings. PTX ISA 9.7.9.21.
//
// The bits of the significand that do not fit are a fraction of the last place, the random bits another, of as
// many bits as the ISA gives to the type: where their sum carries, the value is rounded away from zero. Which of
// the random bits the operands of four have together is the ISA's text; how fewer random bits than discarded
// ones are aligned (here at the top) was not measured.
#include <triton_runner/lanes/stochastic.h>

#include <bit>
#include <cmath>
#include <cstdint>

namespace triton_runner::lanes {
namespace {

struct Format {
  int mantissa, bias;
  uint32_t sign, largest, infinity, nan;  // codes; infinity 0: none
  int random;                             // bits
};
constexpr Format kF16{10, 15, 0x8000, 0x7bff, 0x7c00, 0x7fff, 13};
constexpr Format kBf16{7, 127, 0x8000, 0x7f7f, 0x7f80, 0x7fff, 16};
constexpr Format kE4m3{3, 7, 0x80, 0x7e, 0, 0x7f, 16};
constexpr Format kE5m2{2, 15, 0x80, 0x7b, 0, 0x7f, 16};
constexpr Format kE2m3{3, 1, 0x20, 0x1f, 0, 0x1f, 16};
constexpr Format kE3m2{2, 3, 0x20, 0x1f, 0, 0x1f, 16};
constexpr Format kE2m1{1, 1, 0x8, 0x7, 0, 0x7, 8};

uint32_t rounded(const Format& f, float value, uint32_t random, uint32_t how) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const bool negative = bits >> 31;
  if (std::isnan(value)) return f.nan;
  if (negative && (how & kStochasticRelu)) return 0;
  const uint32_t sign = negative ? f.sign : 0;
  const bool saturates = (how & kStochasticSatfinite) || f.infinity == 0;
  const uint32_t too_large = saturates ? f.largest : f.infinity;
  if (std::isinf(value)) return sign | too_large;
  const int stored = static_cast<int>(bits >> 23 & 0xff), exponent = (stored ? stored : 1) - 127;
  const uint64_t significand = (bits & 0x7fffff) | (stored ? 0x800000u : 0);
  // The target's exponent, and how many bits are below its last place.
  const int target = exponent < 1 - f.bias ? 1 - f.bias : exponent;
  const int discarded = target - exponent + 23 - f.mantissa;
  uint64_t kept = 0;
  if (discarded <= 40) {
    const uint64_t rest = significand & ((uint64_t{1} << discarded) - 1);
    kept = significand >> discarded;
    kept += ((rest << f.random >> discarded) + random) >> f.random;
  }
  const uint64_t code = kept + (static_cast<uint64_t>(target + f.bias - 1) << f.mantissa);
  return sign | (code > f.largest ? too_large : static_cast<uint32_t>(code));
}

template <const Format& f>
void two(Lanes& l, const Operands& in) {
  const float *a = l.reg<float>(in.a), *b = l.reg<float>(in.b);
  const uint32_t* random = l.reg<uint32_t>(in.c);
  uint32_t* d = l.reg<uint32_t>(in.d);
  constexpr uint32_t kMask = (1u << f.random) - 1;
  for (uint32_t i = 0; i < l.count; ++i)
    if (l.on(i))
      d[i] = rounded(f, a[i], random[i] >> 16 & kMask, in.small) << 16 |
             rounded(f, b[i], random[i] & kMask, in.small);
}

// The first source highest; a and b have the random bits of the upper half, the others those of the lower.
template <const Format& f, typename Result>
void four(Lanes& l, const Operands& in) {
  const uint32_t places[] = {in.a, in.b, in.c, in.e};
  const uint32_t* random = l.reg<uint32_t>(static_cast<uint32_t>(in.imm));
  Result* d = l.reg<Result>(in.d);
  constexpr int kWidth = sizeof(Result) * 2;
  for (uint32_t i = 0; i < l.count; ++i) {
    if (!l.on(i)) continue;
    uint32_t packed = 0;
    for (uint32_t k = 0; k < 4; ++k) {
      uint32_t bits = random[i] >> (k < 2 ? 16 : 0) & 0xffff;
      // .e2m1x4: the upper eight of both halves are a's and b's, the lower eight e's and f's.
      if (f.random == 8) bits = random[i] >> (k < 2 ? 8 : 0) >> (k % 2 ? 0 : 16) & 0xff;
      packed = packed << kWidth | rounded(f, l.reg<float>(places[k])[i], bits, in.small);
    }
    d[i] = static_cast<Result>(packed);
  }
}

}  // namespace

Handler stochastic_conversion(Type to, bool* is_four) {
  *is_four = to != Type::kF16x2 && to != Type::kBf16x2;
  switch (to) {
    case Type::kF16x2:
      return two<kF16>;
    case Type::kBf16x2:
      return two<kBf16>;
    case Type::kE4m3x4:
      return four<kE4m3, uint32_t>;
    case Type::kE5m2x4:
      return four<kE5m2, uint32_t>;
    case Type::kE2m3x4:
      return four<kE2m3, uint32_t>;
    case Type::kE3m2x4:
      return four<kE3m2, uint32_t>;
    case Type::kE2m1x4:
      return four<kE2m1, uint16_t>;
    default:
      return nullptr;
  }
}

}  // namespace triton_runner::lanes
