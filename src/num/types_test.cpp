// Tests scalar conversions against independent slow oracles, by enumeration of every representable value.
#include <triton_runner/num/types.h>

#include <bit>
#include <cmath>
#include <random>
#include <vector>

#include "test.h"

using namespace triton_runner::num;

namespace {

const Type kSmallFloats[] = {Type::kF16,        Type::kBF16,       Type::kF8E4M3FN,      Type::kF8E5M2,
                             Type::kF8E4M3FNUZ, Type::kF8E5M2FNUZ, Type::kF8E4M3B11FNUZ, Type::kF6E2M3FN,
                             Type::kF6E3M2FN,   Type::kF4E2M1FN};

// The finite values of a type in ascending order, from nothing but its codes.
struct Values {
  std::vector<double> value;
  std::vector<uint64_t> code;
};
Values values_of(Type type) {
  Values v;
  uint64_t half = uint64_t{1} << (width_of(type) - 1);
  for (uint64_t c = 0; c < half; ++c) {  // positive codes ascend
    double x = to_double(c, type);
    if (!std::isfinite(x)) break;
    v.value.push_back(x);
    v.code.push_back(c);
  }
  return v;
}

// The code nearest to x >= 0 by linear reasoning on the sorted values; ties to the even code; beyond the
// largest by half a step or more: `overflow`.
uint64_t nearest_code(const Values& v, double x, uint64_t overflow) {
  size_t hi = 0;
  size_t lo_bound = 0, hi_bound = v.value.size();
  while (lo_bound < hi_bound) {
    size_t mid = (lo_bound + hi_bound) / 2;
    if (v.value[mid] < x)
      lo_bound = mid + 1;
    else
      hi_bound = mid;
  }
  hi = lo_bound;
  if (hi == v.value.size()) {
    double step = v.value[hi - 1] - v.value[hi - 2];
    return x - v.value[hi - 1] < step / 2                               ? v.code[hi - 1]
           : x - v.value[hi - 1] == step / 2 && v.code[hi - 1] % 2 == 0 ? v.code[hi - 1]
                                                                        : overflow;
  }
  if (v.value[hi] == x || hi == 0) return v.code[hi];
  double down = x - v.value[hi - 1], up = v.value[hi] - x;
  if (down != up) return v.code[down < up ? hi - 1 : hi];
  return v.code[hi] % 2 == 0 ? v.code[hi] : v.code[hi - 1];
}

}  // namespace

TEST(types_names_round_trip) {
  for (int i = 0; i < kTypeCount; ++i) {
    Type type = static_cast<Type>(i);
    CHECK(parse_type(type_name(type)) == type);
  }
  CHECK(!parse_type("f33"));
  CHECK(!parse_type(""));
}

TEST(types_known_values) {
  CHECK_EQ(to_double(0x7e, Type::kF8E4M3FN), 448.0);
  CHECK_EQ(to_double(0x7b, Type::kF8E5M2), 57344.0);
  CHECK_EQ(to_double(0x7f, Type::kF8E4M3FNUZ), 240.0);
  CHECK_EQ(to_double(0x7f, Type::kF8E5M2FNUZ), 57344.0);
  CHECK_EQ(to_double(0x7f, Type::kF8E4M3B11FNUZ), 1.875);
  CHECK_EQ(to_double(0x7, Type::kF4E2M1FN), 6.0);
  CHECK_EQ(to_double(0x1f, Type::kF6E2M3FN), 7.5);
  CHECK_EQ(to_double(0x1f, Type::kF6E3M2FN), 28.0);
  CHECK_EQ(to_double(0x01, Type::kF8E4M3FN), std::ldexp(1.0, -9));
  CHECK_EQ(to_double(0x7f, Type::kF8E8M0FNU), 1.0);
  CHECK(std::isnan(to_double(0x80, Type::kF8E4M3FNUZ)));
  CHECK(std::isnan(to_double(0xff, Type::kF8E8M0FNU)));
  CHECK(std::isinf(to_double(0x7c, Type::kF8E5M2)));
  CHECK_EQ(from_double(1e6, Type::kF8E4M3FN), 0x7eu);
  CHECK_EQ(from_double(-INFINITY, Type::kF8E5M2), 0xfbu);
  CHECK_EQ(from_double(INFINITY, Type::kF8E5M2, Rounding::kNearestEven, Overflow::kNonSaturating), 0x7cu);
  CHECK_EQ(from_double(1e6, Type::kF8E4M3FN, Rounding::kNearestEven, Overflow::kNonSaturating), 0x7fu);
  CHECK_EQ(from_double(-1e-9, Type::kF8E4M3FNUZ), 0u);
  CHECK_EQ(from_double(65520.0, Type::kF16), 0x7c00u);
  CHECK_EQ(from_double(65519.9, Type::kF16), 0x7bffu);
  CHECK_EQ(from_double(65520.0, Type::kF16, Rounding::kTowardZero), 0x7bffu);
  CHECK_EQ(from_double(std::nan(""), Type::kBF16), 0x7fffu);
  CHECK_EQ(convert_float(0x3f801000, Type::kF32, Type::kTF32), 0x3f802000u);  // a tie goes away from zero
  CHECK_EQ(convert_float(0x3f800fff, Type::kF32, Type::kTF32), 0x3f800000u);
}

TEST(types_widening_then_narrowing_is_the_identity) {
  for (Type type : kSmallFloats)
    for (uint64_t code = 0; code < uint64_t{1} << width_of(type); ++code) {
      double value = to_double(code, type);
      if (std::isnan(value)) continue;
      if (std::isinf(value) && width_of(type) == 8) continue;  // saturates
      CHECK_EQ(from_double(value, type), code);
      CHECK_EQ(from_double(value, type, Rounding::kTowardZero), code);
    }
}

TEST(types_nearest_even_against_enumeration) {
  std::mt19937_64 random(1);
  for (Type type : kSmallFloats) {
    Values v = values_of(type);
    bool saturates = width_of(type) <= 8;
    uint64_t overflow = saturates ? v.code.back() : v.code.back() + 1;
    auto check = [&](double x) {
      CHECK_EQ(from_double(x, type), nearest_code(v, x, overflow));
      uint64_t sign = uint64_t{1} << (width_of(type) - 1), negative = nearest_code(v, x, overflow);
      bool no_minus_zero = type == Type::kF8E4M3FNUZ || type == Type::kF8E5M2FNUZ;
      CHECK_EQ(from_double(-x, type), negative == 0 && no_minus_zero ? 0 : negative | sign);
    };
    for (size_t i = 0; i + 1 < v.value.size(); ++i) {  // every value, every midpoint, and just beside them
      double middle = (v.value[i] + v.value[i + 1]) / 2;
      for (double x : {v.value[i], middle, std::nextafter(middle, 0.0), std::nextafter(middle, 1e300)})
        check(x);
    }
    double top = v.value.back(), step = top - v.value[v.value.size() - 2];
    for (double x :
         {top, top + step / 4, top + step / 2, std::nextafter(top + step / 2, 0.0), top + step, top * 3})
      check(x);
    for (int i = 0; i < 2000; ++i)
      check(std::ldexp(static_cast<double>(random() >> 11), static_cast<int>(random() % 60) - 90));
  }
}

TEST(types_toward_zero_never_grows) {
  std::mt19937_64 random(2);
  for (Type type : kSmallFloats) {
    Values v = values_of(type);
    for (size_t i = 0; i + 1 < v.value.size(); ++i) {
      double below = std::nextafter(v.value[i + 1], 0.0);
      CHECK_EQ(from_double(below, type, Rounding::kTowardZero), v.code[i]);
    }
    CHECK_EQ(from_double(1e30 * v.value.back(), type, Rounding::kTowardZero), v.code.back());
  }
}

TEST(types_f32_from_f64_is_the_cpu_cast) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 200000; ++i) {
    uint64_t bits = random();
    if (i % 2) bits = (bits & 0x800fffffffffffff) | ((896 - 30 + random() % 310) << 52);
    double x = std::bit_cast<double>(bits);
    if (std::isnan(x)) continue;
    CHECK_EQ(from_double(x, Type::kF32), std::bit_cast<uint32_t>(static_cast<float>(x)));
  }
}

TEST(types_float_to_int_saturates) {
  auto f32 = [](float x) { return std::bit_cast<uint32_t>(x); };
  auto f64 = [](double x) { return std::bit_cast<uint64_t>(x); };
  CHECK_EQ(float_to_int(f32(-1.9f), Type::kF32, Type::kI32, true), 0xffffffffu);
  CHECK_EQ(float_to_int(f32(3e9f), Type::kF32, Type::kI32, true), 0x7fffffffu);
  CHECK_EQ(float_to_int(f32(-3e9f), Type::kF32, Type::kI32, true), 0x80000000u);
  CHECK_EQ(float_to_int(f32(-5.0f), Type::kF32, Type::kI32, false), 0u);
  CHECK_EQ(float_to_int(f32(5e9f), Type::kF32, Type::kI32, false), 0xffffffffu);
  CHECK_EQ(float_to_int(f32(NAN), Type::kF32, Type::kI32, true), 0u);
  CHECK_EQ(float_to_int(f32(NAN), Type::kF32, Type::kI64, true), uint64_t{1} << 63);
  CHECK_EQ(float_to_int(f64(NAN), Type::kF64, Type::kI32, true), 0x80000000u);
  CHECK_EQ(float_to_int(f32(300.0f), Type::kF32, Type::kI8, true), 300u & 0xff);  // cvt.rzi.s16, low byte
  CHECK_EQ(float_to_int(f32(1e6f), Type::kF32, Type::kI8, true), 0xffu);          // 0x7fff, low byte
  CHECK_EQ(float_to_int(f64(1e300), Type::kF64, Type::kI64, false), ~uint64_t{0});
  CHECK_EQ(float_to_int(f64(9007199254740993.0), Type::kF64, Type::kI64, true), 9007199254740992u);
}

TEST(types_int_to_float_rounds_once) {
  // 2^24 + 1 + tiny bits far below: only a single rounding gives the odd neighbour.
  CHECK_EQ(int_to_float(0x1000001000000001, Type::kI64, true, Type::kF32),
           std::bit_cast<uint32_t>(0x1.000002p60f));
  CHECK_EQ(int_to_float(0x1000000800000000, Type::kI64, true, Type::kF32), std::bit_cast<uint32_t>(0x1p60f));
  CHECK_EQ(int_to_float(2049, Type::kI32, true, Type::kF16), 0x6800u);
  CHECK_EQ(int_to_float(2051, Type::kI32, true, Type::kF16), 0x6802u);
  CHECK_EQ(int_to_float(1, Type::kI1, true, Type::kF32), std::bit_cast<uint32_t>(-1.0f));
  CHECK_EQ(int_to_float(1, Type::kI1, false, Type::kF32), std::bit_cast<uint32_t>(1.0f));
  std::mt19937_64 random(4);
  for (int i = 0; i < 100000; ++i) {
    auto x = static_cast<int64_t>(random() >> (random() % 64));
    if (i & 1) x = -x;
    CHECK_EQ(int_to_float(static_cast<uint64_t>(x), Type::kI64, true, Type::kF32),
             std::bit_cast<uint32_t>(static_cast<float>(x)));
    CHECK_EQ(int_to_float(static_cast<uint64_t>(x), Type::kI64, false, Type::kF64),
             std::bit_cast<uint64_t>(static_cast<double>(static_cast<uint64_t>(x))));
  }
}
