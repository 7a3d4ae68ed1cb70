// Declares what is compiled once an instruction set: functions of one lane, and steps over lanes that almost every instruction
// takes. simd/*.cpp have them.
#pragma once
#include <triton_runner/lanes/lanes.h>

namespace triton_runner::simt::amd {

// A buffer's descriptor of four scalars (base, stride, bytes), and what is added to a lane's offset.
struct BufferPlan {
  uint32_t descriptor[4], soffset, bytes, width, offset;
};

struct Steps {
  using Handler = lanes::Handler;
  const Handler* each;  // by opcode: of rows that say EACH, EACH_SCC or EACH_MASK; else null
  // Sums that stay within their type. which: of 16 bits, of 32, of pairs of 16.
  Handler (*sum)(bool subtracts, bool is_signed, int which);
  // Masks; small: lanes of a wavefront.
  Handler
      pack_mask;  // d, e (none in wave32): a bit a lane of the predicate a, where b holds; c, a predicate, or none: the same
  Handler unpack_mask;  // d, a predicate: the bits of a and b
  Handler join;         // d, 64 bits: a, and above it b
  Handler part;         // d, e: the lower and the upper half of a
  Handler take_half;    // d, 16 bits: the half `small` of a
  Handler put_half;     // the half `small` of d is a; imm: the other is zero
  Handler take_bytes;   // d: of a `imm & 255` bits from bit `small` on, imm >> 8: with their sign
  // ISA, V_DIV_SCALE: d, what the division a / b of c and b has to be scaled by; e, a predicate: its quotient is scaled back.
  Handler div_scale_f32, div_scale_f64;
  Handler div_fmas_f32, div_fmas_f64;  // d = fma(a, b, c), scaled back where the predicate e says so
  Handler buffer;  // of a BufferPlan; d: addresses, e, a predicate: in range; a: offsets (none: 0)
};
const Steps& steps();  // of the instruction set in force

}  // namespace triton_runner::simt::amd
