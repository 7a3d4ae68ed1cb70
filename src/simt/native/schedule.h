// Puts the parts of a run in an order that needs few of the processor's registers. Compilers write code for a GPU, whose threads
// have 255 of them: 64 loads, then 64 sums, then 64 stores. Here each part comes right before the first one that needs it, and
// what is stored, or what nobody in its phase needs, comes in the order of the instructions. Where hardly anything is left for what
// comes after it, a phase ends there: native code then goes through memory piece by piece.
//
//   ld %r1; ld %r2; add %r3, %r1, 1; add %r4, %r2, 1; st %r3; st %r4;            as the compiler has it
//   ld %r1; add %r3, %r1, 1; st %r3; ---- ld %r2; add %r4, %r2, 1; st %r4;       for all lanes, then for all lanes
#pragma once
#include <span>
#include <vector>

#include "native/span.h"

namespace triton_runner::simt {

// Returns the parts in that order, each in its phase. A load may then come after stores that it was before: Spans::Access::passed of
// the run (null: it has no loads) says so.
std::vector<Instr> scheduled(std::span<const Instr> parts, Spans* spans);

}  // namespace triton_runner::simt
