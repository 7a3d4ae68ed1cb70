// kVectorBytes is the width of the vectors that a file is compiled for.
#pragma once

namespace triton_runner::num::SIMD_ISA {

#if defined(SIMD_ISA_avx512)
constexpr int kVectorBytes = 64;
#elif defined(SIMD_ISA_avx2)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif

}  // namespace triton_runner::num::SIMD_ISA
