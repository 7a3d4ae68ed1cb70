// Finds the functor of a symbol of tt.extern_elementwise: CUDA's libdevice (__nv_sinf, __nv_sin) and AMD's
// OCML (__ocml_sin_f32). One row a function; the type suffix of the symbol is not checked, because the op's
// types decide. Functions that run one element at a time are in scalar.cpp.
#include <algorithm>
#include <array>
#include <vector>

#include <triton_runner/num/elementwise.h>

namespace triton_runner::num {
namespace {

struct Row {
  std::string_view symbol;
  const Elementwise* functor;
};

#define NV(name, functor) {"__nv_" #name, &elementwise_##functor}
#define OCML(name, functor) {"__ocml_" #name, &elementwise_##functor}
#define HIP(name, functor) {"__triton_hip_" #name, &elementwise_##functor}
// A float function under its libdevice names for f32 and f64, and OCML's three.
#define REAL(name, functor)                                                                      \
  NV(name##f, functor), NV(name, functor), OCML(name##_f16, functor), OCML(name##_f32, functor), \
      OCML(name##_f64, functor)
// A classification: the op's result is i32 (i1 in some releases).
#define CLASS(f32, f64, name) NV(f32, name), NV(f64, name), OCML(name##_f32, name), OCML(name##_f64, name)
// Conversions, with the rounding in the name.
#define TO_INT(name, functor)                                                       \
  NV(name##_rz, functor), NV(name##_rn, functor##_rn), NV(name##_rd, functor##_rd), \
      NV(name##_ru, functor##_ru)
#define OF_INT(name, functor) NV(name##2float_rn, functor), NV(name##2double_rn, functor)

// clang-format off
constexpr Row kRows[] = {
    REAL(fabs, absf), REAL(floor, floor), REAL(ceil, ceil), REAL(trunc, trunc), REAL(rint, roundeven),
    REAL(nearbyint, roundeven), REAL(round, round), REAL(sqrt, sqrt), REAL(rsqrt, rsqrt), REAL(cbrt, cbrt),
    REAL(exp, exp), REAL(exp2, exp2), REAL(exp10, exp10), REAL(expm1, expm1), REAL(log, log),
    REAL(log2, log2), REAL(log10, log10), REAL(log1p, log1p), REAL(sin, sin), REAL(cos, cos), REAL(tan, tan),
    REAL(asin, asin), REAL(acos, acos), REAL(atan, atan), REAL(atan2, atan2), REAL(sinh, sinh),
    REAL(cosh, cosh), REAL(tanh, tanh), REAL(asinh, asinh), REAL(acosh, acosh), REAL(atanh, atanh),
    REAL(erf, erf), REAL(erfc, erfc), REAL(lgamma, lgamma), REAL(tgamma, tgamma), REAL(j0, j0), REAL(j1, j1),
    REAL(y0, y0), REAL(y1, y1), REAL(pow, powf), REAL(hypot, hypot), REAL(fmod, remf),
    REAL(copysign, copysign), REAL(fmax, maxnumf), REAL(fmin, minnumf), REAL(fma, fma), REAL(sinpi, sinpi),
    REAL(cospi, cospi), REAL(rcbrt, rcbrt), REAL(rhypot, rhypot), REAL(norm3d, norm3d),
    REAL(rnorm3d, rnorm3d), REAL(erfinv, erfinv), REAL(erfcinv, erfcinv), REAL(erfcx, erfcx),
    REAL(normcdf, normcdf), REAL(normcdfinv, normcdfinv), REAL(cyl_bessel_i0, cyl_bessel_i0),
    REAL(cyl_bessel_i1, cyl_bessel_i1), REAL(nextafter, nextafter), REAL(remainder, remainder),
    REAL(fdim, fdim), REAL(logb, logb), REAL(ldexp, ldexp), REAL(scalbn, ldexp), REAL(ilogb, ilogb),
    REAL(llrint, fptosi_rn), REAL(llround, fptosi_round), NV(saturatef, saturate), NV(frcp_rn, rcp),
    NV(drcp_rn, rcp),
    // The approximate intrinsics: we give the accurate result.
    NV(fast_expf, exp), NV(fast_exp10f, exp10), NV(fast_logf, log), NV(fast_log2f, log2),
    NV(fast_log10f, log10), NV(fast_sinf, sin), NV(fast_cosf, cos), NV(fast_tanf, tan), NV(fast_tanhf, tanh),
    NV(fast_powf, powf), NV(fast_fdividef, divf),
    OCML(i0_f32, cyl_bessel_i0), OCML(i0_f64, cyl_bessel_i0), OCML(i1_f32, cyl_bessel_i1),
    OCML(i1_f64, cyl_bessel_i1), OCML(ncdf_f32, normcdf), OCML(ncdf_f64, normcdf), OCML(ncdfinv_f32, normcdfinv),
    OCML(ncdfinv_f64, normcdfinv),
    // Triton's own for AMD.
    HIP(iabs, absi), HIP(fabs, absf), HIP(rint, roundeven), HIP(llrint, fptosi_rn), HIP(fast_expf, exp),
    HIP(fast_tanhf, tanh), HIP(fast_fdividef, divf),
    // Round to nearest even by name.
    NV(fadd_rn, addf), NV(dadd_rn, addf), NV(fsub_rn, subf), NV(fmul_rn, mulf), NV(dmul_rn, mulf),
    NV(fdiv_rn, divf), NV(ddiv_rn, divf), NV(fsqrt_rn, sqrt), NV(dsqrt_rn, sqrt), NV(fmaf_rn, fma),
    NV(fma_rn, fma), NV(frsqrt_rn, rsqrt), CLASS(isnanf, isnand, isnan), CLASS(isinff, isinfd, isinf),
    CLASS(finitef, isfinited, isfinite), CLASS(signbitf, signbitd, signbit),
    // Integers.
    NV(abs, absi), NV(llabs, absi), NV(min, minsi), NV(max, maxsi), NV(umin, minui), NV(umax, maxui),
    NV(llmin, minsi), NV(llmax, maxsi), NV(ullmin, minui), NV(ullmax, maxui), NV(mulhi, mulhisi),
    NV(umulhi, mulhiui), NV(mul64hi, mulhisi), NV(umul64hi, mulhiui), NV(popc, ctpop), NV(popcll, ctpop),
    NV(clz, ctlz), NV(clzll, ctlz), NV(brev, brev), NV(brevll, brev), NV(ffs, ffs), NV(ffsll, ffs),
    NV(byte_perm, byte_perm), NV(mul24, mul24), NV(umul24, umul24), NV(hadd, hadd), NV(rhadd, rhadd),
    NV(uhadd, uhadd), NV(urhadd, urhadd), NV(sad, sad), NV(usad, usad), TO_INT(float2int, fptosi),
    TO_INT(float2uint, fptoui), TO_INT(float2ll, fptosi), TO_INT(float2ull, fptoui),
    TO_INT(double2int, fptosi), TO_INT(double2uint, fptoui), TO_INT(double2ll, fptosi),
    TO_INT(double2ull, fptoui), OF_INT(int, sitofp), OF_INT(uint, uitofp), OF_INT(ll, sitofp),
    OF_INT(ull, uitofp), NV(double2float_rn, truncf), NV(double2float_rz, fp_to_fp_rtz),
    NV(float_as_int, bitcast), NV(int_as_float, bitcast), NV(float_as_uint, bitcast),
    NV(uint_as_float, bitcast), NV(double_as_longlong, bitcast), NV(longlong_as_double, bitcast),
};
// clang-format on

constexpr size_t kCount = std::size(kRows);

}  // namespace

const Elementwise* find_extern(std::string_view symbol) {
  static const std::vector<Row> sorted = [] {
    std::vector<Row> rows(kRows, kRows + kCount);
    std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.symbol < b.symbol; });
    return rows;
  }();
  auto at = std::lower_bound(sorted.begin(), sorted.end(), symbol,
                             [](const Row& a, std::string_view b) { return a.symbol < b; });
  return at != sorted.end() && at->symbol == symbol ? at->functor : nullptr;
}

std::span<const std::string_view> extern_symbols() {
  static const std::array<std::string_view, kCount> symbols = [] {
    std::array<std::string_view, kCount> list;
    for (size_t i = 0; i < kCount; ++i) list[i] = kRows[i].symbol;
    return list;
  }();
  return symbols;
}

}  // namespace triton_runner::num
