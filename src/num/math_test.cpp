// Tests the math functions: the same bits on every instruction set, and their errors in ulp against long
// double below the bounds that doc/internals/numerics.md states. `NUM_PRINT_ERRORS=1 num_test math` prints
// them.
#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>

#include "test_data.h"

using namespace triton_runner::num;
using namespace triton_runner::num::testing;

namespace {

struct Row {
  const char* name;
  long double (*oracle)(long double);
  double f32_bound, f64_bound;  // ulp
  double low, high;  // arguments are drawn from here, evenly and by magnitude; special values besides
};
long double rsqrt_l(long double x) { return 1 / sqrtl(x); }
long double exp10_l(long double x) { return powl(10, x); }

const Row kRows[] = {
    {"exp", expl, 1.0, 1.0, -104, 89},        {"exp2", exp2l, 1.0, 1.0, -150, 128},
    {"exp10", exp10_l, 0.51, 1.0, -45, 39},   {"expm1", expm1l, 0.51, 2.0, -20, 89},
    {"log", logl, 1.0, 1.0, 0, 1e30},         {"log2", log2l, 1.0, 1.0, 0, 1e30},
    {"log10", log10l, 0.51, 1.0, 0, 1e30},    {"log1p", log1pl, 0.51, 1.5, -1, 1e10},
    {"sin", sinl, 0.51, 1.0, -1e6, 1e6},      {"cos", cosl, 0.51, 1.0, -1e6, 1e6},
    {"tan", tanl, 0.51, 2.5, -1e6, 1e6},      {"sqrt", sqrtl, 0.5, 0.5, 0, 1e30},
    {"rsqrt", rsqrt_l, 1.5, 1.5, 0, 1e30},    {"cbrt", cbrtl, 0.51, 1.5, -1e30, 1e30},
    {"erf", erfl, 0.51, 1.1, -6, 6},          {"tanh", tanhl, 0.51, 2.5, -25, 25},
    {"asin", asinl, 0.51, 1.0, -1, 1},        {"acos", acosl, 0.51, 1.0, -1, 1},
    {"atan", atanl, 0.51, 1.0, -1e5, 1e5},    {"sinh", sinhl, 0.51, 2.5, -89, 89},
    {"cosh", coshl, 0.51, 2.0, -89, 89},      {"asinh", asinhl, 0.51, 2.5, -1e10, 1e10},
    {"acosh", acoshl, 0.51, 2.5, 1, 1e10},    {"atanh", atanhl, 0.51, 2.5, -1, 1},
    {"erfc", erfcl, 0.51, 5.0, -6, 10},       {"lgamma", lgammal, 0.51, 8.0, 0.1, 1e6},
    {"tgamma", tgammal, 0.51, 10.0, 0.1, 30},
};

// |value - exact| in units of the last place of `exact` in T (of the smallest normal's, below it).
template <class T>
double ulps(T value, long double exact) {
  if (std::isnan(exact)) return std::isnan(value) ? 0 : INFINITY;
  constexpr int digits = sizeof(T) == 4 ? 24 : 53, smallest = sizeof(T) == 4 ? -126 : -1022,
                largest = sizeof(T) == 4 ? 127 : 1023;
  if (std::isinf(value)) {  // right if exact rounds there
    long double limit = ldexpl(2 - ldexpl(1, -digits), largest);
    return (exact > 0) == (value > 0) && fabsl(exact) >= limit * (1 - ldexpl(1, 2 - digits)) ? 0 : INFINITY;
  }
  if (std::isinf(exact)) return INFINITY;
  int exponent = exact == 0 ? smallest : std::max(smallest, ilogbl(exact));
  return static_cast<double>(fabsl(static_cast<long double>(value) - exact) /
                             ldexpl(1, exponent - digits + 1));
}

template <class T>
std::vector<T> arguments(const Row& row, int n) {
  std::mt19937_64 random(60);
  std::vector<T> x;
  for (double s :
       {0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, static_cast<double>(INFINITY), -static_cast<double>(INFINITY),
        static_cast<double>(NAN), 1e-40, -1e-310, 1e-20, 709.5, -745.2, 88.7, -103.9, 127.99, 1e300})
    x.push_back(static_cast<T>(s));
  double top = std::max(std::fabs(row.low), std::fabs(row.high));
  while (x.size() < static_cast<size_t>(n)) {
    double unit = static_cast<double>(random() >> 11) * 0x1p-53, value;
    if (random() % 2)
      value = row.low + (row.high - row.low) * unit;
    else
      value = std::exp(std::log(1e-9) + (std::log(top) - std::log(1e-9)) * unit) * (random() % 2 ? 1 : -1);
    if (value >= row.low && value <= row.high) x.push_back(static_cast<T>(value));
  }
  return x;
}

template <class T>
void check_function(const Row& row, Type type, double bound) {
  int n = 60000;
  std::vector<T> x = arguments<T>(row, n), first;
  const void* in[] = {x.data()};
  for (Isa isa : available_isas()) {
    std::vector<T> y(x.size());
    find_elementwise(row.name)->kernel(type, type, isa).run(y.data(), in, 0, n);
    if (first.empty()) {
      first = y;
      continue;
    }
    for (size_t i = 0; i < y.size(); ++i) {
      if (std::memcmp(&y[i], &first[i], sizeof(T)) == 0 || (std::isnan(y[i]) && std::isnan(first[i])))
        continue;
      char text[200];
      std::snprintf(text, sizeof text, "%s(%a) is %a on portable, %a on %s", row.name,
                    static_cast<double>(x[i]), static_cast<double>(first[i]), static_cast<double>(y[i]),
                    std::string(isa_name(isa)).c_str());
      triton_runner::unit::record_failure(__FILE__, __LINE__, text);
      break;
    }
  }
  double worst = 0;
  T at = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    double error = ulps(first[i], row.oracle(x[i]));
    if (error > worst) {
      worst = error;
      at = x[i];
    }
  }
  if (worst > bound) {
    char text[200];
    std::snprintf(text, sizeof text, "%s %s: %.3f ulp at %a, stated %.2f", row.name,
                  std::string(type_name(type)).c_str(), worst, static_cast<double>(at), bound);
    triton_runner::unit::record_failure(__FILE__, __LINE__, text);
  }
  if (std::getenv("NUM_PRINT_ERRORS"))
    std::printf("%-8s %s %7.3f ulp at %.9g\n", row.name, std::string(type_name(type)).c_str(), worst,
                static_cast<double>(at));
}

}  // namespace

TEST(math_f32) {
  for (const Row& row : kRows) check_function<float>(row, Type::kF32, row.f32_bound);
}

TEST(math_f64) {
  for (const Row& row : kRows) check_function<double>(row, Type::kF64, row.f64_bound);
}

TEST(math_huge_angles) {
  for (Isa isa : available_isas()) {
    double x[4] = {1e22, -6381956970095103.0 * 0x1p797, 0x1p31, 3.0};
    float f[4] = {1e22f, 3e38f, -0x1p31f, 3.0f};
    double s[4], c[4];
    float t[4];
    const void *in[] = {x}, *in32[] = {f};
    elementwise_sin.kernel(Type::kF64, Type::kF64, isa).run(s, in, 0, 4);
    elementwise_cos.kernel(Type::kF64, Type::kF64, isa).run(c, in, 0, 4);
    elementwise_tan.kernel(Type::kF32, Type::kF32, isa).run(t, in32, 0, 4);
    for (int i = 0; i < 4; ++i) {
      CHECK(ulps(s[i], sinl(x[i])) < 1);
      CHECK(ulps(c[i], cosl(x[i])) < 1);
      CHECK(ulps(t[i], tanl(f[i])) < 1);
    }
  }
}

TEST(math_two_operands) {
  std::mt19937_64 random(61);
  std::vector<float> x, y;
  for (int i = 0; i < 5000; ++i) {
    x.push_back(static_cast<float>(random() % 2000) / 97 - 3);
    y.push_back(static_cast<float>(random() % 2000) / 131 - 5);
  }
  for (Isa isa : available_isas()) {
    std::vector<float> out(x.size());
    const void* in[] = {x.data(), y.data()};
    auto worst = [&](long double (*oracle)(long double, long double)) {
      double error = 0;
      for (size_t i = 0; i < x.size(); ++i) error = std::max(error, ulps(out[i], oracle(x[i], y[i])));
      return error;
    };
    elementwise_atan2.kernel(Type::kF32, Type::kF32, isa).run(out.data(), in, 0, 5000);
    CHECK(worst(atan2l) < 0.51);
    elementwise_powf.kernel(Type::kF32, Type::kF32, isa).run(out.data(), in, 0, 5000);
    CHECK(worst(powl) < 0.51);
    elementwise_hypot.kernel(Type::kF32, Type::kF32, isa).run(out.data(), in, 0, 5000);
    CHECK(worst(hypotl) < 0.51);
  }
}

TEST(math_half_goes_through_f32) {
  for (Type type : {Type::kF16, Type::kBF16})
    for (const char* name : {"exp", "log2", "sin", "tanh"}) {
      std::vector<uint64_t> x, expected;
      for (uint64_t code = 0; code < 65536; ++code) {
        float in = static_cast<float>(to_double(code, type)), out;
        const void* operand[] = {&in};
        find_elementwise(name)->kernel(Type::kF32, Type::kF32, Isa::kPortable).run(&out, operand, 0, 1);
        x.push_back(code);
        expected.push_back(convert_float(std::bit_cast<uint32_t>(out), Type::kF32, type));
      }
      check_kernel(*find_elementwise(name), type, type, {x}, expected);
    }
}
