// Finds the copy of a function or a table that was compiled for an instruction set:
//
//   const DotTable& dot_functions() { return NUM_OF_ISA(current_isa(), dot_table); }
#pragma once
#include <triton_runner/num/types.h>

#include <num_isas.h>  // src/num/target.cmake writes it

// The `what` of the namespace in which the copy for `isa` stands: num::avx512::what in num, lanes::avx512::what in lanes.
// An instruction set without a copy is never chosen, and portable stands there for it.
#define NUM_OF_ISA(isa, what)                                     \
  ((isa) == ::triton_runner::num::Isa::kAvx512 ? NUM_AVX512::what \
   : (isa) == ::triton_runner::num::Isa::kAvx2 ? NUM_AVX2::what   \
                                               : portable::what)
