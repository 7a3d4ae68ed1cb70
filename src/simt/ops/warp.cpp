// Executes what the threads of a warp do together. A handler walks the warps of the path. Threads that take
// part have arrived together (Exec::converged), so that the registers of all of them are in place when the
// first of them is looked at.
#include "ops/warp.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include <triton_runner/base/look_up.h>

#include "check/check.h"

namespace triton_runner::simt {

void run_for_warp(Lanes& l, const Operands& in) {
  const Instr& inner = *static_cast<const Instr*>(in.data);
  if (!l.mask) return inner.run(l, inner);
  const int8_t* own = l.mask;
  std::vector<int8_t> whole(l.count);
  for (uint32_t w = 0; w < l.count; w += 32) std::memset(whole.data() + w, warp_bits(l, w) ? -1 : 0, 32);
  l.mask = whole.data();
  inner.run(l, inner);
  l.mask = own;
}

bool warps_converged(Exec& x, const Instr& in, uint32_t members) {
  if (!x.mask) return true;
  if (!x.converged_by(in, members)) return false;
  if (!x.worker->checks) return true;
  const uint32_t* m = x.reg<uint32_t>(members);
  uint32_t seen = 0;  // a membermask that was looked at
  for (uint32_t w = 0; w < x.count; w += 32) {
    const uint32_t on = warp_bits(x, w);
    for (uint32_t rest = on; rest; rest &= rest - 1) {
      const uint32_t want = m[w + std::countr_zero(rest)];
      if ((want & ~on) == 0 || want == seen) continue;
      if (!x.worker->checks->whole_warps(x, in, want)) return false;
      seen = want;
    }
  }
  return true;
}

namespace {

// Calls f(index of the warp's first lane, bits of the lanes that are on) for the path's warps.
template <class F>
LANES_INLINE void each_warp(const Lanes& x, F f) {
  for (uint32_t w = 0; w < x.count; w += 32)
    if (const uint32_t on = warp_bits(x, w)) f(w, on);
}

template <class F>
LANES_INLINE void each_bit(uint32_t bits, F f) {
  for (; bits; bits &= bits - 1) f(static_cast<uint32_t>(std::countr_zero(bits)));
}

// ---- shfl

// d: result, a: value, b: lane or distance, c: clamp and segments, e: the predicate or none; imm: the place
// of the membermask.
void run_shfl(Exec& x, const Operands& in) {
  if (!warps_converged(x, instr_of(in), static_cast<uint32_t>(in.imm))) return;
  const uint32_t *a = x.reg<uint32_t>(in.a), *b = x.reg<uint32_t>(in.b), *c = x.reg<uint32_t>(in.c);
  uint32_t* d = in.d == kNoRegister ? nullptr : x.reg<uint32_t>(in.d);
  int8_t* p = in.e == kNoRegister ? nullptr : x.reg<int8_t>(in.e);
  const auto kind = static_cast<ShuffleKind>(in.small);
  each_warp(x, [&](uint32_t w, uint32_t on) {
    std::array<uint32_t, 32> value;
    std::array<ShuffleSource, 32> source;
    std::memcpy(value.data(), a + w, sizeof value);
    for (uint32_t i = 0; i < 32; i++) source[i] = shuffle_from(kind, i, b[w + i], c[w + i]);
    each_bit(on, [&](uint32_t i) {
      if (d) d[w + i] = value[source[i].lane];
      if (p) p[w + i] = source[i].valid ? -1 : 0;
    });
  });
}

// As run_shfl; data: ShuffleTable, b: the place of the membermask.
void run_shfl_table(Exec& x, const Operands& in, const ShuffleTable& table) {
  if (!warps_converged(x, instr_of(in), in.b)) return;
  const uint32_t* a = x.reg<uint32_t>(in.a);
  uint32_t* d = in.d == kNoRegister ? nullptr : x.reg<uint32_t>(in.d);
  int8_t* p = in.e == kNoRegister ? nullptr : x.reg<int8_t>(in.e);
  if (!x.mask) {
    if (d) table.tables->permute(d, a, table.from.data(), x.count);
    for (uint32_t w = 0; p && w < x.count; w += 32) std::memcpy(p + w, table.valid.data(), 32);
    return;
  }
  for (uint32_t w = 0; w < x.count; w += 32) {
    std::array<uint32_t, 32> value;
    std::memcpy(value.data(), a + w, sizeof value);
    for (uint32_t i = 0; i < 32; i++) {
      if (!x.mask[w + i]) continue;
      if (d) d[w + i] = value[table.from[i]];
      if (p) p[w + i] = table.valid[i];
    }
  }
}

// Lane i reads from i ^ kBy, all lanes of all warps: the loops become vector permutes.
template <uint32_t kBy>
void run_shfl_xor(Exec& x, const Operands& in, const ShuffleTable& table) {
  if (x.mask) return run_shfl_table(x, in, table);
  const uint32_t* a = x.reg<uint32_t>(in.a);
  uint32_t* d = x.reg<uint32_t>(in.d);
  using Block = std::array<uint32_t, 2 * kBy>;
  for (uint32_t w = 0; w < x.count; w += 2 * kBy) {
    Block from, to;
    std::memcpy(from.data(), a + w, sizeof from);
    for (uint32_t i = 0; i < 2 * kBy; i++) to[i] = from[i ^ kBy];
    std::memcpy(d + w, to.data(), sizeof to);
  }
}

}  // namespace

Handler xor_handler(uint32_t by) {
  static constexpr std::pair<uint32_t, Handler> kHandlers[] = {{1, handler<run_shfl_xor<1>>},
                                                               {2, handler<run_shfl_xor<2>>},
                                                               {4, handler<run_shfl_xor<4>>},
                                                               {8, handler<run_shfl_xor<8>>},
                                                               {16, handler<run_shfl_xor<16>>}};
  return base::look_up(kHandlers, by).value_or(nullptr);
}

Handler table_shuffle() { return handler<run_shfl_table>; }

namespace {

// Every lane reads from lane `small`.
void run_shfl_broadcast(Exec& x, const Operands& in, const ShuffleTable& table) {
  if (x.mask) return run_shfl_table(x, in, table);
  const uint32_t* a = x.reg<uint32_t>(in.a);
  uint32_t* d = x.reg<uint32_t>(in.d);
  for (uint32_t w = 0; w < x.count; w += 32) std::fill_n(d + w, 32, a[w + in.small]);
}

// ---- vote

}  // namespace

void run_vote(Exec& x, const Operands& in) {
  if (!warps_converged(x, instr_of(in), in.b)) return;
  const int8_t* a = x.reg<int8_t>(in.a);
  const uint32_t* members = x.reg<uint32_t>(in.b);
  const auto kind = static_cast<Vote>(in.small);
  each_warp(x, [&](uint32_t w, uint32_t on) {
    uint32_t votes = 0;
    for (uint32_t i = 0; i < 32; i++) votes |= static_cast<uint32_t>(a[w + i] != 0) << i;
    if (in.c == 1) votes = ~votes;
    each_bit(on, [&](uint32_t i) {
      const uint32_t among = members[w + i] & on, yes = votes & among;
      switch (kind) {
        case Vote::kAll:
          x.reg<int8_t>(in.d)[w + i] = yes == among ? -1 : 0;
          break;
        case Vote::kAny:
          x.reg<int8_t>(in.d)[w + i] = yes != 0 ? -1 : 0;
          break;
        case Vote::kUni:
          x.reg<int8_t>(in.d)[w + i] = yes == among || yes == 0 ? -1 : 0;
          break;
        case Vote::kBallot:
          x.reg<uint32_t>(in.d)[w + i] = yes;
          break;
      }
    });
  });
}

void run_activemask(Exec& x, const Operands& in) {
  uint32_t* d = x.reg<uint32_t>(in.d);
  if (!x.mask) return static_cast<void>(std::fill_n(d, x.count, ~uint32_t{0}));
  each_warp(x, [&](uint32_t w, uint32_t on) { each_bit(on, [&](uint32_t i) { d[w + i] = on; }); });
}

namespace {

// ---- match

template <class T>
void run_match_any(Exec& x, const Operands& in) {
  if (!warps_converged(x, instr_of(in), in.b)) return;
  const T* a = x.reg<T>(in.a);
  const uint32_t* members = x.reg<uint32_t>(in.b);
  uint32_t* d = x.reg<uint32_t>(in.d);
  each_warp(x, [&](uint32_t w, uint32_t on) {
    std::array<uint32_t, 32> same{};
    each_bit(on, [&](uint32_t i) {
      each_bit(on & members[w + i],
               [&](uint32_t j) { same[i] |= static_cast<uint32_t>(a[w + i] == a[w + j]) << j; });
    });
    each_bit(on, [&](uint32_t i) { d[w + i] = same[i]; });
  });
}

// d: the members where all have one value, else 0; e: whether they have.
template <class T>
void run_match_all(Exec& x, const Operands& in) {
  if (!warps_converged(x, instr_of(in), in.b)) return;
  const T* a = x.reg<T>(in.a);
  const uint32_t* members = x.reg<uint32_t>(in.b);
  each_warp(x, [&](uint32_t w, uint32_t on) {
    uint32_t equal = 0;
    each_bit(on, [&](uint32_t i) {
      bool all = true;
      each_bit(on & members[w + i], [&](uint32_t j) { all &= a[w + i] == a[w + j]; });
      equal |= static_cast<uint32_t>(all) << i;
    });
    each_bit(on, [&](uint32_t i) {
      const bool all = equal >> i & 1;
      if (in.d != kNoRegister) x.reg<uint32_t>(in.d)[w + i] = all ? members[w + i] & on : 0;
      if (in.e != kNoRegister) x.reg<int8_t>(in.e)[w + i] = all ? -1 : 0;
    });
  });
}

// ---- redux

// d, a; b: membermask; small: Redux | kReduxAbs | kReduxNan.
template <Redux kOp>
void run_redux(Exec& x, const Operands& in) {
  if (!warps_converged(x, instr_of(in), in.b)) return;
  const uint32_t* a = x.reg<uint32_t>(in.a);
  const uint32_t* members = x.reg<uint32_t>(in.b);
  uint32_t* d = x.reg<uint32_t>(in.d);
  const uint32_t keep = in.small & kReduxAbs ? 0x7fffffffu : ~0u;
  const bool nan = in.small & kReduxNan;
  each_warp(x, [&](uint32_t w, uint32_t on) {
    // Threads with the same members get the same result.
    for (uint32_t rest = on; rest;) {
      const uint32_t want = members[w + std::countr_zero(rest)];
      const uint32_t among = want & on;
      uint32_t receivers = 0;
      each_bit(rest, [&](uint32_t i) { receivers |= static_cast<uint32_t>(members[w + i] == want) << i; });
      if (among) {
        uint32_t result = a[w + std::countr_zero(among)] & keep;
        if (among == ~0u) {
          for (uint32_t i = 1; i < 32; i++) result = redux_step(kOp, result, a[w + i] & keep, nan);
        } else {
          each_bit(among & (among - 1),
                   [&](uint32_t i) { result = redux_step(kOp, result, a[w + i] & keep, nan); });
        }
        if constexpr (kOp == Redux::kMinF || kOp == Redux::kMaxF)
          if (std::isnan(std::bit_cast<float>(result))) result = 0x7fffffff;
        each_bit(receivers & among, [&](uint32_t i) { d[w + i] = result; });
      }
      rest &= ~receivers;
    }
  });
}

// ---- elect: the lowest of the members, as on hardware.

}  // namespace

void run_elect(Exec& x, const Operands& in) {
  if (!warps_converged(x, instr_of(in), in.b)) return;
  const uint32_t* members = x.reg<uint32_t>(in.b);
  each_warp(x, [&](uint32_t w, uint32_t on) {
    each_bit(on, [&](uint32_t i) {
      const uint32_t among = members[w + i] & on;
      const uint32_t leader = among ? std::countr_zero(among) : i;
      if (in.d != kNoRegister) x.reg<uint32_t>(in.d)[w + i] = leader;
      if (in.e != kNoRegister) x.reg<int8_t>(in.e)[w + i] = leader == i ? -1 : 0;
    });
  });
}

void set_shuffle(Instr& i, Code& code, ShuffleKind kind, std::optional<uint32_t> b,
                 std::optional<uint32_t> c) {
  i.small = static_cast<uint32_t>(kind);
  i.run = handler<run_shfl>;
  if (!b || !c) return;
  ShuffleTable table;
  table.tables = &simd_tables(num::current_isa());
  bool broadcast = true, is_xor = true;
  const uint32_t by = *b & 31;
  for (uint32_t lane = 0; lane < 32; lane++) {
    const ShuffleSource s = shuffle_from(kind, lane, *b, *c);
    table.from[lane] = static_cast<uint8_t>(s.lane);
    table.valid[lane] = s.valid ? -1 : 0;
    broadcast &= s.lane == table.from[0];
    is_xor &= s.lane == (lane ^ by);
  }
  i.run = handler<run_shfl_table>;
  if (i.d != kNoRegister && i.e == kNoRegister) {
    if (broadcast) i.run = handler<run_shfl_broadcast>;
    if (is_xor && xor_handler(by)) i.run = xor_handler(by);
  }
  i.b = static_cast<uint32_t>(i.imm), i.c = kNoRegister;
  i.small = table.from[0];
  i.data = code.keep(table);
}

Handler match_handler(bool all, bool wide) {
  if (all) return wide ? handler<run_match_all<uint64_t>> : handler<run_match_all<uint32_t>>;
  return wide ? handler<run_match_any<uint64_t>> : handler<run_match_any<uint32_t>>;
}

Handler redux_handler(Redux op) {
  switch (op) {
#define CASE(name)  \
  case Redux::name: \
    return handler<run_redux<Redux::name>>;
    CASE(kAdd)
    CASE(kMinS) CASE(kMaxS) CASE(kMinU) CASE(kMaxU) CASE(kAnd) CASE(kOr) CASE(kXor) CASE(kMinF) CASE(kMaxF)
#undef CASE
  }
  return nullptr;
}

}  // namespace triton_runner::simt
