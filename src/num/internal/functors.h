// Lists every elementwise functor, as X(name, arity), by family. A family has a finder of loops: that of
// libdevice is in src/num/libdevice.cpp, the others are in src/num/simd.
//
// Adding a functor: a row in its family's list, in any place, and its formula where the finder is, which does
// not compile without it. An op asks for it by ELEMENTWISE(name) in ops.def, tt.extern_elementwise by a row of
// src/num/extern.cpp.
//
// Floats are f16, bf16, f32, f64 (arithmetic, comparisons and select also take the fp8 types, through f32).
// Integers are i1 .. i64 and pointers.
#pragma once
#include <cstdint>

// clang-format off
// integers; i1 arithmetic is modulo 2; shifts by the width or more give 0, shrsi the sign (PTX clamps).
// Division: the smallest integer / -1 wraps, its remainder is 0; by 0 as GPUs do, see src/num/simd/division.cpp.
// rem.._paired: where the quotient is computed, too, and the remainder made from it.
#define TRITON_RUNNER_INT_FUNCTORS(X)                                                                        \
  X(addi, 2) X(subi, 2) X(muli, 2) X(andi, 2) X(ori, 2) X(xori, 2) X(shli, 2) X(shrsi, 2) X(shrui, 2)         \
  X(maxsi, 2) X(maxui, 2) X(minsi, 2) X(minui, 2) X(absi, 1) X(mulhiui, 2) X(mulhisi, 2)                      \
  X(ctpop, 1) X(ctlz, 1) X(cttz, 1)
#define TRITON_RUNNER_DIV_FUNCTORS(X) \
  X(divsi, 2) X(divui, 2) X(remsi, 2) X(remui, 2) X(ceildivsi, 2) X(ceildivui, 2) X(floordivsi, 2) \
  X(remsi_paired, 2) X(remui_paired, 2)
#define TRITON_RUNNER_CMPI_FUNCTORS(X)                                                                       \
  X(cmpi_eq, 2) X(cmpi_ne, 2) X(cmpi_slt, 2) X(cmpi_sle, 2) X(cmpi_sgt, 2) X(cmpi_sge, 2) X(cmpi_ult, 2)      \
  X(cmpi_ule, 2) X(cmpi_ugt, 2) X(cmpi_uge, 2)
// floats; maxnumf, minnumf ignore a NaN operand, maximumf, minimumf propagate it; -0 < +0 in all four.
// clampf(x, min, max) with a NaN x gives min (none) or NaN (all): Triton's propagateNan.
#define TRITON_RUNNER_FLOAT_FUNCTORS(X)                                                                      \
  X(addf, 2) X(subf, 2) X(mulf, 2) X(divf, 2) X(remf, 2) X(negf, 1) X(absf, 1) X(fma, 3)                      \
  X(maxnumf, 2) X(minnumf, 2) X(maximumf, 2) X(minimumf, 2) X(clampf_none, 3) X(clampf_all, 3)                \
  X(copysign, 2) X(sqrt, 1) X(rsqrt, 1) X(floor, 1) X(ceil, 1) X(trunc, 1) X(round, 1) X(roundeven, 1)
#define TRITON_RUNNER_CMPF_FUNCTORS(X)                                                                       \
  X(cmpf_false, 2) X(cmpf_oeq, 2) X(cmpf_ogt, 2) X(cmpf_oge, 2) X(cmpf_olt, 2) X(cmpf_ole, 2) X(cmpf_one, 2)  \
  X(cmpf_ord, 2) X(cmpf_ueq, 2) X(cmpf_ugt, 2) X(cmpf_uge, 2) X(cmpf_ult, 2) X(cmpf_ule, 2) X(cmpf_une, 2)    \
  X(cmpf_uno, 2) X(cmpf_true, 2)                                                                             \
  X(isnan, 1) X(isinf, 1) X(isfinite, 1) X(signbit, 1) /* result i1 or i32 */
// casts, from the operand's type to the result's; index is i64. select takes every type.
#define TRITON_RUNNER_CAST_FUNCTORS(X)                                                                       \
  X(select, 3) X(extsi, 1) X(extui, 1) X(trunci, 1) X(index_cast, 1) X(index_castui, 1) X(bitcast, 1)         \
  X(sitofp, 1) X(uitofp, 1) X(fptosi, 1) X(fptoui, 1)                                                        \
  X(extf, 1) X(truncf, 1) X(fp_to_fp_rtne, 1) X(fp_to_fp_rtz, 1) /* between any two float types */
// math; errors and methods: doc/internals/numerics.md
#define TRITON_RUNNER_MATH_FUNCTORS(X)                                                                       \
  X(exp, 1) X(exp2, 1) X(exp10, 1) X(expm1, 1) X(log, 1) X(log2, 1) X(log10, 1) X(log1p, 1)                   \
  X(sin, 1) X(cos, 1) X(tan, 1) X(cbrt, 1) X(erf, 1) X(tanh, 1) X(asin, 1) X(acos, 1) X(atan, 1)              \
  X(sinh, 1) X(cosh, 1) X(asinh, 1) X(acosh, 1) X(atanh, 1) X(erfc, 1) X(lgamma, 1) X(tgamma, 1)              \
  X(j0, 1) X(j1, 1) X(y0, 1) X(y1, 1) X(atan2, 2) X(powf, 2) X(hypot, 2)

// libdevice's rarer functions, scalar code. ldexp's second operand is i32, ilogb's result too; the float2int
// ones round to nearest even, down and up.
#define TRITON_RUNNER_LIBDEVICE_FUNCTORS(X)                                                                       \
  X(rcp, 1) X(sinpi, 1) X(cospi, 1) X(rcbrt, 1) X(rhypot, 2) X(norm3d, 3) X(rnorm3d, 3) X(erfinv, 1)          \
  X(erfcinv, 1) X(erfcx, 1) X(normcdf, 1) X(normcdfinv, 1) X(cyl_bessel_i0, 1) X(cyl_bessel_i1, 1)            \
  X(nextafter, 2) X(remainder, 2) X(fdim, 2) X(saturate, 1) X(logb, 1) X(ldexp, 2) X(ilogb, 1)                \
  X(fptosi_rn, 1) X(fptosi_rd, 1) X(fptosi_ru, 1) X(fptoui_rn, 1) X(fptoui_rd, 1) X(fptoui_ru, 1)             \
  X(fptosi_round, 1) X(brev, 1) X(ffs, 1) X(byte_perm, 3) X(mul24, 2) X(umul24, 2) X(hadd, 2) X(rhadd, 2)     \
  X(uhadd, 2) X(urhadd, 2) X(sad, 3) X(usad, 3)

// The families of src/num/simd, as F(the name in find_FAMILY, the type of its functors, their list).
#define TRITON_RUNNER_FAMILIES(F)                                                                            \
  F(int, IntFunctor, TRITON_RUNNER_INT_FUNCTORS) F(division, DivisionFunctor, TRITON_RUNNER_DIV_FUNCTORS)     \
  F(cmpi, CmpiFunctor, TRITON_RUNNER_CMPI_FUNCTORS) F(float, FloatFunctor, TRITON_RUNNER_FLOAT_FUNCTORS)      \
  F(cmpf, CmpfFunctor, TRITON_RUNNER_CMPF_FUNCTORS) F(cast, CastFunctor, TRITON_RUNNER_CAST_FUNCTORS)         \
  F(math, MathFunctor, TRITON_RUNNER_MATH_FUNCTORS)

#define TRITON_RUNNER_ELEMENTWISE(X)                                                                         \
  TRITON_RUNNER_INT_FUNCTORS(X) TRITON_RUNNER_DIV_FUNCTORS(X) TRITON_RUNNER_CMPI_FUNCTORS(X)                  \
  TRITON_RUNNER_FLOAT_FUNCTORS(X) TRITON_RUNNER_CMPF_FUNCTORS(X) TRITON_RUNNER_CAST_FUNCTORS(X)               \
  TRITON_RUNNER_MATH_FUNCTORS(X) TRITON_RUNNER_LIBDEVICE_FUNCTORS(X)

// clang-format on
namespace triton_runner::num {

enum class Functor : uint16_t {
#define TRITON_RUNNER_ENUMERATE(name, arity) name,
  TRITON_RUNNER_ELEMENTWISE(TRITON_RUNNER_ENUMERATE)
#undef TRITON_RUNNER_ENUMERATE
};

// The functors of one family, with the numbers of Functor. A finder switches over those of its own without a
// default: the compiler tells which it leaves out.
#define TRITON_RUNNER_NUMBER(name, arity) name = static_cast<uint16_t>(Functor::name),
#define TRITON_RUNNER_FAMILY(family, Of, list) enum class Of : uint16_t { list(TRITON_RUNNER_NUMBER) };
TRITON_RUNNER_FAMILIES(TRITON_RUNNER_FAMILY)
TRITON_RUNNER_FAMILY(libdevice, LibdeviceFunctor, TRITON_RUNNER_LIBDEVICE_FUNCTORS)
#undef TRITON_RUNNER_FAMILY
#undef TRITON_RUNNER_NUMBER

}  // namespace triton_runner::num
