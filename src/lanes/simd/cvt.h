// cvt.cpp and cvt_pairs.cpp share these: the flags in an instruction's `small`, and blocks of lanes.
#pragma once
#include "simd/floats.h"

namespace triton_runner::lanes::SIMD_ISA {

// Conversions to pairs of floats in one register; without a function for any other. `small` holds the flags.
CvtChoice find_pair_cvt(const CvtKey& k, uint32_t small);

namespace {

using u8 = uint8_t;
using u16 = uint16_t;
using u32 = uint32_t;
using u64 = uint64_t;

// `small`: the direction, flags, and of an integer that is converted its bits and whether it is signed.
constexpr u32 kDirectionMask = 7, kSaturate = 1u << 3, kReluBit = 1u << 4, kIntegral = 1u << 5,
              kFlush = 1u << 6, kFiniteBit = 1u << 7;
constexpr u32 kBitsShift = 8, kSignedBit = 1u << 16;

constexpr size_t kBlock = 256;
template <class F>
LANES_INLINE void blocks(size_t n, const F& f) {
  for (size_t at = 0; at < n; at += kBlock) f(at, n - at < kBlock ? n - at : kBlock);
}

}  // namespace
}  // namespace triton_runner::lanes::SIMD_ISA
