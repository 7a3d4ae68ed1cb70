// The functors behind the symbols of tt.extern_elementwise: CUDA's libdevice
// (__nv_sinf, __nv_sin) and AMD's OCML (__ocml_sin_f32). One row a function;
// the symbol's type suffix is checked against nothing: the op's types decide.
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

// A float function under its libdevice names for f32 and f64, and OCML's three.
#define FLOAT_ROWS(name, functor)                                                                           \
  {"__nv_" #name "f", &elementwise_##functor}, {"__nv_" #name, &elementwise_##functor},                     \
      {"__ocml_" #name "_f16", &elementwise_##functor}, {"__ocml_" #name "_f32", &elementwise_##functor}, { \
    "__ocml_" #name "_f64", &elementwise_##functor                                                          \
  }

// clang-format off
constexpr Row kRows[] = {
    FLOAT_ROWS(fabs, absf), FLOAT_ROWS(floor, floor), FLOAT_ROWS(ceil, ceil), FLOAT_ROWS(trunc, trunc),
    FLOAT_ROWS(rint, roundeven), FLOAT_ROWS(nearbyint, roundeven), FLOAT_ROWS(round, round),
    FLOAT_ROWS(sqrt, sqrt), FLOAT_ROWS(rsqrt, rsqrt), FLOAT_ROWS(cbrt, cbrt),
    FLOAT_ROWS(exp, exp), FLOAT_ROWS(exp2, exp2), FLOAT_ROWS(exp10, exp10), FLOAT_ROWS(expm1, expm1),
    FLOAT_ROWS(log, log), FLOAT_ROWS(log2, log2), FLOAT_ROWS(log10, log10), FLOAT_ROWS(log1p, log1p),
    FLOAT_ROWS(sin, sin), FLOAT_ROWS(cos, cos), FLOAT_ROWS(tan, tan),
    FLOAT_ROWS(asin, asin), FLOAT_ROWS(acos, acos), FLOAT_ROWS(atan, atan), FLOAT_ROWS(atan2, atan2),
    FLOAT_ROWS(sinh, sinh), FLOAT_ROWS(cosh, cosh), FLOAT_ROWS(tanh, tanh),
    FLOAT_ROWS(asinh, asinh), FLOAT_ROWS(acosh, acosh), FLOAT_ROWS(atanh, atanh),
    FLOAT_ROWS(erf, erf), FLOAT_ROWS(erfc, erfc), FLOAT_ROWS(lgamma, lgamma), FLOAT_ROWS(tgamma, tgamma),
    FLOAT_ROWS(j0, j0), FLOAT_ROWS(j1, j1), FLOAT_ROWS(y0, y0), FLOAT_ROWS(y1, y1),
    FLOAT_ROWS(pow, powf), FLOAT_ROWS(hypot, hypot), FLOAT_ROWS(fmod, remf), FLOAT_ROWS(copysign, copysign),
    FLOAT_ROWS(fmax, maxnumf), FLOAT_ROWS(fmin, minnumf), FLOAT_ROWS(fma, fma),
    FLOAT_ROWS(sinpi, sinpi), FLOAT_ROWS(cospi, cospi), FLOAT_ROWS(rcbrt, rcbrt), FLOAT_ROWS(rhypot, rhypot),
    FLOAT_ROWS(norm3d, norm3d), FLOAT_ROWS(rnorm3d, rnorm3d), FLOAT_ROWS(erfinv, erfinv), FLOAT_ROWS(erfcinv, erfcinv),
    FLOAT_ROWS(erfcx, erfcx), FLOAT_ROWS(normcdf, normcdf), FLOAT_ROWS(normcdfinv, normcdfinv),
    FLOAT_ROWS(cyl_bessel_i0, cyl_bessel_i0), FLOAT_ROWS(cyl_bessel_i1, cyl_bessel_i1),
    FLOAT_ROWS(nextafter, nextafter), FLOAT_ROWS(remainder, remainder), FLOAT_ROWS(fdim, fdim), FLOAT_ROWS(logb, logb),
    FLOAT_ROWS(ldexp, ldexp), FLOAT_ROWS(scalbn, ldexp), FLOAT_ROWS(ilogb, ilogb),
    FLOAT_ROWS(llrint, fptosi_rn), FLOAT_ROWS(llround, fptosi_round),
    {"__nv_saturatef", &elementwise_saturate}, {"__nv_frcp_rn", &elementwise_rcp}, {"__nv_drcp_rn", &elementwise_rcp},
    // The approximate intrinsics: we give the accurate result.
    {"__nv_fast_expf", &elementwise_exp}, {"__nv_fast_exp10f", &elementwise_exp10}, {"__nv_fast_logf", &elementwise_log},
    {"__nv_fast_log2f", &elementwise_log2}, {"__nv_fast_log10f", &elementwise_log10}, {"__nv_fast_sinf", &elementwise_sin},
    {"__nv_fast_cosf", &elementwise_cos}, {"__nv_fast_tanf", &elementwise_tan}, {"__nv_fast_tanhf", &elementwise_tanh},
    {"__nv_fast_powf", &elementwise_powf}, {"__nv_fast_fdividef", &elementwise_divf},
    // Round to nearest even by name.
    {"__nv_fadd_rn", &elementwise_addf}, {"__nv_dadd_rn", &elementwise_addf}, {"__nv_fsub_rn", &elementwise_subf},
    {"__nv_fmul_rn", &elementwise_mulf}, {"__nv_dmul_rn", &elementwise_mulf}, {"__nv_fdiv_rn", &elementwise_divf},
    {"__nv_ddiv_rn", &elementwise_divf}, {"__nv_fsqrt_rn", &elementwise_sqrt}, {"__nv_dsqrt_rn", &elementwise_sqrt},
    {"__nv_fmaf_rn", &elementwise_fma}, {"__nv_fma_rn", &elementwise_fma}, {"__nv_frsqrt_rn", &elementwise_rsqrt},
    // Classification: the op's result is i32 (i1 in some releases).
    {"__nv_isnanf", &elementwise_isnan}, {"__nv_isnand", &elementwise_isnan}, {"__nv_isinff", &elementwise_isinf},
    {"__nv_isinfd", &elementwise_isinf}, {"__nv_finitef", &elementwise_isfinite}, {"__nv_isfinited", &elementwise_isfinite},
    {"__nv_signbitf", &elementwise_signbit}, {"__nv_signbitd", &elementwise_signbit},
    {"__ocml_isnan_f32", &elementwise_isnan}, {"__ocml_isnan_f64", &elementwise_isnan},
    {"__ocml_isinf_f32", &elementwise_isinf}, {"__ocml_isinf_f64", &elementwise_isinf},
    {"__ocml_isfinite_f32", &elementwise_isfinite}, {"__ocml_isfinite_f64", &elementwise_isfinite},
    {"__ocml_signbit_f32", &elementwise_signbit}, {"__ocml_signbit_f64", &elementwise_signbit},
    // Integers.
    {"__nv_abs", &elementwise_absi}, {"__nv_llabs", &elementwise_absi},
    {"__nv_min", &elementwise_minsi}, {"__nv_max", &elementwise_maxsi}, {"__nv_umin", &elementwise_minui},
    {"__nv_umax", &elementwise_maxui}, {"__nv_llmin", &elementwise_minsi}, {"__nv_llmax", &elementwise_maxsi},
    {"__nv_ullmin", &elementwise_minui}, {"__nv_ullmax", &elementwise_maxui},
    {"__nv_mulhi", &elementwise_mulhisi}, {"__nv_umulhi", &elementwise_mulhiui}, {"__nv_mul64hi", &elementwise_mulhisi},
    {"__nv_umul64hi", &elementwise_mulhiui}, {"__nv_popc", &elementwise_ctpop}, {"__nv_popcll", &elementwise_ctpop},
    {"__nv_clz", &elementwise_ctlz}, {"__nv_clzll", &elementwise_ctlz},
    // Conversions, with the rounding in the name.
    {"__nv_float2int_rz", &elementwise_fptosi}, {"__nv_float2uint_rz", &elementwise_fptoui},
    {"__nv_float2ll_rz", &elementwise_fptosi}, {"__nv_float2ull_rz", &elementwise_fptoui},
    {"__nv_double2int_rz", &elementwise_fptosi}, {"__nv_double2uint_rz", &elementwise_fptoui},
    {"__nv_double2ll_rz", &elementwise_fptosi}, {"__nv_double2ull_rz", &elementwise_fptoui},
    {"__nv_int2float_rn", &elementwise_sitofp}, {"__nv_uint2float_rn", &elementwise_uitofp},
    {"__nv_ll2float_rn", &elementwise_sitofp}, {"__nv_ull2float_rn", &elementwise_uitofp},
    {"__nv_int2double_rn", &elementwise_sitofp}, {"__nv_uint2double_rn", &elementwise_uitofp},
    {"__nv_ll2double_rn", &elementwise_sitofp}, {"__nv_ull2double_rn", &elementwise_uitofp},
    {"__nv_double2float_rn", &elementwise_truncf}, {"__nv_double2float_rz", &elementwise_fp_to_fp_rtz},
    {"__nv_float2int_rn", &elementwise_fptosi_rn}, {"__nv_float2int_rd", &elementwise_fptosi_rd}, {"__nv_float2int_ru", &elementwise_fptosi_ru},
    {"__nv_float2uint_rn", &elementwise_fptoui_rn}, {"__nv_float2uint_rd", &elementwise_fptoui_rd}, {"__nv_float2uint_ru", &elementwise_fptoui_ru},
    {"__nv_float2ll_rn", &elementwise_fptosi_rn}, {"__nv_float2ll_rd", &elementwise_fptosi_rd}, {"__nv_float2ll_ru", &elementwise_fptosi_ru},
    {"__nv_float2ull_rn", &elementwise_fptoui_rn}, {"__nv_float2ull_rd", &elementwise_fptoui_rd}, {"__nv_float2ull_ru", &elementwise_fptoui_ru},
    {"__nv_double2int_rn", &elementwise_fptosi_rn}, {"__nv_double2int_rd", &elementwise_fptosi_rd}, {"__nv_double2int_ru", &elementwise_fptosi_ru},
    {"__nv_double2uint_rn", &elementwise_fptoui_rn}, {"__nv_double2uint_rd", &elementwise_fptoui_rd}, {"__nv_double2uint_ru", &elementwise_fptoui_ru},
    {"__nv_double2ll_rn", &elementwise_fptosi_rn}, {"__nv_double2ll_rd", &elementwise_fptosi_rd}, {"__nv_double2ll_ru", &elementwise_fptosi_ru},
    {"__nv_double2ull_rn", &elementwise_fptoui_rn}, {"__nv_double2ull_rd", &elementwise_fptoui_rd}, {"__nv_double2ull_ru", &elementwise_fptoui_ru},
    {"__nv_brev", &elementwise_brev}, {"__nv_brevll", &elementwise_brev}, {"__nv_ffs", &elementwise_ffs},
    {"__nv_ffsll", &elementwise_ffs}, {"__nv_byte_perm", &elementwise_byte_perm}, {"__nv_mul24", &elementwise_mul24},
    {"__nv_umul24", &elementwise_umul24}, {"__nv_hadd", &elementwise_hadd}, {"__nv_rhadd", &elementwise_rhadd},
    {"__nv_uhadd", &elementwise_uhadd}, {"__nv_urhadd", &elementwise_urhadd}, {"__nv_sad", &elementwise_sad},
    {"__nv_usad", &elementwise_usad},
    {"__nv_float_as_int", &elementwise_bitcast}, {"__nv_int_as_float", &elementwise_bitcast},
    {"__nv_float_as_uint", &elementwise_bitcast}, {"__nv_uint_as_float", &elementwise_bitcast},
    {"__nv_double_as_longlong", &elementwise_bitcast}, {"__nv_longlong_as_double", &elementwise_bitcast},
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
