// Finds the copy of the kernels that was compiled for an Isa.
#pragma once
#include "simd/tables.h"

// The value of `isa::what` for a run-time isa; x86 copies exist on x86 only.
#if defined(__x86_64__) && !defined(NUM_PORTABLE)
#define NUM_OF_ISA(isa, what)                                                       \
  ((isa) == ::triton_runner::num::Isa::kAvx512 ? ::triton_runner::num::avx512::what \
   : (isa) == ::triton_runner::num::Isa::kAvx2 ? ::triton_runner::num::avx2::what   \
                                               : ::triton_runner::num::portable::what)
#else
#define NUM_OF_ISA(isa, what) (static_cast<void>(isa), ::triton_runner::num::portable::what)
#endif
