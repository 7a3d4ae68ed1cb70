// Converts pairs of floats (cvt, PTX ISA 9.7.9.21): two f32, or the two elements of a word, become the two of
// another. Single values are in cvt.cpp.
#include <utility>

#include "simd/cvt.h"

namespace triton_runner::lanes::SIMD_ISA {
namespace {

// Two f32 into the halves of a word: a above, b below.
template <class T, bool kRelu>
void f32_to_halves(Lanes& x, const Operands& o) {
  const float* a = values<const float>(x, o.a);
  const float* b = values<const float>(x, o.b);
  store<u32, 1>(x, o.d, [=](u32* d, u32 first, u32 n) __attribute__((always_inline)) {
    alignas(64) u16 high[kBlock], low[kBlock];
    blocks(n, [&](size_t at, size_t m) __attribute__((always_inline)) {
      T::template narrow<Rounding::kNearestEven, true>(high, a + first + at, m);
      T::template narrow<Rounding::kNearestEven, true>(low, b + first + at, m);
#pragma GCC ivdep
      for (size_t i = 0; i < m; ++i) {
        u32 h = high[i], l = low[i];
        if (kRelu) {  // a NaN is positive here
          h = h & 0x8000 ? 0 : h;
          l = l & 0x8000 ? 0 : l;
        }
        d[at + i] = h << 16 | l;
      }
    });
  });
}

enum Pair : u32 {
  kPairF16,
  kPairBf16,
  kPairE4m3,
  kPairE5m2,
  kPairE2m3,
  kPairE3m2,
  kPairE2m1,
  kPairUe8m0,
  kPairF32
};
LANES_INLINE constexpr Format format_of(u32 pair) {
  constexpr Format kFormats[] = {kF16Format,  kBf16Format, kE4m3Format, kE5m2Format,
                                 kE2m3Format, kE3m2Format, kE2m1Format};
  return kFormats[pair < kPairE2m1 ? pair : kPairE2m1];
}
// 2^(code - 127), code 255: NaN.
LANES_INLINE uint32_t encode_scale(float value, uint32_t direction, bool satfinite) {
  uint32_t x = bits_as<uint32_t>(value), field = x >> 23 & 0xff, fraction = x & 0x7fffff;
  uint32_t code =
      field + (direction == kUpward && (field == 0 ? fraction > 0x400000 : fraction != 0) ? 1u : 0u);
  code = code > 0xfe || field == 0xff ? (satfinite ? 0xfe : 0xff) : code;
  return (x & 0x7fffffff) > 0x7f800000 || (x >> 31 && (x << 1) != 0) ? 0xff : code;
}
LANES_INLINE float decode_scale(uint32_t code) {
  return bits_as<float>(code == 0xff ? 0x7fffffff : code == 0 ? 0x00400000 : code << 23);
}

// NaNs are canonical.
template <Pair kFrom>
LANES_INLINE float decode_part(u32 word) {
  if constexpr (kFrom == kPairUe8m0) {
    return decode_scale(word);
  } else {
    constexpr Format kFormat = format_of(kFrom);
    const float value = decode<kFormat>(word & ((1u << kFormat.width()) - 1));
    return kFormat.nans == Nans::kNone ? value : canonical(value);
  }
}

LANES_INLINE constexpr u32 slot_of(u32 pair) { return pair <= kPairBf16 ? 16 : pair == kPairE2m1 ? 4 : 8; }

// The words that hold pairs; of f32 there are two operands, a above b.
template <Pair kPair>
using Word = std::conditional_t<
    kPair == kPairF32, float,
    std::conditional_t<kPair <= kPairBf16, u32, std::conditional_t<kPair == kPairE2m1, u8, u16>>>;

// imm: the format of the result.
template <class Out, Pair kFrom>
void pair_to_pair(Lanes& x, const Operands& o) {
  using In = Word<kFrom>;
  constexpr bool kFromF32 = kFrom == kPairF32;
  const In* a = values<const In>(x, o.a);
  const In* b = kFromF32 ? values<const In>(x, o.b) : a;
  u32 small = o.small, to = u32(o.imm);
  const Format to_format = format_of(to);
  store<Out, 1>(x, o.d, [=](Out* d, u32 first, u32 n) {
    for (size_t i = 0; i < n; ++i) {
      u32 code[2];
      for (int half = 0; half < 2; ++half) {
        float value;
        if constexpr (kFromF32)
          value = (half ? a : b)[first + i];
        else
          value = decode_part<kFrom>(u32(a[first + i]) >> (half * slot_of(kFrom)));
        if (small & kReluBit) value = value <= 0.0f ? 0.0f : value;
        code[half] = to == kPairUe8m0 ? encode_scale(value, small & kDirectionMask, small & kFiniteBit)
                                      : encode(value, to_format, small & kDirectionMask, small & kFiniteBit);
      }
      d[i] = Out(code[1] << slot_of(to) | code[0]);
    }
  });
}

// Between narrow floats and wide ones, rounded to nearest: what is too large is the largest of the narrow and
// infinite in the wide.
constexpr bool is_wide(Pair pair) { return pair <= kPairBf16 || pair == kPairF32; }
template <Pair kTo, Pair kFrom>
void pair_nearest(Lanes& x, const Operands& o) {
  using In = Word<kFrom>;
  using Out = Word<kTo>;
  const In* a = values<const In>(x, o.a);
  const In* b = kFrom == kPairF32 ? values<const In>(x, o.b) : a;
  const bool relu = o.small & kReluBit;
  const auto part = [=](In word, u32 half) __attribute__((always_inline)) {
    float value;
    if constexpr (kFrom == kPairF32)
      value = word;
    else
      value = decode_part<kFrom>(u32(word) >> (half * slot_of(kFrom)));
    value = relu && value <= 0.0f ? 0.0f : value;
    return Codec<format_of(kTo)>::template encode<Rounding::kNearestEven>(value);
  };
  store<Out, 1>(x, o.d, [=](Out* d, u32 first, u32 n) __attribute__((always_inline)) {
#pragma GCC ivdep
    for (size_t i = 0; i < n; ++i) d[i] = Out(part(a[first + i], 1) << slot_of(kTo) | part(b[first + i], 0));
  });
}
constexpr size_t kPairs = kPairF32 + 1;
template <size_t kPlace>
constexpr Handler nearest_at() {
  constexpr Pair kTo = Pair(kPlace / kPairs), kFrom = Pair(kPlace % kPairs);
  if constexpr (kTo < kPairUe8m0 && is_wide(kTo) != is_wide(kFrom))
    return pair_nearest<kTo, kFrom>;
  else
    return nullptr;
}
template <size_t... kPlace>
Handler nearest(int to, int from, std::index_sequence<kPlace...>) {
  constexpr Handler kHandlers[] = {nearest_at<kPlace>()...};
  return kHandlers[size_t(to) * kPairs + size_t(from)];
}

int pair_of(Type type) {
  constexpr Type kTypes[] = {Type::kF16x2,  Type::kBf16x2, Type::kE4m3x2, Type::kE5m2x2, Type::kE2m3x2,
                             Type::kE3m2x2, Type::kE2m1x2, Type::kUe8m0x2};  // in the order of Pair
  for (int pair = 0; pair < static_cast<int>(kPairF32); ++pair)
    if (kTypes[pair] == type) return pair;
  return -1;
}
template <class Out, size_t... kFrom>
Handler pair_into(int from, std::index_sequence<kFrom...>) {
  constexpr Handler kHandlers[] = {pair_to_pair<Out, Pair(kFrom)>...};
  return kHandlers[from];
}

}  // namespace

CvtChoice find_pair_cvt(const CvtKey& k, u32 small) {
  const int to = pair_of(k.to), from = k.from == Type::kF32 ? int(kPairF32) : pair_of(k.from);
  if (to < 0 || from < 0) return {};
  if (from == kPairF32 && k.direction == kNearest && !k.satfinite) {
    if (to == kPairF16) return {k.relu ? f32_to_halves<F16, true> : f32_to_halves<F16, false>};
    if (to == kPairBf16) return {k.relu ? f32_to_halves<BF16, true> : f32_to_halves<BF16, false>};
  }
  if (k.direction == kNearest && k.satfinite == !is_wide(Pair(to)))
    if (const Handler run = nearest(to, from, std::make_index_sequence<kPairs * kPairs>()))
      return {run, small};
  constexpr auto kAll = std::make_index_sequence<kPairs>();
  const Handler run = to <= int(kPairBf16) ? pair_into<u32>(from, kAll)
                      : to == kPairE2m1    ? pair_into<u8>(from, kAll)
                                           : pair_into<u16>(from, kAll);
  return {run, small, to};
}

}  // namespace triton_runner::lanes::SIMD_ISA
