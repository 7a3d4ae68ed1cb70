// Instructions among the threads of a warp: shfl, vote, match, redux, elect, activemask. PTX ISA 9.7.9.6,
// 9.7.13.9 to 9.7.13.14.
//
// A handler walks the warps of the path. Threads that take part have arrived together (Exec::converged), so
// that the registers of all of them are in place when the first of them is looked at.
#include "warp.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "ptx/lower.h"
#include "redux.h"

namespace triton_runner::simt {

using ptx::Mod;
using ptx::OperandKind;

uint32_t warp_bits(const Lanes& x, uint32_t first) {
  if (!x.mask) return ~uint32_t{0};
  uint32_t bits = 0;
  for (uint32_t i = 0; i < 32; i++) bits |= static_cast<uint32_t>(x.mask[first + i] != 0) << i;
  return bits;
}

bool warps_converged(Exec& x, const Instr& in, uint32_t members) {
  if (!x.mask) return true;
  const uint32_t* m = x.reg<uint32_t>(members);
  uint32_t seen = 0;  // a membermask that all warps have
  for (uint32_t w = 0; w < x.count; w += 32) {
    const uint32_t on = warp_bits(x, w);
    for (uint32_t rest = on; rest; rest &= rest - 1) {
      const uint32_t want = m[w + std::countr_zero(rest)];
      if ((want & ~on) == 0 || want == seen) continue;
      if (!x.converged(in, want)) return false;
      seen = want;
    }
  }
  return true;
}

namespace {

// Calls f(index of the warp's first lane, bits of the lanes that are on) for the path's warps.
template <class F>
PTX_INLINE void each_warp(const Lanes& x, F f) {
  for (uint32_t w = 0; w < x.count; w += 32)
    if (const uint32_t on = warp_bits(x, w)) f(w, on);
}

template <class F>
PTX_INLINE void each_bit(uint32_t bits, F f) {
  for (; bits; bits &= bits - 1) f(static_cast<uint32_t>(std::countr_zero(bits)));
}

// ---- shfl

enum class Shuffle : uint8_t { kUp, kDown, kBfly, kIdx };

struct Source {
  uint32_t lane;
  bool valid;
};

// Where `lane` reads from: PTX ISA 9.7.9.6.
PTX_INLINE Source source_of(Shuffle kind, uint32_t lane, uint32_t b, uint32_t c) {
  const uint32_t by = b & 31, clamp = c & 31, segment = c >> 8 & 31;
  const int32_t first = static_cast<int32_t>(lane & segment);
  const int32_t last = first | static_cast<int32_t>(clamp & ~segment);
  const int32_t at = static_cast<int32_t>(lane);
  int32_t from = 0;
  bool valid = false;
  switch (kind) {
    case Shuffle::kUp:
      from = at - static_cast<int32_t>(by);
      valid = from >= last;
      break;
    case Shuffle::kDown:
      from = at + static_cast<int32_t>(by);
      valid = from <= last;
      break;
    case Shuffle::kBfly:
      from = at ^ static_cast<int32_t>(by);
      valid = from <= last;
      break;
    case Shuffle::kIdx:
      from = first | static_cast<int32_t>(by & ~segment);
      valid = from <= last;
      break;
  }
  return {valid ? static_cast<uint32_t>(from) : lane, valid};
}

// Constant lane operands: who reads from whom is known.
struct ShuffleTable {
  std::array<uint8_t, 32> from;
  std::array<int8_t, 32> valid;
};

// d: result, a: value, b: lane or distance, c: clamp and segments, e: the predicate or none; imm: the place
// of the membermask.
void run_shfl(Lanes& lanes, const Operands& in) {
  Exec& x = exec_of(lanes);
  if (!warps_converged(x, instr_of(in), static_cast<uint32_t>(in.imm))) return;
  const uint32_t *a = x.reg<uint32_t>(in.a), *b = x.reg<uint32_t>(in.b), *c = x.reg<uint32_t>(in.c);
  uint32_t* d = in.d == kNoRegister ? nullptr : x.reg<uint32_t>(in.d);
  int8_t* p = in.e == kNoRegister ? nullptr : x.reg<int8_t>(in.e);
  const auto kind = static_cast<Shuffle>(in.small);
  each_warp(x, [&](uint32_t w, uint32_t on) {
    std::array<uint32_t, 32> value;
    std::array<Source, 32> source;
    std::memcpy(value.data(), a + w, sizeof value);
    for (uint32_t i = 0; i < 32; i++) source[i] = source_of(kind, i, b[w + i], c[w + i]);
    each_bit(on, [&](uint32_t i) {
      if (d) d[w + i] = value[source[i].lane];
      if (p) p[w + i] = source[i].valid ? -1 : 0;
    });
  });
}

// As run_shfl; data: ShuffleTable, b: the place of the membermask.
void run_shfl_table(Lanes& lanes, const Operands& in) {
  Exec& x = exec_of(lanes);
  if (!warps_converged(x, instr_of(in), in.b)) return;
  const auto& table = *static_cast<const ShuffleTable*>(in.data);
  const uint32_t* a = x.reg<uint32_t>(in.a);
  uint32_t* d = in.d == kNoRegister ? nullptr : x.reg<uint32_t>(in.d);
  int8_t* p = in.e == kNoRegister ? nullptr : x.reg<int8_t>(in.e);
  for (uint32_t w = 0; w < x.count; w += 32) {
    std::array<uint32_t, 32> value;
    std::memcpy(value.data(), a + w, sizeof value);
    if (!x.mask) {
      if (d)
        for (uint32_t i = 0; i < 32; i++) d[w + i] = value[table.from[i]];
      if (p) std::memcpy(p + w, table.valid.data(), 32);
      continue;
    }
    for (uint32_t i = 0; i < 32; i++) {
      if (!x.mask[w + i]) continue;
      if (d) d[w + i] = value[table.from[i]];
      if (p) p[w + i] = table.valid[i];
    }
  }
}

// Lane i reads from i ^ kBy, all lanes of all warps: the loops become vector permutes.
template <uint32_t kBy>
void run_shfl_xor(Lanes& lanes, const Operands& in) {
  Exec& x = exec_of(lanes);
  if (x.mask) return run_shfl_table(lanes, in);
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

Handler xor_handler(uint32_t by) {
  switch (by) {
    case 1:
      return run_shfl_xor<1>;
    case 2:
      return run_shfl_xor<2>;
    case 4:
      return run_shfl_xor<4>;
    case 8:
      return run_shfl_xor<8>;
    case 16:
      return run_shfl_xor<16>;
    default:
      return nullptr;
  }
}

// Every lane reads from lane `small`.
void run_shfl_broadcast(Lanes& lanes, const Operands& in) {
  Exec& x = exec_of(lanes);
  if (x.mask) return run_shfl_table(lanes, in);
  const uint32_t* a = x.reg<uint32_t>(in.a);
  uint32_t* d = x.reg<uint32_t>(in.d);
  for (uint32_t w = 0; w < x.count; w += 32) std::fill_n(d + w, 32, a[w + in.small]);
}

// d|p of a pair, or d alone; kNoRegister where it is a sink or there is none.
struct Results {
  uint32_t d = kNoRegister, p = kNoRegister;
};
Results results_of(Lowering& l, const ptx::Operand& operand) {
  if (operand.kind != OperandKind::kPair) return {l.reg(operand), kNoRegister};
  return {l.reg(operand.parts[0]), l.reg(operand.parts[1])};
}

bool lower_shfl(Lowering& l, const ptx::Instruction& in) {
  if (in.operands.size() != 5)
    return l.error(in, "shfl needs five operands: d|p, a, b, c, membermask",
                   {"shfl without .sync and its membermask was removed in PTX ISA 6.4 for sm_70 and later"});
  const Results r = results_of(l, in.operands[0]);
  const uint32_t a = l.place(in.operands[1], Mod::kB32);
  const uint32_t members = l.place(in.operands[4], Mod::kB32);
  const Shuffle kind = in.has(Mod::kUp)     ? Shuffle::kUp
                       : in.has(Mod::kDown) ? Shuffle::kDown
                       : in.has(Mod::kBfly) ? Shuffle::kBfly
                                            : Shuffle::kIdx;
  const ptx::Operand &b = in.operands[2], &c = in.operands[3];
  if (b.kind != OperandKind::kInteger || c.kind != OperandKind::kInteger) {
    const uint32_t b_place = l.place(b, Mod::kB32), c_place = l.place(c, Mod::kB32);
    Instr& i = l.emit(run_shfl);
    i.d = r.d, i.e = r.p, i.a = a, i.b = b_place, i.c = c_place;
    i.small = static_cast<uint32_t>(kind);
    i.imm = members;
    return true;
  }
  ShuffleTable table;
  bool broadcast = true, is_xor = true;
  const uint32_t by = static_cast<uint32_t>(b.integer) & 31;
  for (uint32_t lane = 0; lane < 32; lane++) {
    const Source s =
        source_of(kind, lane, static_cast<uint32_t>(b.integer), static_cast<uint32_t>(c.integer));
    table.from[lane] = static_cast<uint8_t>(s.lane);
    table.valid[lane] = s.valid ? -1 : 0;
    broadcast &= s.lane == table.from[0];
    is_xor &= s.lane == (lane ^ by);
  }
  Handler run = run_shfl_table;
  if (r.d != kNoRegister && r.p == kNoRegister) {
    if (broadcast) run = run_shfl_broadcast;
    if (is_xor && xor_handler(by)) run = xor_handler(by);
  }
  Instr& i = l.emit(run);
  i.d = r.d, i.e = r.p, i.a = a, i.b = members;
  i.small = table.from[0];
  i.data = l.code.keep(table);
  return true;
}

// ---- vote

enum class Vote : uint8_t { kAll, kAny, kUni, kBallot };

// d: predicate or ballot, a: predicate, b: membermask; small: Vote, c: 1 if the predicate is negated.
void run_vote(Lanes& lanes, const Operands& in) {
  Exec& x = exec_of(lanes);
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

bool lower_vote(Lowering& l, const ptx::Instruction& in) {
  if (in.operands.size() != 3)
    return l.error(in, "vote needs three operands: d, a, membermask",
                   {"vote without .sync and its membermask was removed in PTX ISA 6.4 for sm_70 and later"});
  ptx::Operand a = in.operands[1];
  const bool negated = a.negated;
  a.negated = false;
  const uint32_t d = l.reg(in.operands[0]), a_place = l.place(a, Mod::kPred);
  const uint32_t members = l.place(in.operands[2], Mod::kB32);
  if (d == kNoRegister) return true;
  const Vote kind = in.has(Mod::kAll)   ? Vote::kAll
                    : in.has(Mod::kAny) ? Vote::kAny
                    : in.has(Mod::kUni) ? Vote::kUni
                                        : Vote::kBallot;
  Instr& i = l.emit(run_vote);
  i.d = d, i.a = a_place, i.b = members, i.c = negated ? 1 : 0;
  i.small = static_cast<uint32_t>(kind);
  return true;
}

void run_activemask(Lanes& lanes, const Operands& in) {
  Exec& x = exec_of(lanes);
  uint32_t* d = x.reg<uint32_t>(in.d);
  each_warp(x, [&](uint32_t w, uint32_t on) { each_bit(on, [&](uint32_t i) { d[w + i] = on; }); });
}

// ---- match

template <class T>
void run_match_any(Lanes& lanes, const Operands& in) {
  Exec& x = exec_of(lanes);
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
void run_match_all(Lanes& lanes, const Operands& in) {
  Exec& x = exec_of(lanes);
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

bool lower_match(Lowering& l, const ptx::Instruction& in) {
  const Mod type = in.type(0);
  const bool wide = type == Mod::kB64, all = in.has(Mod::kAll);
  const Results r = results_of(l, in.operands[0]);
  const uint32_t a = l.place(in.operands[1], type), members = l.place(in.operands[2], Mod::kB32);
  if (r.d == kNoRegister && !all) return true;
  Instr& i = l.emit(all    ? wide ? run_match_all<uint64_t> : run_match_all<uint32_t>
                    : wide ? run_match_any<uint64_t>
                           : run_match_any<uint32_t>);
  i.d = r.d, i.e = r.p, i.a = a, i.b = members;
  return true;
}

// ---- redux

inline constexpr uint32_t kReduxAbs = 16, kReduxNan = 32;

// d, a; b: membermask; small: Redux | kReduxAbs | kReduxNan.
template <Redux kOp>
void run_redux(Lanes& lanes, const Operands& in) {
  Exec& x = exec_of(lanes);
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

bool lower_redux(Lowering& l, const ptx::Instruction& in) {
  const Mod type = in.type(0);
  const bool is_signed = type == Mod::kS32, is_float = type == Mod::kF32;
  Handler run = in.has(Mod::kAdd)   ? run_redux<Redux::kAdd>
                : in.has(Mod::kAnd) ? run_redux<Redux::kAnd>
                : in.has(Mod::kOr)  ? run_redux<Redux::kOr>
                : in.has(Mod::kXor) ? run_redux<Redux::kXor>
                : in.has(Mod::kMin) ? is_float    ? run_redux<Redux::kMinF>
                                      : is_signed ? run_redux<Redux::kMinS>
                                                  : run_redux<Redux::kMinU>
                : is_float          ? run_redux<Redux::kMaxF>
                : is_signed         ? run_redux<Redux::kMaxS>
                                    : run_redux<Redux::kMaxU>;
  const uint32_t d = l.reg(in.operands[0]), a = l.place(in.operands[1], type);
  const uint32_t members = l.place(in.operands[2], Mod::kB32);
  if (d == kNoRegister) return true;
  Instr& i = l.emit(run);
  i.d = d, i.a = a, i.b = members;
  i.small = (in.has(Mod::kAbs) ? kReduxAbs : 0) | (in.has(Mod::kNaN) ? kReduxNan : 0);
  return true;
}

// ---- elect: the lowest of the members, as on hardware.

void run_elect(Lanes& lanes, const Operands& in) {
  Exec& x = exec_of(lanes);
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

}  // namespace

bool lower_warp(Lowering& l, const ptx::Instruction& in) {
  switch (in.opcode) {
    case ptx::Opcode::kShfl:
      return lower_shfl(l, in);
    case ptx::Opcode::kVote:
      return lower_vote(l, in);
    case ptx::Opcode::kMatch:
      return lower_match(l, in);
    case ptx::Opcode::kRedux:
      return lower_redux(l, in);
    case ptx::Opcode::kActivemask: {
      const uint32_t d = l.reg(in.operands[0]);
      if (d != kNoRegister) l.emit(run_activemask).d = d;
      return true;
    }
    case ptx::Opcode::kElect: {
      const Results r = results_of(l, in.operands[0]);
      const uint32_t members = l.place(in.operands[1], Mod::kB32);
      Instr& i = l.emit(run_elect);
      i.d = r.d, i.e = r.p, i.b = members;
      return true;
    }
    default:
      return l.error(in, "not an instruction of a warp");
  }
}

}  // namespace triton_runner::simt
