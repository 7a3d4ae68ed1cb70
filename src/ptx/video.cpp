// cvt.pack and the video instructions: scalar code, compiled once. PTX ISA 9.7.9.22, 9.7.18.
#include "simd/rows.h"

namespace triton_runner::ptx {
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
  const bool to_signed = o.small & 0x100, from_signed = o.small & 0x200;
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

constexpr Row kRows[] = {
    {Opcode::kCvt, Mod::kB32, Mod::kNone, 0, cvt_pack<false>},
    {Opcode::kCvt, Mod::kB32, Mod::kNone, kVThree, cvt_pack<true>},
};

}  // namespace

Rows video_rows() { return {kRows, sizeof(kRows) / sizeof(Row)}; }

}  // namespace triton_runner::ptx
