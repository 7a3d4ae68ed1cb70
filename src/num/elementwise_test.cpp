// Tests elementwise arithmetic against scalar oracles that share no code with the kernels: 128-bit integers,
// f64 with one rounding, __float128 for fused multiply-adds.
#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <map>

#include "test_data.h"

using namespace triton_runner::num;
using namespace triton_runner::num::testing;

namespace {

using Wide = __int128;
struct IntArgs {
  Wide sx, sy, ux, uy;  // read as signed, as unsigned
  int width;
};
Wide clamp_shift(Wide y, int width) { return y < width ? y : width; }
// By 0: what a GPU computes.
Wide zero_quotient(IntArgs a) {
  if (a.width == 1) return a.ux;
  return a.width == 64 && a.ux >> 32 == 0 ? Wide{0xffffffff} : Wide{-1};
}
Wide zero_remainder(IntArgs a) { return a.width == 1 ? 0 : zero_quotient(a); }
Wide floor_div(Wide x, Wide y) { return x / y - ((x % y != 0 && (x < 0) != (y < 0)) ? 1 : 0); }
Wide ceil_div(Wide x, Wide y) { return x / y + ((x % y != 0 && (x < 0) == (y < 0)) ? 1 : 0); }
unsigned __int128 as_unsigned(Wide x) { return static_cast<unsigned __int128>(x); }

const std::map<std::string_view, std::function<Wide(IntArgs)>> kIntOracles = {
    {"addi", [](IntArgs a) { return a.ux + a.uy; }},
    {"subi", [](IntArgs a) { return a.ux - a.uy; }},
    {"muli", [](IntArgs a) { return static_cast<Wide>(as_unsigned(a.ux) * as_unsigned(a.uy)); }},
    {"andi", [](IntArgs a) { return a.ux & a.uy; }},
    {"ori", [](IntArgs a) { return a.ux | a.uy; }},
    {"xori", [](IntArgs a) { return a.ux ^ a.uy; }},
    {"shli", [](IntArgs a) { return static_cast<Wide>(as_unsigned(a.ux) << clamp_shift(a.uy, a.width)); }},
    {"shrui", [](IntArgs a) { return a.ux >> clamp_shift(a.uy, a.width); }},
    {"shrsi", [](IntArgs a) { return a.sx >> clamp_shift(a.uy, a.width); }},
    {"maxsi", [](IntArgs a) { return std::max(a.sx, a.sy); }},
    {"minsi", [](IntArgs a) { return std::min(a.sx, a.sy); }},
    {"maxui", [](IntArgs a) { return std::max(a.ux, a.uy); }},
    {"minui", [](IntArgs a) { return std::min(a.ux, a.uy); }},
    {"mulhiui",
     [](IntArgs a) { return static_cast<Wide>((as_unsigned(a.ux) * as_unsigned(a.uy)) >> a.width); }},
    {"mulhisi", [](IntArgs a) { return (a.sx * a.sy) >> a.width; }},
    {"cmpi_eq", [](IntArgs a) { return Wide(a.ux == a.uy); }},
    {"cmpi_ne", [](IntArgs a) { return Wide(a.ux != a.uy); }},
    {"cmpi_slt", [](IntArgs a) { return Wide(a.sx < a.sy); }},
    {"cmpi_sle", [](IntArgs a) { return Wide(a.sx <= a.sy); }},
    {"cmpi_sgt", [](IntArgs a) { return Wide(a.sx > a.sy); }},
    {"cmpi_sge", [](IntArgs a) { return Wide(a.sx >= a.sy); }},
    {"cmpi_ult", [](IntArgs a) { return Wide(a.ux < a.uy); }},
    {"cmpi_ule", [](IntArgs a) { return Wide(a.ux <= a.uy); }},
    {"cmpi_ugt", [](IntArgs a) { return Wide(a.ux > a.uy); }},
    {"cmpi_uge", [](IntArgs a) { return Wide(a.ux >= a.uy); }},
    {"divsi", [](IntArgs a) { return a.sy == 0 ? zero_quotient(a) : a.sx / a.sy; }},
    {"divui", [](IntArgs a) { return a.uy == 0 ? zero_quotient(a) : a.ux / a.uy; }},
    {"remsi", [](IntArgs a) { return a.sy == 0 ? zero_remainder(a) : a.sx % a.sy; }},
    {"remui", [](IntArgs a) { return a.uy == 0 ? zero_remainder(a) : a.ux % a.uy; }},
    {"remsi_paired", [](IntArgs a) { return a.sy == 0 ? (a.width == 1 ? 0 : a.ux) : a.sx % a.sy; }},
    {"remui_paired", [](IntArgs a) { return a.uy == 0 ? (a.width == 1 ? 0 : a.ux) : a.ux % a.uy; }},
    {"ceildivui",
     [](IntArgs a) {
       if (a.ux == 0) return Wide{0};
       return a.uy == 0 ? zero_quotient(a) + (a.width > 1) : ceil_div(a.ux, a.uy);
     }},
    {"ceildivsi",
     [](IntArgs a) {
       return a.sy == 0 ? zero_quotient(a) + (a.width > 1 && a.sx > 0) : ceil_div(a.sx, a.sy);
     }},
    {"floordivsi",
     [](IntArgs a) {
       return a.sy == 0 ? zero_quotient(a) - (a.width > 1 && a.sx < 0) : floor_div(a.sx, a.sy);
     }},
};

// A float op in f64 where one rounding from f64 is the right answer (see simd/float.cpp); f64 itself is the
// CPU's.
using FloatOracle = std::function<double(double, double, double)>;
double max_zero(double x, double y) { return x == y ? (std::signbit(x) ? y : x) : std::max(x, y); }
double min_zero(double x, double y) { return x == y ? (std::signbit(x) ? x : y) : std::min(x, y); }
double max_num(double x, double y) { return std::isnan(x) ? y : std::isnan(y) ? x : max_zero(x, y); }
double min_num(double x, double y) { return std::isnan(x) ? y : std::isnan(y) ? x : min_zero(x, y); }
double max_nan(double x, double y) { return std::isnan(x) || std::isnan(y) ? NAN : max_zero(x, y); }
double min_nan(double x, double y) { return std::isnan(x) || std::isnan(y) ? NAN : min_zero(x, y); }

const std::map<std::string_view, FloatOracle> kFloatOracles = {
    {"addf", [](double x, double y, double) { return x + y; }},
    {"subf", [](double x, double y, double) { return x - y; }},
    {"mulf", [](double x, double y, double) { return x * y; }},
    {"divf", [](double x, double y, double) { return x / y; }},
    {"remf", [](double x, double y, double) { return std::fmod(x, y); }},
    {"negf", [](double x, double, double) { return -x; }},
    {"absf", [](double x, double, double) { return std::fabs(x); }},
    {"maxnumf", [](double x, double y, double) { return max_num(x, y); }},
    {"minnumf", [](double x, double y, double) { return min_num(x, y); }},
    {"maximumf", [](double x, double y, double) { return max_nan(x, y); }},
    {"minimumf", [](double x, double y, double) { return min_nan(x, y); }},
    {"clampf_none", [](double x, double y, double z) { return min_num(max_num(x, y), z); }},
    {"clampf_all", [](double x, double y, double z) { return min_nan(max_nan(x, y), z); }},
    {"copysign", [](double x, double y, double) { return std::copysign(x, y); }},
    {"sqrt", [](double x, double, double) { return std::sqrt(x); }},
    {"floor", [](double x, double, double) { return std::floor(x); }},
    {"ceil", [](double x, double, double) { return std::ceil(x); }},
    {"trunc", [](double x, double, double) { return std::trunc(x); }},
    {"round", [](double x, double, double) { return std::round(x); }},
    {"roundeven", [](double x, double, double) { return std::nearbyint(x); }},
};

const std::map<std::string_view, std::function<bool(double, double)>> kCompareOracles = {
    {"cmpf_false", [](double, double) { return false; }},
    {"cmpf_oeq", [](double x, double y) { return x == y; }},
    {"cmpf_ogt", [](double x, double y) { return x > y; }},
    {"cmpf_oge", [](double x, double y) { return x >= y; }},
    {"cmpf_olt", [](double x, double y) { return x < y; }},
    {"cmpf_ole", [](double x, double y) { return x <= y; }},
    {"cmpf_one", [](double x, double y) { return !std::isunordered(x, y) && x != y; }},
    {"cmpf_ord", [](double x, double y) { return !std::isunordered(x, y); }},
    {"cmpf_ueq", [](double x, double y) { return std::isunordered(x, y) || x == y; }},
    {"cmpf_ugt", [](double x, double y) { return std::isunordered(x, y) || x > y; }},
    {"cmpf_uge", [](double x, double y) { return std::isunordered(x, y) || x >= y; }},
    {"cmpf_ult", [](double x, double y) { return std::isunordered(x, y) || x < y; }},
    {"cmpf_ule", [](double x, double y) { return std::isunordered(x, y) || x <= y; }},
    {"cmpf_une", [](double x, double y) { return x != y; }},
    {"cmpf_uno", [](double x, double y) { return std::isunordered(x, y); }},
    {"cmpf_true", [](double, double) { return true; }},
    {"isnan", [](double x, double) { return std::isnan(x); }},
    {"isinf", [](double x, double) { return std::isinf(x); }},
    {"isfinite", [](double x, double) { return std::isfinite(x); }},
    {"signbit", [](double x, double) { return std::signbit(x); }},
};

constexpr size_t kCount = 1999;  // ends inside a vector of every width

#if defined(__x86_64__)
using Quad = __float128;
#else
using Quad = long double;  // of 128 bits on 64-bit Arm
#endif
static_assert(sizeof(Quad) == 16);

// x * y + z rounded once to `type`, by exact comparison of the neighbours.
uint64_t fused(double x, double y, double z, Type type) {
  Quad product = static_cast<Quad>(x) * y, exact = product + z;
  auto value = static_cast<double>(exact);
  if (!std::isfinite(value) || exact == 0) return from_double(x * y + z, type);
  // The loss of the sum in Quad, as a nudge far below its last place but one that decides ties.
  Quad back = exact - product, lost = (product - (exact - back)) + (static_cast<Quad>(z) - back);
  uint64_t toward_zero = from_double(value, type, Rounding::kTowardZero);
  uint64_t best = toward_zero;
  uint64_t sign = std::signbit(value) ? uint64_t{1} << (width_of(type) - 1) : 0;
  for (uint64_t code :
       {toward_zero - 1, toward_zero, toward_zero + 1, sign | 1}) {  // the last: zero may have no sign
    double at = to_double(code, type), best_at = to_double(best, type);
    if (!std::isfinite(at) || (at != 0 && std::signbit(at) != std::signbit(value))) continue;
    Quad d = exact - at, e = exact - best_at;
    Quad magnitude = d < 0 ? -d : d, best_magnitude = e < 0 ? -e : e;
    bool closer = magnitude < best_magnitude;
    if (magnitude == best_magnitude && code != best)
      closer = lost != 0 ? (lost > 0) == (at > best_at) : code % 2 == 0;
    if (closer) best = code;
  }
  uint64_t rounded = from_double(value, type);
  bool overflow = std::isinf(to_double(rounded, type)) ||
                  std::fabs(value) > std::fabs(to_double(toward_zero, type)) * 1.5;
  return overflow && toward_zero != 0 && std::fabs(value) > 1 ? rounded : best;
}

}  // namespace

TEST(elementwise_int) {
  std::mt19937_64 random(10);
  for (auto& [name, oracle] : kIntOracles) {
    const Elementwise& functor = *find_elementwise(name);
    bool compares = name.substr(0, 4) == "cmpi";
    for (Type type : kIntTypes) {
      if (type == Type::kI1 && name.substr(0, 5) == "mulhi") continue;
      auto x = operands(type, kCount, random), y = operands(type, kCount, random);
      std::vector<uint64_t> expected;
      for (size_t i = 0; i < kCount; ++i) {
        IntArgs args{sign_extend(x[i], type), sign_extend(y[i], type), static_cast<Wide>(x[i]),
                     static_cast<Wide>(y[i]), width_of(type)};
        Wide result = oracle(args);
        expected.push_back(compares ? static_cast<uint64_t>(result)
                                    : truncate_bits(static_cast<uint64_t>(result), type));
      }
      check_kernel(functor, type, compares ? Type::kI1 : type, {x, y}, expected);
    }
  }
}

TEST(elementwise_int_bits) {
  std::mt19937_64 random(11);
  for (Type type : {Type::kI8, Type::kI16, Type::kI32, Type::kI64}) {
    auto x = operands(type, kCount, random);
    std::vector<uint64_t> absolute, ones, leading, trailing;
    for (uint64_t bits : x) {
      int64_t s = sign_extend(bits, type);
      absolute.push_back(
          truncate_bits(s < 0 ? 0 - static_cast<uint64_t>(s) : static_cast<uint64_t>(s), type));
      int count = 0, first = width_of(type), last = width_of(type);
      for (int b = 0; b < width_of(type); ++b)
        if (bits >> b & 1) {
          ++count;
          first = std::min(first, b);
          last = width_of(type) - 1 - b;
        }
      ones.push_back(static_cast<uint64_t>(count));
      leading.push_back(static_cast<uint64_t>(last));
      trailing.push_back(static_cast<uint64_t>(first));
    }
    check_kernel(elementwise_absi, type, type, {x}, absolute);
    check_kernel(elementwise_ctpop, type, type, {x}, ones);
    check_kernel(elementwise_ctlz, type, type, {x}, leading);
    check_kernel(elementwise_cttz, type, type, {x}, trailing);
  }
}

TEST(elementwise_float) {
  std::mt19937_64 random(12);
  for (auto& [name, oracle] : kFloatOracles)
    for (Type type : kArithmeticFloats) {
      auto x = operands(type, kCount, random), y = operands(type, kCount, random),
           z = operands(type, kCount, random);
      std::vector<uint64_t> expected;
      for (size_t i = 0; i < kCount; ++i)
        expected.push_back(
            from_double(oracle(to_double(x[i], type), to_double(y[i], type), to_double(z[i], type)), type,
                        Rounding::kNearestEven,
                        name == "negf" || name == "absf" || name == "copysign" ? Overflow::kNonSaturating
                                                                               : Overflow::kAsHardware));
      const Elementwise& functor = *find_elementwise(name);
      std::vector<std::vector<uint64_t>> in = {x, y, z};
      in.resize(functor.arity);
      // Sums, products and quotients of f32 through f64 round twice harmlessly; fmod is exact.
      check_kernel(functor, type, type, in, expected);
    }
}

TEST(elementwise_fma) {
  std::mt19937_64 random(13);
  for (Type type : kArithmeticFloats) {
    auto x = operands(type, 20011, random), y = operands(type, 20011, random),
         z = operands(type, 20011, random);
    std::vector<uint64_t> expected;
    for (size_t i = 0; i < x.size(); ++i) {
      double a = to_double(x[i], type), b = to_double(y[i], type), c = to_double(z[i], type);
      if (type == Type::kF64)
        expected.push_back(std::bit_cast<uint64_t>(std::fma(a, b, c)));
      else if (type == Type::kF32)
        expected.push_back(std::bit_cast<uint32_t>(
            std::fma(static_cast<float>(a), static_cast<float>(b), static_cast<float>(c))));
      else
        expected.push_back(fused(a, b, c, type));
    }
    check_kernel(elementwise_fma, type, type, {x, y, z}, expected);
  }
}

TEST(elementwise_compare) {
  std::mt19937_64 random(14);
  for (auto& [name, oracle] : kCompareOracles)
    for (Type type : kArithmeticFloats) {
      auto x = operands(type, kCount, random), y = operands(type, kCount, random);
      for (size_t i = 0; i < kCount; i += 5) y[i] = x[i];
      std::vector<uint64_t> expected;
      for (size_t i = 0; i < kCount; ++i)
        expected.push_back(oracle(to_double(x[i], type), to_double(y[i], type)));
      const Elementwise& functor = *find_elementwise(name);
      std::vector<std::vector<uint64_t>> in = {x, y};
      in.resize(functor.arity);
      check_kernel(functor, type, Type::kI1, in, expected);
      if (functor.arity == 1) check_kernel(functor, type, Type::kI32, in, expected);
    }
}

TEST(elementwise_exp_of_difference) {
  std::mt19937_64 random(16);
  std::vector<char> in[2];
  for (auto& v : in) v = stored(operands(Type::kF32, kCount, random), Type::kF32);
  for (Isa isa : available_isas()) {
    force_isa(isa_name(isa));
    for (const Elementwise* then : {&elementwise_exp, &elementwise_exp2}) {
      Loop f = elementwise_subf.kernel(Type::kF32, Type::kF32).loop,
           g = then->kernel(Type::kF32, Type::kF32).loop;
      Loop both = chain_loops(f, g);
      CHECK(both != nullptr);
      std::vector<float> want(kCount), got(kCount);
      f(want.data(), in[0].data(), in[1].data(), nullptr, kCount);
      g(want.data(), want.data(), nullptr, nullptr, kCount);
      both(got.data(), in[0].data(), in[1].data(), nullptr, kCount);
      size_t differs = 0;
      for (size_t i = 0; i < got.size(); ++i)
        differs += !same(std::bit_cast<uint32_t>(got[i]), std::bit_cast<uint32_t>(want[i]), Type::kF32);
      CHECK_EQ(differs, 0u);
    }
    Loop add = elementwise_addf.kernel(Type::kF32, Type::kF32).loop;
    CHECK(chain_loops(add, elementwise_exp.kernel(Type::kF32, Type::kF32).loop) == nullptr);
    CHECK(chain_loops(elementwise_subf.kernel(Type::kF32, Type::kF32).loop, add) == nullptr);
  }
  force_isa("");
}

// Divisors across the range that needs no division and past both of its ends; quotients that are exact, zeros
// of both signs, subnormal and infinite ones among the rest.
std::vector<float> divisors(std::mt19937_64& random) {
  std::vector<float> y = {1.0f,     3.0f, 0x1.fffffep0f, 0x1.fffffcp0f, 0x1p-30f, 0x1p30f,   0x1.8p30f,
                          0x1p-31f, 0.0f, -3.0f,         INFINITY,      NAN,      0x1p-140f, 0x1.fffffep127f};
  for (int i = 0; i < 300; ++i)
    y.push_back(std::bit_cast<float>(static_cast<uint32_t>(0x30000000 + random() % 0x20000000)));
  return y;
}

TEST(elementwise_by_one) {
  std::mt19937_64 random(17);
  std::vector<char> in = stored(operands(Type::kF32, kCount, random), Type::kF32);
  std::vector<float> x(reinterpret_cast<float*>(in.data()), reinterpret_cast<float*>(in.data()) + kCount);
  for (size_t i = 512; i < 1664; ++i)  // blocks without anything that is out of range
    x[i] = i % 7 == 0 ? std::copysign(0.0f, x[i]) : std::ldexp(static_cast<float>(random() >> 40), -22);
  const std::vector<float> ys = divisors(random);
  for (Isa isa : available_isas()) {
    force_isa(isa_name(isa));
    random.seed(17);
    auto loop = [](const Elementwise& f) { return f.kernel(Type::kF32, Type::kF32).loop; };
    CHECK(loop_by_one(loop(elementwise_maximumf)) == nullptr);
    for (Loop two : {loop(elementwise_addf), loop(elementwise_subf), loop(elementwise_mulf),
                     loop(elementwise_divf), chain_loops(loop(elementwise_subf), loop(elementwise_exp)),
                     chain_loops(loop(elementwise_subf), loop(elementwise_exp2))}) {
      Loop one = loop_by_one(two);
      CHECK(one != nullptr);
      size_t differs = 0;
      for (float y : ys) {
        const size_t skip = random() % 40, n = random() % (kCount - skip);
        std::vector<float> all(n, y), want(n), got(n);
        two(want.data(), x.data() + skip, all.data(), nullptr, static_cast<int64_t>(n));
        std::copy_n(x.data() + skip, n, got.data());
        one(got.data(), got.data(), &y, nullptr, static_cast<int64_t>(n));
        for (size_t i = 0; i < n; ++i)
          differs += !same(std::bit_cast<uint32_t>(got[i]), std::bit_cast<uint32_t>(want[i]), Type::kF32);
      }
      CHECK_EQ(differs, 0u);
    }
  }
  force_isa("");
}

TEST(elementwise_splats_and_aliases) {
  std::mt19937_64 random(15);
  auto x = operands(Type::kF32, kCount, random), y = operands(Type::kF32, kCount, random),
       z = operands(Type::kF32, kCount, random);
  auto xs = stored(x, Type::kF32), ys = stored(y, Type::kF32), zs = stored(z, Type::kF32);
  for (Isa isa : available_isas()) {
    Kernel kernel = elementwise_fma.kernel(Type::kF32, Type::kF32, isa);
    for (uint32_t splat = 0; splat < 8; ++splat) {
      std::vector<float> out(kCount);
      const void* in[] = {xs.data(), ys.data(), zs.data()};
      kernel.run(out.data(), in, splat, kCount);
      for (size_t i = 0; i < kCount; ++i) {
        auto at = [&](const std::vector<uint64_t>& v, int k) {
          return std::bit_cast<float>(static_cast<uint32_t>(v[splat >> k & 1 ? 0 : i]));
        };
        float want = std::fma(at(x, 0), at(y, 1), at(z, 2));
        if (!same(std::bit_cast<uint32_t>(out[i]), std::bit_cast<uint32_t>(want), Type::kF32)) {
          CHECK_EQ(out[i], want);
          break;
        }
      }
    }
    // In place, and divisions by 0 that is one for all or comes late.
    auto copy = xs;
    const void* in[] = {copy.data(), ys.data()};
    elementwise_subf.kernel(Type::kF32, Type::kF32, isa).run(copy.data(), in, 0, kCount);
    std::vector<float> apart(kCount);
    const void* in2[] = {xs.data(), ys.data()};
    elementwise_subf.kernel(Type::kF32, Type::kF32, isa).run(apart.data(), in2, 0, kCount);
    CHECK(std::memcmp(copy.data(), apart.data(), kCount * 4) == 0);
    int32_t ones[5] = {1, 2, 3, 4, 5}, zero = 0, quotient[5];
    const void* division[] = {ones, &zero};
    elementwise_divsi.kernel(Type::kI32, Type::kI32, isa).run(quotient, division, 2, 5);
    for (int32_t q : quotient) CHECK_EQ(q, -1);
    int32_t divisors[600];
    for (int i = 0; i < 600; ++i) divisors[i] = i - 577;
    int32_t many[600];
    const void* late[] = {ones, divisors};
    elementwise_remsi.kernel(Type::kI32, Type::kI32, isa).run(many, late, 1, 600);
    CHECK_EQ(many[576], 0);
    CHECK_EQ(many[579], 1);
  }
}

TEST(elementwise_select) {
  std::mt19937_64 random(16);
  for (Type type : {Type::kI1, Type::kI16, Type::kF32, Type::kPointer, Type::kF8E5M2}) {
    auto c = operands(Type::kI1, kCount, random), x = operands(type, kCount, random, false),
         y = operands(type, kCount, random, false);
    std::vector<uint64_t> expected;
    for (size_t i = 0; i < kCount; ++i) expected.push_back(c[i] ? x[i] : y[i]);
    check_kernel(elementwise_select, type, type, {c, x, y}, expected);
  }
}

TEST(elementwise_functors_have_loops) {
  auto has_loop = [](const Elementwise& functor) {
    for (int pair = 0; pair < kTypeCount * kTypeCount; ++pair)
      if (functor.kernel(static_cast<Type>(pair / kTypeCount), static_cast<Type>(pair % kTypeCount)))
        return true;
    return false;
  };
#define HAS_LOOP(name, arity) CHECK(has_loop(elementwise_##name));
  TRITON_RUNNER_ELEMENTWISE(HAS_LOOP)
#undef HAS_LOOP
}

TEST(elementwise_wrong_types_have_no_kernel) {
  CHECK(!elementwise_addf.kernel(Type::kI32, Type::kI32));
  CHECK(!elementwise_addi.kernel(Type::kF32, Type::kF32));
  CHECK(!elementwise_addi.kernel(Type::kI32, Type::kI64));
  CHECK(!elementwise_exp.kernel(Type::kI32, Type::kI32));
  CHECK(!elementwise_bitcast.kernel(Type::kI32, Type::kF64));
  CHECK(find_extern("__nv_sinf") == &elementwise_sin);
  CHECK(find_extern("__nv_nothing") == nullptr);
  CHECK(find_elementwise("addq") == nullptr);
}
