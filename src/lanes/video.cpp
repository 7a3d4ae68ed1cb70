// Computes cvt.pack and the video instructions: scalar code, compiled once. See PTX ISA 9.7.9.22, 9.7.18.
#include <triton_runner/lanes/video.h>

#include "simd/rows.h"

namespace triton_runner::lanes {
namespace {

int64_t clamped(int64_t v, int64_t low, int64_t high) { return v < low ? low : v > high ? high : v; }

// d = {c's low bits, a, b}, a and b saturated to a narrow integer. small: its bits, bit 8: it is signed, bit
// 9: the operands are.
template <bool kThree>
void cvt_pack(Lanes& x, const Operands& o) {
  uint32_t* d = x.reg<uint32_t>(o.d);
  const uint32_t *a = x.reg<uint32_t>(o.a), *b = x.reg<uint32_t>(o.b);
  const uint32_t* c = kThree ? x.reg<uint32_t>(o.c) : nullptr;
  const uint32_t bits = o.small & 0xff;
  const bool to_signed = o.small & kPackToSigned, from_signed = o.small & kPackFromSigned;
  const int64_t high = (int64_t{1} << (bits - (to_signed ? 1 : 0))) - 1, low = to_signed ? -high - 1 : 0;
  auto narrow = [&](uint32_t v) {
    int64_t wide = from_signed ? int64_t{static_cast<int32_t>(v)} : int64_t{v};
    return static_cast<uint32_t>(clamped(wide, low, high)) & static_cast<uint32_t>((uint64_t{1} << bits) - 1);
  };
  for (uint32_t i = 0; i < x.count; ++i) {
    if (!x.on(i)) continue;
    uint32_t both = narrow(a[i]) << bits | narrow(b[i]);
    d[i] = kThree && bits < 16 ? c[i] << (2 * bits) | both : both;
  }
}

// A video instruction is told this: Operands::small as video.h says, imm the selectors of a, b (16 bits each)
// and the part of d that is written (8 bits: unit, then the lane or a mask).
enum class Video : uint8_t { kAdd, kSub, kAbsdiff, kMin, kMax, kShl, kShr, kSet, kMad, kAvrg };

int64_t extended(uint64_t value, uint32_t bits, bool is_signed) {
  value &= bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  const bool negative = is_signed && (value >> (bits - 1) & 1);
  return negative ? static_cast<int64_t>(value) - (int64_t{1} << bits) : static_cast<int64_t>(value);
}
int64_t saturated(int64_t v, uint32_t bits, bool is_signed) {
  return is_signed ? clamped(v, -(int64_t{1} << (bits - 1)), (int64_t{1} << (bits - 1)) - 1)
                   : clamped(v, 0, (int64_t{1} << bits) - 1);
}
bool compared(uint32_t comparison, int64_t a, int64_t b) {
  switch (comparison) {
    case kCmpEq:
      return a == b;
    case kCmpNe:
      return a != b;
    case kCmpLt:
      return a < b;
    case kCmpLe:
      return a <= b;
    case kCmpGt:
      return a > b;
    default:
      return a >= b;
  }
}

template <Video kOp>
int64_t computed(int64_t a, int64_t b, uint32_t small) {
  switch (kOp) {
    case Video::kAdd:
      return a + b;
    case Video::kSub:
      return a - b;
    case Video::kAbsdiff:
      return a < b ? b - a : a - b;
    case Video::kMin:
      return a < b ? a : b;
    case Video::kMax:
      return a > b ? a : b;
    case Video::kAvrg:
      return (a + b + (a + b >= 0)) >> 1;
    case Video::kSet:
      return compared(small >> kVideoComparisonShift & 15, a, b);
    case Video::kShl:
    case Video::kShr: {
      const auto n = static_cast<uint32_t>(small & kVideoClamp ? (b > 32 ? 32 : b) : b & 31);
      return kOp == Video::kShl ? static_cast<int64_t>(static_cast<uint64_t>(a) << n) : a >> n;
    }
    default:
      return 0;
  }
}
int64_t secondary(uint32_t small, int64_t v, uint32_t c) {
  const bool is_signed = small & kVideoResultSigned;
  const int64_t value = extended(static_cast<uint64_t>(v), 32, is_signed), other = extended(c, 32, is_signed);
  switch (small >> kVideoSecondaryShift & 3) {
    case kVideoAdd:
      return value + other;
    case kVideoMin:
      return value < other ? value : other;
    case kVideoMax:
      return value > other ? value : other;
    default:
      return v;
  }
}

// One operation on parts of the words; a part's code is 0 for the word, 1 + its number for bytes, 5 + for
// halves.
struct Part {
  uint32_t shift, bits;
};
Part part_of(uint32_t code) {
  if (code == 0) return {0, 32};
  return code < 5 ? Part{8 * (code - 1), 8} : Part{16 * (code - 5), 16};
}
template <Video kOp>
void scalar(Lanes& x, const Operands& o) {
  uint32_t* d = x.reg<uint32_t>(o.d);
  const uint32_t *a = x.reg<uint32_t>(o.a), *b = x.reg<uint32_t>(o.b);
  const uint32_t* c = o.c == kNoRegister ? nullptr : x.reg<uint32_t>(o.c);
  const Part pa = part_of(o.imm & 0xff), pb = part_of(o.imm >> 8 & 0xff), pd = part_of(o.imm >> 16 & 0xff);
  const bool result_signed = o.small & kVideoResultSigned;
  for (uint32_t i = 0; i < x.count; ++i) {
    if (!x.on(i)) continue;
    const int64_t left = extended(a[i] >> pa.shift, pa.bits, o.small & kVideoASigned);
    const int64_t right = extended(b[i] >> pb.shift, pb.bits, o.small & kVideoBSigned);
    if (kOp == Video::kMad) {
      const bool is_signed = o.small & (kVideoASigned | kVideoBSigned);
      __int128 sum = static_cast<__int128>(left) * right + extended(c[i], 32, is_signed) +
                     (o.small & kVideoPlusOne ? 1 : 0);
      sum >>= o.small & kVideoShift7 ? 7 : o.small & kVideoShift15 ? 15 : 0;
      if (o.small & kVideoSaturate) {
        const __int128 low = is_signed ? -(int64_t{1} << 31) : 0,
                       high = is_signed ? (int64_t{1} << 31) - 1 : 0xffffffff;
        sum = sum < low ? low : sum > high ? high : sum;
      }
      d[i] = static_cast<uint32_t>(sum);
      continue;
    }
    int64_t v = computed<kOp>(left, right, o.small);
    // ptxas makes several instructions of these, which let an unsigned word wrap at the top.
    const bool wraps = !result_signed && pd.bits == 32 && v > 0;
    if (o.small & kVideoSaturate && !wraps) v = saturated(v, pd.bits, result_signed);
    if (c) v = secondary(o.small, v, c[i]);
    const uint32_t mask = pd.bits == 32 ? ~0u : ((1u << pd.bits) - 1) << pd.shift;
    d[i] = (static_cast<uint32_t>(v) << pd.shift & mask) | (c ? c[i] & ~mask : 0);
  }
}

// kCount operations at once, on bytes or halves chosen from a and b together.
template <Video kOp, int kCount>
void several(Lanes& x, const Operands& o) {
  constexpr uint32_t kBits = 32 / kCount;
  uint32_t* d = x.reg<uint32_t>(o.d);
  const uint32_t *a = x.reg<uint32_t>(o.a), *b = x.reg<uint32_t>(o.b), *c = x.reg<uint32_t>(o.c);
  const uint32_t select_a = o.imm & 0xffff, select_b = o.imm >> 16 & 0xffff, write = o.imm >> 32 & 0xf;
  const bool sums = (o.small >> kVideoSecondaryShift & 3) != 0;
  for (uint32_t i = 0; i < x.count; ++i) {
    if (!x.on(i)) continue;
    const uint64_t both = uint64_t{b[i]} << 32 | a[i];
    uint32_t result = c[i];
    for (uint32_t k = 0; k < kCount; ++k) {
      if (!(write >> k & 1)) continue;
      const int64_t left =
          extended(both >> (kBits * (select_a >> 4 * k & 7)), kBits, o.small & kVideoASigned);
      const int64_t right =
          extended(both >> (kBits * (select_b >> 4 * k & 7)), kBits, o.small & kVideoBSigned);
      int64_t v = computed<kOp>(left, right, o.small);
      if (o.small & kVideoSaturate) v = saturated(v, kBits, o.small & kVideoResultSigned);
      constexpr uint32_t kMask = (1u << kBits) - 1;
      if (sums)
        result += static_cast<uint32_t>(v);
      else
        result = (result & ~(kMask << kBits * k)) | (static_cast<uint32_t>(v) & kMask) << kBits * k;
    }
    d[i] = result;
  }
}

#define SCALAR(op, v) ROW(op, kNone, 0, scalar<Video::v>)
#define SEVERAL(op, v) ROW(op##2, kNone, 0, several<Video::v, 2>), ROW(op##4, kNone, 0, several<Video::v, 4>)
#define ALL(op, v) SCALAR(op, v), SEVERAL(op, v)

constexpr Row kRows[] = {
    ROW(kCvt, kB32, 0, cvt_pack<false>),
    ROW(kCvt, kB32, kVThree, cvt_pack<true>),
    ALL(kVadd, kAdd),
    ALL(kVsub, kSub),
    ALL(kVabsdiff, kAbsdiff),
    ALL(kVmin, kMin),
    ALL(kVmax, kMax),
    ALL(kVset, kSet),
    SCALAR(kVshl, kShl),
    SCALAR(kVshr, kShr),
    SCALAR(kVmad, kMad),
    SEVERAL(kVavrg, kAvrg),
};

}  // namespace

Rows video_rows() { return {kRows, sizeof(kRows) / sizeof(Row)}; }

}  // namespace triton_runner::lanes
