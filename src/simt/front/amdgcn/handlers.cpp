// Does over lanes what only AMD's instructions ask for: masks, halves, pairs, and lanes that read each other.
#include "front/amdgcn/handlers.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace triton_runner::simt::amd {
namespace {

void fill(uint32_t* d, uint32_t n, uint32_t value) { std::fill_n(d, n, value); }

uint32_t width_of(const Lanes& l) { return exec_of(const_cast<Lanes&>(l)).code().width; }

}  // namespace

void is_zero(Lanes& l, const Operands& in) {
  const uint32_t width = width_of(l);
  for (uint32_t w = 0; w < l.count; w += width) {
    if (!l.on(w)) continue;
    const uint32_t bits = l.reg<uint32_t>(in.a)[w] | (width == 64 ? l.reg<uint32_t>(in.b)[w] : 0);
    std::memset(l.reg<int8_t>(in.d) + w, (bits == 0) != (in.imm != 0) ? -1 : 0, width);
  }
}

void keep_finite(Lanes& l, const Operands& in) {
  uint16_t* d = l.reg<uint16_t>(in.d);
  const auto is_finite = [&](uint32_t place, uint32_t i) {
    if (place == kNoRegister) return true;
    return in.small == 4 ? (l.reg<uint32_t>(place)[i] & 0x7f800000) != 0x7f800000
                         : (l.reg<uint16_t>(place)[i] & 0x7c00) != 0x7c00;
  };
  for (uint32_t i = 0; i < l.count; ++i)
    if (l.on(i) && (d[i] & 0x7fff) == 0x7c00 && is_finite(in.a, i) && is_finite(in.b, i) &&
        is_finite(in.c, i))
      d[i] = static_cast<uint16_t>((d[i] & 0x8000) | 0x7bff);
}

void sum_is_negative(Lanes& l, const Operands& in) {
  const int64_t *a = l.reg<int64_t>(in.a), *b = l.reg<int64_t>(in.b);
  int8_t* d = l.reg<int8_t>(in.d);
  for (uint32_t i = 0; i < l.count; ++i) d[i] = static_cast<__int128>(a[i]) + b[i] < 0 ? -1 : 0;
}

void give_all(Lanes& l, const Operands& in) {
  const uint32_t width = width_of(l), *a = l.reg<uint32_t>(in.a);
  const int8_t* b = l.reg<int8_t>(in.b);
  for (uint32_t w = 0; w < l.count; w += width) {
    if (!l.on(w)) continue;
    const auto* first = static_cast<const int8_t*>(std::memchr(b + w, -1, width));
    const uint32_t lane = first ? static_cast<uint32_t>(first - b) : w;
    fill(l.reg<uint32_t>(in.d) + w, width, a[lane]);
  }
}

void give_lane(Lanes& l, const Operands& in) {
  const uint32_t width = width_of(l), *a = l.reg<uint32_t>(in.a);
  for (uint32_t w = 0; w < l.count; w += width)
    if (l.on(w)) fill(l.reg<uint32_t>(in.d) + w, width, a[w + l.reg<uint32_t>(in.b)[w] % width]);
}

void put_lane(Lanes& l, const Operands& in) {
  const uint32_t width = width_of(l), *a = l.reg<uint32_t>(in.a);
  for (uint32_t w = 0; w < l.count; w += width)
    if (l.on(w)) l.reg<uint32_t>(in.d)[w + l.reg<uint32_t>(in.b)[w] % width] = a[w];
}

namespace {

struct From {
  int32_t lane;
  bool valid;
};

From dpp_from(const Dpp& p, int32_t lane, int32_t width) {
  const int32_t row = lane & ~15, in_row = lane & 15, n = static_cast<int32_t>(p.value);
  switch (p.kind) {
    case Dpp::kQuad:
      return {(lane & ~3) | (n >> (2 * (lane & 3)) & 3), true};
    case Dpp::kRowShl:
      return {lane + n, in_row + n < 16};
    case Dpp::kRowShr:
      return {lane - n, in_row >= n};
    case Dpp::kRowRor:
      return {row | ((in_row - n) & 15), true};
    case Dpp::kWaveShl1:
      return {lane + 1, lane + 1 < width};
    case Dpp::kWaveRol1:
      return {(lane + 1) % width, true};
    case Dpp::kWaveShr1:
      return {lane - 1, lane > 0};
    case Dpp::kWaveRor1:
      return {(lane + width - 1) % width, true};
    case Dpp::kMirror:
      return {row | (15 - in_row), true};
    case Dpp::kHalfMirror:
      return {(lane & ~7) | (7 - (lane & 7)), true};
    case Dpp::kBroadcast15:
      return {row - 1, row > 0};
    case Dpp::kBroadcast31:
      return {31, lane >= 32};
    case Dpp::kShare:
    case Dpp::kNewBroadcast:
      return {row | n, true};
    case Dpp::kXmask:
      return {row | ((in_row ^ n) & 15), true};
    case Dpp::kEight:
      return {(lane & ~7) | (n >> (3 * (lane & 7)) & 7), true};
  }
  return {lane, true};
}

}  // namespace

void Dpp::fill(uint32_t width) {
  for (uint32_t lane = 0; lane < width; ++lane) {
    const From at = dpp_from(*this, static_cast<int32_t>(lane), static_cast<int32_t>(width));
    from[lane] = at.valid ? static_cast<uint8_t>(at.lane) : 0;
    valid[lane] = at.valid ? -1 : 0;
    written[lane] = (rows >> (lane / 16) & 1) && (banks >> (lane / 4 % 4) & 1) ? -1 : 0;
  }
  is_whole = in_halves = true;
  for (uint32_t lane = 0; lane < width; ++lane) {
    is_whole &= valid[lane] && written[lane];
    in_halves &= from[lane] == (from[lane & 31] | (lane & 32)) && from[lane & 31] < 32;
  }
}

void run_dpp(Exec& x, const Operands& in, const Dpp& plan) {
  const uint32_t width = x.code().width, *a = x.reg<uint32_t>(in.a);
  uint32_t* d = x.reg<uint32_t>(in.d);
  const int8_t *on = x.reg<int8_t>(in.c), bound = plan.bound ? -1 : 0;
  int8_t* valid = in.e == kNoRegister ? nullptr : x.reg<int8_t>(in.e);
  if (plan.in_halves && !std::memchr(on, 0, x.count)) {
    simd_tables(num::current_isa()).permute(d, a, plan.from.data(), x.count);
    for (uint32_t w = 0; w < x.count && !plan.is_whole; w += width)
      for (uint32_t lane = 0; lane < width; ++lane)
        d[w + lane] &= static_cast<uint32_t>(int32_t{plan.valid[lane]});
    for (uint32_t w = 0; w < x.count && valid; w += width)
      for (uint32_t lane = 0; lane < width; ++lane)
        valid[w + lane] = static_cast<int8_t>(plan.written[lane] & (plan.valid[lane] | bound));
    return;
  }
  for (uint32_t w = 0; w < x.count; w += width)
    for (uint32_t lane = 0; lane < width; ++lane) {
      const uint32_t from = w + plan.from[lane];
      const auto there = static_cast<int8_t>(plan.valid[lane] & on[from]);
      d[w + lane] = a[from] & static_cast<uint32_t>(int32_t{there});
      if (valid) valid[w + lane] = static_cast<int8_t>(plan.written[lane] & (there | bound));
    }
}

void run_permute(Exec& x, const Operands& in) {
  const uint32_t width = x.code().width, *a = x.reg<uint32_t>(in.a), *b = x.reg<uint32_t>(in.b);
  const int8_t* on = x.reg<int8_t>(in.c);
  uint32_t* d = x.reg<uint32_t>(in.d);
  uint32_t out[64];
  for (uint32_t w = 0; w < x.count; w += width) {
    std::fill_n(out, 64, 0u);
    for (uint32_t i = 0; i < width; ++i) {
      if (!on[w + i]) continue;
      const uint32_t other = (b[w + i] + static_cast<uint32_t>(in.imm)) / 4 % width;
      if (in.small)
        out[other] = a[w + i];
      else
        out[i] = on[w + other] ? a[w + other] : 0;
    }
    for (uint32_t i = 0; i < width; ++i)
      if (on[w + i]) d[w + i] = out[i];
  }
}

void run_swizzle(Exec& x, const Operands& in) {
  const uint32_t width = x.code().width, *a = x.reg<uint32_t>(in.a);
  const auto offset = static_cast<uint32_t>(in.imm);
  const int8_t* on = x.reg<int8_t>(in.c);
  uint32_t* d = x.reg<uint32_t>(in.d);
  uint32_t out[64];
  for (uint32_t w = 0; w < x.count; w += width) {
    for (uint32_t i = 0; i < width; ++i) {
      uint32_t from = 0;
      if (offset >> 14 == 3) {  // rotate within 32 lanes
        const uint32_t kept = offset & 31, by = offset >> 5 & 31;
        from = (i & ~31u) | (i & kept) | ((offset >> 10 & 1 ? i - by : i + by) & ~kept & 31);
      } else if (offset >> 15) {  // within four lanes
        from = (i & ~3u) | (offset >> (2 * (i & 3)) & 3);
      } else {  // and, or, xor of the lane in 32
        from = (i & ~31u) | (((i & 31 & (offset & 31)) | (offset >> 5 & 31)) ^ (offset >> 10 & 31));
      }
      out[i] = on[w + from] ? a[w + from] : 0;
    }
    for (uint32_t i = 0; i < width; ++i)
      if (on[w + i]) d[w + i] = out[i];
  }
}

void count_below(Lanes& l, const Operands& in) {
  const uint32_t width = width_of(l), *a = l.reg<uint32_t>(in.a), *b = l.reg<uint32_t>(in.b);
  uint32_t* d = l.reg<uint32_t>(in.d);
  for (uint32_t i = 0; i < l.count; ++i) {
    if (!l.on(i)) continue;
    const uint32_t lane = i % width;
    const uint64_t below = (uint64_t{1} << lane) - 1;
    const auto bits = static_cast<uint32_t>(in.small ? below >> 32 : below);
    d[i] = static_cast<uint32_t>(std::popcount(a[i] & bits)) + b[i];
  }
}

}  // namespace triton_runner::simt::amd
