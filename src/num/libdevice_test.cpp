// Tests libdevice's rarer functions: inverses against what they invert, integers against small examples
// worked by hand.

#include "test_data.h"

using namespace triton_runner::num;
using namespace triton_runner::num::testing;

namespace {

double call(const char* symbol, double x, double y = 0, double z = 0) {
  const Elementwise* functor = find_extern(symbol);
  CHECK(functor != nullptr);
  if (functor == nullptr) return NAN;
  double out;
  const void* in[] = {&x, &y, &z};
  functor->kernel(Type::kF64, Type::kF64).run(&out, in, 0, 1);
  return out;
}

uint32_t call_int(const char* symbol, uint32_t x, uint32_t y = 0, uint32_t z = 0) {
  uint32_t out;
  const void* in[] = {&x, &y, &z};
  find_extern(symbol)->kernel(Type::kI32, Type::kI32).run(&out, in, 0, 1);
  return out;
}

bool close(double a, double b, double relative) { return std::fabs(a - b) <= relative * std::fabs(b); }

}  // namespace

TEST(libdevice_inverses) {
  for (double y : {1e-9, 0.01, 0.3, 0.7, 1.0, 2.0, 3.5, 5.0}) {
    CHECK(close(call("__nv_erfinv", std::erf(y)), y, y < 2 ? 1e-14 : 1e-15 / std::erfc(y)));
    CHECK(close(call("__nv_erfcinv", std::erfc(y)), y, 1e-14 + (y < 1e-3 ? 1e-7 : 0)));
    CHECK(close(call("__nv_normcdfinv", call("__nv_normcdf", -y)), -y, 1e-13 + (y < 1e-3 ? 1e-7 : 0)));
    CHECK_EQ(call("__nv_erfinv", -std::erf(y)), -call("__nv_erfinv", std::erf(y)));
  }
  CHECK(close(call("__nv_erfcinv", 1e-300), 26.209469960516326, 1e-14));
  CHECK(std::isinf(call("__nv_erfinv", 1)) && std::isnan(call("__nv_erfinv", 1.5)) &&
        std::isinf(call("__nv_erfcinv", 0)));
}

// Arguments for which the obvious formulas lose digits; values of mpmath, within 4 ulp.
TEST(libdevice_hard_arguments) {
  CHECK(close(call("__nv_erfcx", 25.0625), 0.02249342836662447075729, 9e-16));
  CHECK(close(call("__nv_erfcx", 20.125), 0.02799978354412748394835, 9e-16));
  CHECK(close(call("__nv_normcdf", -5.703125), 5.881532704650320615603e-9, 9e-16));
  CHECK(close(call("__nv_erfcinv", 1.001953125), -0.001730913692415065473595, 9e-16));
  CHECK(close(call("__nv_cyl_bessel_i0", -3.46875), 7.18698215261704718412, 3e-16));
  CHECK(close(call("__nv_cyl_bessel_i1", 5.28125), 31.5298095157879244506, 3e-16));
}

TEST(libdevice_special_values) {
  CHECK_EQ(call("__nv_sinpi", 1.0), 0.0);
  CHECK_EQ(call("__nv_sinpi", 0.5), 1.0);
  CHECK_EQ(call("__nv_sinpi", 2.5 + 1e6), 1.0);
  CHECK_EQ(call("__nv_cospi", 0.5), 0.0);
  CHECK_EQ(call("__nv_cospi", 1.0), -1.0);
  CHECK(close(call("__nv_sinpi", 0.3), 0.80901699437494742410, 3e-16));
  CHECK(close(call("__nv_cyl_bessel_i0", 2.0), 2.2795853023360672674, 1e-14));
  CHECK(close(call("__nv_cyl_bessel_i1", -2.0), -1.5906368546373290634, 1e-14));
  CHECK(close(call("__nv_erfcx", 3.0), 0.17900115118138998, 1e-14));
  CHECK(close(call("__nv_erfcx", 1e3), 5.6418930145338765e-4, 1e-14));
  CHECK(close(call("__nv_norm3d", 2, 3, 6), 7.0, 1e-15));
  CHECK_EQ(call("__nv_saturatef", -3.0), 0.0);
  CHECK_EQ(call("__nv_saturatef", NAN), 0.0);
  CHECK_EQ(call("__nv_remainder", 5.0, 3.0), -1.0);
  CHECK(close(call("__nv_j0", 1.0), 0.76519768655796655145, 1e-15));
}

TEST(libdevice_mixed_types) {
  float x[3] = {2.5f, -3.5f, 1e20f}, scaled[3];
  int32_t exponent[3] = {3, -1, 0}, logs[3], near[3], down[3];
  const void *pair[] = {x, exponent}, *one[] = {x};
  find_extern("__nv_ldexpf")->kernel(Type::kF32, Type::kF32).run(scaled, pair, 0, 3);
  CHECK(scaled[0] == 20.0f && scaled[1] == -1.75f && scaled[2] == 1e20f);
  find_extern("__nv_ilogbf")->kernel(Type::kF32, Type::kI32).run(logs, one, 0, 3);
  CHECK(logs[0] == 1 && logs[1] == 1 && logs[2] == 66);
  find_extern("__nv_float2int_rn")->kernel(Type::kF32, Type::kI32).run(near, one, 0, 3);
  find_extern("__nv_float2int_rd")->kernel(Type::kF32, Type::kI32).run(down, one, 0, 3);
  CHECK(near[0] == 2 && near[1] == -4 && near[2] == 2147483647);
  CHECK(down[0] == 2 && down[1] == -4);
  uint64_t wide = uint64_t{1} << 40;
  int32_t count = 0;
  const void* in[] = {&wide};
  find_extern("__nv_ffsll")->kernel(Type::kI64, Type::kI32).run(&count, in, 0, 1);
  CHECK_EQ(count, 41);
  find_extern("__nv_clzll")->kernel(Type::kI64, Type::kI32).run(&count, in, 0, 1);
  CHECK_EQ(count, 23);
}

TEST(libdevice_integers) {
  CHECK_EQ(call_int("__nv_brev", 1), 0x80000000u);
  CHECK_EQ(call_int("__nv_ffs", 0), 0u);
  CHECK_EQ(call_int("__nv_byte_perm", 0x33221100, 0x77665544, 0x7531), 0x77553311u);
  CHECK_EQ(call_int("__nv_byte_perm", 0x00000080, 0, 0x8),
           0x808080ffu);  // the first byte replicates the sign
  CHECK_EQ(call_int("__nv_mul24", 0xffffff, 3), static_cast<uint32_t>(-3));
  CHECK_EQ(call_int("__nv_hadd", static_cast<uint32_t>(-3), 0), static_cast<uint32_t>(-2));
  CHECK_EQ(call_int("__nv_urhadd", 0xffffffff, 0xffffffff), 0xffffffffu);
  CHECK_EQ(call_int("__nv_sad", static_cast<uint32_t>(-5), 5, 7), 17u);
}

TEST(libdevice_every_symbol_has_a_kernel) {
  for (std::string_view symbol : extern_symbols()) {
    const Elementwise* functor = find_extern(symbol);
    CHECK(functor != nullptr);
    bool any = false;
    for (int in = 0; in < kTypeCount; ++in)
      for (int out = 0; out < kTypeCount; ++out)
        any |= static_cast<bool>(functor->kernel(static_cast<Type>(in), static_cast<Type>(out)));
    if (!any) triton_runner::unit::record_failure(__FILE__, __LINE__, std::string(symbol));
  }
}
