// Tests functions that run one element at a time: directed rounding against the hardware under that rounding
// mode, the others against values of mpmath.
#include <triton_runner/num/scalar.h>

#include <bit>
#include <cfenv>
#include <cmath>

#include "test_data.h"

using namespace triton_runner::num;
using namespace triton_runner::num::testing;

namespace {

uint64_t call(const char* symbol, std::initializer_list<uint64_t> in, std::initializer_list<Type> types,
              Type out) {
  const ScalarFunction* f = find_scalar_function(symbol);
  CHECK(f != nullptr);
  if (!f) return 0;
  CHECK(f->accepts(types, out));
  CHECK_EQ(static_cast<size_t>(f->arity), in.size());
  return f->call(in.begin(), types.begin(), out);
}

// Bits of random finite numbers whose exponents are mostly close, so that sums cancel and round.
template <class T, class Bits>
T random_number(std::mt19937_64& random) {
  Bits bits = static_cast<Bits>(random());
  constexpr int kMantissa = std::numeric_limits<T>::digits - 1, kWidth = sizeof(T) * 8;
  if (random() % 4 != 0) {  // an exponent near 1
    constexpr Bits kMask = ((Bits{1} << (kWidth - 1 - kMantissa)) - 1) << kMantissa;
    const Bits exponent =
        static_cast<Bits>(std::numeric_limits<T>::max_exponent - 1 + static_cast<int>(random() % 40) - 20);
    bits = (bits & ~kMask) | exponent << kMantissa;
  }
  if (random() % 8 == 0) bits &= ~((Bits{1} << (kMantissa / 2)) - 1);
  return std::bit_cast<T>(bits);
}

template <class T>
T hardware(int mode, int op, T x, T y, T z) {
  volatile T a = x, b = y, c = z;
  std::fesetround(mode);
  volatile T r = op == 0   ? a + b
                 : op == 1 ? a - b
                 : op == 2 ? a * b
                 : op == 3 ? a / b
                 : op == 4 ? std::sqrt(a)
                 : op == 5 ? 1 / a
                           : std::fma(a, b, c);
  std::fesetround(FE_TONEAREST);
  return r;
}

template <class T, class Bits>
void check_arithmetic(const char* prefix, const char* fma_name, Type type) {
  const char* names[] = {"add", "sub", "mul", "div", "sqrt", "rcp", ""};
  const int arity[] = {2, 2, 2, 2, 1, 1, 3};
  struct Mode {
    const char* suffix;
    int mode;
  };
  std::mt19937_64 random(7);
  for (Mode mode : {Mode{"_rd", FE_DOWNWARD}, Mode{"_ru", FE_UPWARD}, Mode{"_rz", FE_TOWARDZERO}}) {
    for (int op = 0; op < 7; ++op) {
      const std::string symbol =
          op == 6 ? std::string(fma_name) + mode.suffix : std::string(prefix) + names[op] + mode.suffix;
      const ScalarFunction* f = find_scalar_function(symbol);
      CHECK(f != nullptr);
      if (!f) continue;
      CHECK_EQ(static_cast<int>(f->arity), arity[op]);
      const T special[] = {0,
                           -T{0},
                           1,
                           -1,
                           std::numeric_limits<T>::max(),
                           -std::numeric_limits<T>::max(),
                           std::numeric_limits<T>::denorm_min(),
                           -std::numeric_limits<T>::denorm_min(),
                           std::numeric_limits<T>::infinity(),
                           -std::numeric_limits<T>::infinity(),
                           std::numeric_limits<T>::quiet_NaN(),
                           std::numeric_limits<T>::min()};
      int bad = 0;
      for (int i = 0; i < 20000; ++i) {
        T a = random_number<T, Bits>(random), b = random_number<T, Bits>(random),
          c = random_number<T, Bits>(random);
        if (i < 12 * 12 * 12) a = special[i % 12], b = special[i / 12 % 12], c = special[i / 144];
        if (i % 16 == 15) c = -a * b;  // what is left is the rounding error
        const uint64_t in[] = {std::bit_cast<Bits>(a), std::bit_cast<Bits>(b), std::bit_cast<Bits>(c)};
        const Type types[] = {type, type, type};
        const T got = std::bit_cast<T>(static_cast<Bits>(f->call(in, types, type))),
                want = hardware<T>(mode.mode, op, a, b, c);
        if (std::isnan(want) ? !std::isnan(got) : std::bit_cast<Bits>(got) != std::bit_cast<Bits>(want)) {
          if (bad++ < 3)
            std::printf("%s(%a, %a, %a) = %a, hardware %a\n", symbol.c_str(), static_cast<double>(a),
                        static_cast<double>(b), static_cast<double>(c), static_cast<double>(got),
                        static_cast<double>(want));
        }
      }
      CHECK_EQ(bad, 0);
    }
  }
}

}  // namespace

TEST(scalar_directed_f32) { check_arithmetic<float, uint32_t>("__nv_f", "__nv_fmaf", Type::kF32); }
TEST(scalar_directed_f64) { check_arithmetic<double, uint64_t>("__nv_d", "__nv_fma", Type::kF64); }

TEST(scalar_directed_conversions) {
  std::mt19937_64 random(11);
  for (int i = 0; i < 20000; ++i) {
    const uint64_t bits = random() >> (random() % 64);
    auto narrow = static_cast<uint32_t>(bits);
    for (auto [suffix, mode] : {std::pair{"_rd", FE_DOWNWARD}, {"_ru", FE_UPWARD}, {"_rz", FE_TOWARDZERO}}) {
      const std::string s = suffix;
      std::fesetround(mode);
      volatile int64_t ll = static_cast<int64_t>(bits);
      volatile uint64_t ull = bits;
      volatile int32_t l = static_cast<int32_t>(narrow);
      volatile uint32_t ul = narrow;
      volatile double d = std::bit_cast<double>(random());
      volatile float wants[] = {static_cast<float>(ll), static_cast<float>(ull), static_cast<float>(l),
                                static_cast<float>(ul), static_cast<float>(d)};
      volatile double wide[] = {static_cast<double>(ll), static_cast<double>(ull)};
      std::fesetround(FE_TONEAREST);
      auto f32 = [](uint64_t x) { return std::bit_cast<float>(static_cast<uint32_t>(x)); };
      CHECK_EQ(f32(call(("__nv_ll2float" + s).c_str(), {bits}, {Type::kI64}, Type::kF32)), +wants[0]);
      CHECK_EQ(f32(call(("__nv_ull2float" + s).c_str(), {bits}, {Type::kI64}, Type::kF32)), +wants[1]);
      CHECK_EQ(f32(call(("__nv_int2float" + s).c_str(), {narrow}, {Type::kI32}, Type::kF32)), +wants[2]);
      CHECK_EQ(f32(call(("__nv_uint2float" + s).c_str(), {narrow}, {Type::kI32}, Type::kF32)), +wants[3]);
      CHECK_EQ(std::bit_cast<double>(call(("__nv_ll2double" + s).c_str(), {bits}, {Type::kI64}, Type::kF64)),
               wide[0]);
      CHECK_EQ(std::bit_cast<double>(call(("__nv_ull2double" + s).c_str(), {bits}, {Type::kI64}, Type::kF64)),
               wide[1]);
      if (s != "_rz" && !std::isnan(+wants[4])) {
        const double x = d;
        CHECK_EQ(f32(call(("__nv_double2float" + s).c_str(), {std::bit_cast<uint64_t>(x)}, {Type::kF64},
                          Type::kF32)),
                 wants[4]);
      }
    }
  }
}

TEST(scalar_formulas) {
  auto f64 = [](double x) { return std::bit_cast<uint64_t>(x); };
  auto value = [](uint64_t x) { return std::bit_cast<double>(x); };
  auto close = [](double a, double b) { return std::fabs(a - b) <= 4e-16 * std::fabs(b); };
  constexpr Type kD = Type::kF64, kI = Type::kI32;
  // besselj(3, 2.5), bessely(2, 1.5) of mpmath
  CHECK(close(value(call("__nv_jn", {3, f64(2.5)}, {kI, kD}, kD)), 0.21660039103911352477));
  CHECK(close(value(call("__nv_yn", {2, f64(1.5)}, {kI, kD}, kD)), -0.93219375976297390523));
  // besselj(8, 12.2109375), bessely(6, 11.8046875): near zeros
  CHECK(close(value(call("__nv_jn", {8, f64(12.2109375)}, {kI, kD}, kD)), 0.002824601327836400773762));
  CHECK(close(value(call("__nv_yn", {6, f64(11.8046875)}, {kI, kD}, kD)), 0.001371328069697992864195));
  CHECK_EQ(value(call("__nv_powi", {f64(-3), 5}, {kD, kI}, kD)), -243.0);
  CHECK_EQ(value(call("__nv_powi", {f64(2), 0xffffffff}, {kD, kI}, kD)), 0.5);
  CHECK_EQ(
      value(call("__nv_norm4d", {f64(1e300), f64(1e300), f64(1e300), f64(-1e300)}, {kD, kD, kD, kD}, kD)),
      2e300);
  CHECK_EQ(value(call("__nv_rnorm4d", {f64(2), f64(4), f64(5), f64(6)}, {kD, kD, kD, kD}, kD)), 1.0 / 9);
  CHECK_EQ(value(call("__nv_norm4d", {f64(NAN), f64(-INFINITY), f64(5), f64(6)}, {kD, kD, kD, kD}, kD)),
           INFINITY);
  CHECK_EQ(call("__nv_double2hiint", {0x123456789abcdef0}, {kD}, kI), 0x12345678u);
  CHECK_EQ(call("__nv_double2loint", {0x123456789abcdef0}, {kD}, kI), 0x9abcdef0u);
  CHECK_EQ(call("__nv_hiloint2double", {0x12345678, 0x9abcdef0}, {kI, kI}, kD), 0x123456789abcdef0u);
  CHECK_EQ(call("__nv_rcp64h", {f64(4)}, {kD}, kD), f64(0.25));
  CHECK_EQ(call("__nv_rcp64h", {f64(-1e-310)}, {kD}, kD), f64(-INFINITY));
  CHECK_EQ(call("__nv_rcp64h", {f64(3)}, {kD}, kD), 0x3fd5555500000000u);
  int64_t out = 0;
  CHECK(int_power(-3, 3, &out) && out == -27);
  CHECK(int_power(-1, -5, &out) && out == -1);
  CHECK(int_power(2, -1, &out) && out == 0);
  CHECK(!int_power(0, -1, &out));
}
