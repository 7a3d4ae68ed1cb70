// Finds the function of cvt.rs for a type: packs of two or four values, whose random bits are one word. Which
// of these bits each operand of four gets is as the ISA's text says.
#include <triton_runner/lanes/stochastic.h>

#include <cstdint>

#include <triton_runner/num/stochastic.h>

namespace triton_runner::lanes {
namespace {

using namespace num::stochastic;

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
