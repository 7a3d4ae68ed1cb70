// Does over lanes what only AMD's instructions ask for: masks with a bit a lane, halves, pairs, and lanes that read each other.
#pragma once
#include <array>

#include "front/amdgcn/simd/tables.h"
#include "state/exec.h"

namespace triton_runner::simt::amd {

// small: lanes of a wavefront, where a handler needs them.
void is_zero(Lanes& l, const Operands& in);  // d, a predicate: the mask a, b is zero; imm: it is not
// d, 16 bits: an infinity of operands a, b and c that have none becomes the largest number. small: bytes of an operand (4: a float).
void keep_finite(Lanes& l, const Operands& in);
void sum_is_negative(Lanes& l, const Operands& in);  // d, a predicate, of the signed 64 bits of a and b
void give_all(
    Lanes& l,
    const Operands& in);  // d: of a the first thread that is on in the predicate b, for its wavefront
void give_lane(Lanes& l, const Operands& in);  // d: of a the lane that b says
void put_lane(Lanes& l, const Operands& in);   // of d the lane that b says is a

// d: a of another lane of the wavefront, as the control word says; e, a predicate: there is one, and rows and banks are on.
// Without `bound` a lane without a source is off.
struct Dpp {
  enum Kind : uint8_t {
    kQuad,
    kRowShl,
    kRowShr,
    kRowRor,
    kWaveShl1,
    kWaveRol1,
    kWaveShr1,
    kWaveRor1,
    kMirror,
    kHalfMirror,
    kBroadcast15,
    kBroadcast31,
    kShare,
    kXmask,
    kNewBroadcast,
    kEight
  } kind;
  uint32_t value, rows = 15, banks = 15;
  bool bound = false;
  // fill() says of each lane which one it reads; 0 or -1: there is such a lane, and the lane is written.
  std::array<uint8_t, 64> from{};
  std::array<int8_t, 64> valid{}, written{};
  bool is_whole = false;   // every lane has a source and is written
  bool in_halves = false;  // each half of a wavefront reads itself, and both alike
  void fill(uint32_t width);
};
void run_dpp(Exec& x, const Operands& in, const Dpp& plan);

// d: a of lane (b + imm) / 4 % width, 0 where that is off (ds_bpermute); small 1: a goes to that lane (ds_permute). c: EXEC.
void run_permute(Exec& x, const Operands& in);
// d: a of another lane, as ds_swizzle's offset `imm` says. c: EXEC.
void run_swizzle(Exec& x, const Operands& in);

// d: the number of bits of a below this lane, in the lower (small 0) or the upper half of the wavefront, plus b.
void count_below(Lanes& l, const Operands& in);

}  // namespace triton_runner::simt::amd
