// Makes native code: straight runs of instructions on registers, compiled to AVX-512 or AVX2 as one function. A
// handler reads its operands from the register file and puts its result there, for all threads; native code
// takes 16 or 8 threads at a time through the whole run and keeps what is between its instructions in the
// processor's registers.
//
//   sub.f32 %r59, %r1, %r58;     vmovups zmm0, [%r1]; vmovups zmm1, [%r58]; vsubps zmm2, zmm0, zmm1
//   mul.f32 %r74, %r59, 1.44;    vbroadcastss zmm3, [1.44]; vmulps zmm4, zmm2, zmm3      %r59 is used nowhere else: not stored
//
// Loads and stores belong to a run, too, where all lanes' memory lies in a row (span.h).
//
// The bits are those of the handlers (rows.cpp says what each one becomes). Where native code is not for a path (some of its
// threads are off, another path waits in the run, somebody looks at each instruction) the instructions run one by one.
#pragma once
#include "code/code.h"

namespace triton_runner::simt {

// Finds runs and compiles them; nothing where the machine, or the instruction set that was chosen, has neither.
void compile_runs(Code& code);

// Counts the runs with loads and stores that it has made, by their kind (SpanFinder::Kind), and the instructions of the longest one.
struct SpanRunCounts {
  size_t rows = 0, for_blocks = 0, silent = 0, longest = 0;
  bool operator==(const SpanRunCounts&) const = default;
};
SpanRunCounts count_span_runs(const Code& code);

}  // namespace triton_runner::simt
