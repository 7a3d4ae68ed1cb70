// Has the table of functions that run one element at a time, and their formulas: in f64 for f32 (rounded
// once), in long double where f64 needs more.
#include <triton_runner/num/scalar.h>

#include <math.h>  // jn, yn

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "directed.h"

namespace triton_runner::num {
namespace {

bool is_int32(Type type) { return type == Type::kI32; }
bool is_real(Type type) { return type == Type::kF32 || type == Type::kF64 || type == Type::kF16; }

// An operand as a double: floats and i32 exactly.
double value(uint64_t bits, Type type) {
  return is_integer(type) ? static_cast<double>(sign_extend(bits, type)) : to_double(bits, type);
}

// ---- which types a function takes

bool floats(std::span<const Type> types, Type out) {
  return is_real(out) && std::ranges::all_of(types, [&](Type t) { return t == out; });
}
bool float_int(std::span<const Type> types, Type out) {
  return types.size() == 2 && is_real(out) && types[0] == out && is_int32(types[1]);
}
bool int_float(std::span<const Type> types, Type out) {
  return types.size() == 2 && is_real(out) && types[1] == out && is_int32(types[0]);
}
template <Type kIn, Type kOut>
bool exactly(std::span<const Type> types, Type out) {
  return out == kOut && std::ranges::all_of(types, [](Type t) { return t == kIn; });
}

// ---- formulas in f64

using Call = uint64_t (*)(const uint64_t* in, const Type* types, Type out);

template <auto formula, int arity>
uint64_t rounded(const uint64_t* in, const Type* types, Type out) {
  double x[kMaxScalarOperands] = {};
  for (int i = 0; i < arity; ++i) x[i] = value(in[i], types[i]);
  return from_double(formula(x), out);
}

double norm4(const double* x) {
  for (int i = 0; i < 4; ++i)
    if (std::isinf(x[i])) return std::numeric_limits<double>::infinity();
  long double squares = 0;
  for (int i = 0; i < 4; ++i) squares += static_cast<long double>(x[i]) * x[i];
  return static_cast<double>(std::sqrt(squares));
}
// In long double where the C library has it: near zeros of the functions f64 loses digits.
#ifdef __GLIBC__
double bessel_jn(const double* x) { return static_cast<double>(::jnl(static_cast<int>(x[0]), x[1])); }
double bessel_yn(const double* x) { return static_cast<double>(::ynl(static_cast<int>(x[0]), x[1])); }
#else
double bessel_jn(const double* x) { return ::jn(static_cast<int>(x[0]), x[1]); }
double bessel_yn(const double* x) { return ::yn(static_cast<int>(x[0]), x[1]); }
#endif
double power(const double* x) { return power_of_int(x[0], static_cast<int64_t>(x[1])); }
double norm4_reciprocal(const double* x) { return 1 / norm4(x); }

// rcp.approx.ftz.f64: the high words only, subnormals as zeros.
uint64_t reciprocal_high(const uint64_t* in, const Type*, Type) {
  constexpr uint64_t kHigh = 0xffffffff00000000, kSign = 0x8000000000000000;
  auto flushed = [](double x) {
    return std::isfinite(x) && std::fabs(x) < 0x1p-1022 ? std::copysign(0.0, x) : x;
  };
  const double x = flushed(std::bit_cast<double>(in[0] & kHigh));
  if (std::isnan(std::bit_cast<double>(in[0]))) return 0x7fffffff00000000;
  const double r = flushed(1 / x);
  if (!std::isfinite(r) || r == 0) return std::bit_cast<uint64_t>(r) & (kHigh | kSign);
  return (std::bit_cast<uint64_t>(r) + 0x80000000) & kHigh;
}

uint64_t high_word(const uint64_t* in, const Type*, Type) { return in[0] >> 32; }
uint64_t low_word(const uint64_t* in, const Type*, Type) { return in[0] & 0xffffffff; }
uint64_t from_words(const uint64_t* in, const Type*, Type) { return in[0] << 32 | (in[1] & 0xffffffff); }

// ---- directed rounding: T by the result's type

template <class T>
using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
template <class T>
T as(uint64_t bits) {
  return std::bit_cast<T>(static_cast<Bits<T>>(bits));
}
template <class T>
uint64_t bits_of(T x) {
  return std::bit_cast<Bits<T>>(x);
}

enum class Operation : uint8_t { kAdd, kSub, kMul, kDiv, kSqrt, kRcp, kFma };

template <class T, Operation kOp, Direction kTo>
uint64_t directed(const uint64_t* in, const Type*, Type) {
  const T a = as<T>(in[0]);
  if constexpr (kOp == Operation::kAdd) return bits_of(add_directed(a, as<T>(in[1]), kTo));
  if constexpr (kOp == Operation::kSub) return bits_of(add_directed(a, -as<T>(in[1]), kTo));
  if constexpr (kOp == Operation::kMul) return bits_of(mul_directed(a, as<T>(in[1]), kTo));
  if constexpr (kOp == Operation::kDiv) return bits_of(div_directed(a, as<T>(in[1]), kTo));
  if constexpr (kOp == Operation::kSqrt) return bits_of(sqrt_directed(a, kTo));
  if constexpr (kOp == Operation::kRcp) return bits_of(div_directed(T{1}, a, kTo));
  if constexpr (kOp == Operation::kFma) return bits_of(fma_directed(a, as<T>(in[1]), as<T>(in[2]), kTo));
}

template <class T, Type kFrom, bool kSigned, Direction kTo>
uint64_t from_int(const uint64_t* in, const Type*, Type) {
  const int64_t x = sign_extend(in[0], kFrom);
  const bool negative = kSigned && x < 0;
  const uint64_t magnitude = negative ? uint64_t{0} - static_cast<uint64_t>(x) : truncate_bits(in[0], kFrom);
  return bits_of(from_int_directed<T>(magnitude, negative, kTo));
}

template <Direction kTo>
uint64_t narrow(const uint64_t* in, const Type*, Type) {
  return bits_of(narrow_directed(as<double>(in[0]), kTo));
}

constexpr Direction kRd = Direction::kDownward, kRu = Direction::kUpward, kRz = Direction::kZero;
constexpr auto kF32s = exactly<Type::kF32, Type::kF32>, kF64s = exactly<Type::kF64, Type::kF64>;

#define DIRECTED(symbol, arity, T, op, accepts)                          \
  {symbol "_rd", arity, directed<T, Operation::op, kRd>, accepts},       \
      {symbol "_ru", arity, directed<T, Operation::op, kRu>, accepts}, { \
    symbol "_rz", arity, directed<T, Operation::op, kRz>, accepts        \
  }
#define FROM_INT(symbol, T, from, is_signed, to)                                                   \
  {symbol "_rd", 1, from_int<T, Type::from, is_signed, kRd>, exactly<Type::from, Type::to>},       \
      {symbol "_ru", 1, from_int<T, Type::from, is_signed, kRu>, exactly<Type::from, Type::to>}, { \
    symbol "_rz", 1, from_int<T, Type::from, is_signed, kRz>, exactly<Type::from, Type::to>        \
  }

// clang-format off
const ScalarFunction kFunctions[] = {
    DIRECTED("__nv_fadd", 2, float, kAdd, kF32s), DIRECTED("__nv_dadd", 2, double, kAdd, kF64s),
    DIRECTED("__nv_fsub", 2, float, kSub, kF32s), DIRECTED("__nv_dsub", 2, double, kSub, kF64s),
    DIRECTED("__nv_fmul", 2, float, kMul, kF32s), DIRECTED("__nv_dmul", 2, double, kMul, kF64s),
    DIRECTED("__nv_fdiv", 2, float, kDiv, kF32s), DIRECTED("__nv_ddiv", 2, double, kDiv, kF64s),
    DIRECTED("__nv_fsqrt", 1, float, kSqrt, kF32s), DIRECTED("__nv_dsqrt", 1, double, kSqrt, kF64s),
    DIRECTED("__nv_frcp", 1, float, kRcp, kF32s), DIRECTED("__nv_drcp", 1, double, kRcp, kF64s),
    DIRECTED("__nv_fmaf", 3, float, kFma, kF32s), DIRECTED("__nv_fma", 3, double, kFma, kF64s),
    {"__nv_dsub_rn", 2, directed<double, Operation::kSub, Direction::kNearest>, kF64s},
    FROM_INT("__nv_int2float", float, kI32, true, kF32), FROM_INT("__nv_uint2float", float, kI32, false, kF32),
    FROM_INT("__nv_ll2float", float, kI64, true, kF32), FROM_INT("__nv_ull2float", float, kI64, false, kF32),
    FROM_INT("__nv_ll2double", double, kI64, true, kF64), FROM_INT("__nv_ull2double", double, kI64, false, kF64),
    {"__nv_double2float_rd", 1, narrow<kRd>, exactly<Type::kF64, Type::kF32>},
    {"__nv_double2float_ru", 1, narrow<kRu>, exactly<Type::kF64, Type::kF32>},
    {"__nv_double2hiint", 1, high_word, exactly<Type::kF64, Type::kI32>},
    {"__nv_double2loint", 1, low_word, exactly<Type::kF64, Type::kI32>},
    {"__nv_hiloint2double", 2, from_words, exactly<Type::kI32, Type::kF64>},
    {"__nv_rcp64h", 1, reciprocal_high, kF64s},
    {"__nv_norm4df", 4, rounded<norm4, 4>, floats}, {"__nv_norm4d", 4, rounded<norm4, 4>, floats},
    {"__nv_rnorm4df", 4, rounded<norm4_reciprocal, 4>, floats}, {"__nv_rnorm4d", 4, rounded<norm4_reciprocal, 4>, floats},
    {"__nv_jnf", 2, rounded<bessel_jn, 2>, int_float}, {"__nv_jn", 2, rounded<bessel_jn, 2>, int_float},
    {"__nv_ynf", 2, rounded<bessel_yn, 2>, int_float}, {"__nv_yn", 2, rounded<bessel_yn, 2>, int_float},
    {"__nv_powif", 2, rounded<power, 2>, float_int}, {"__nv_powi", 2, rounded<power, 2>, float_int},
    {"__ocml_pown_f32", 2, rounded<power, 2>, float_int}, {"__ocml_pown_f64", 2, rounded<power, 2>, float_int},
};
// clang-format on

}  // namespace

const ScalarFunction* find_scalar_function(std::string_view symbol) {
  for (const ScalarFunction& f : kFunctions)
    if (f.symbol == symbol) return &f;
  return nullptr;
}

std::span<const ScalarFunction> scalar_functions() { return kFunctions; }

double power_of_int(double x, int64_t n) { return std::pow(x, static_cast<double>(n)); }

bool int_power(int64_t a, int64_t n, int64_t* out) {
  if (n < 0) {
    if (a == 0) return false;
    *out = a == 1 ? 1 : a == -1 ? (n & 1 ? -1 : 1) : 0;
    return true;
  }
  uint64_t result = 1, square = static_cast<uint64_t>(a);
  for (auto left = static_cast<uint64_t>(n); left; left >>= 1) {
    if (left & 1) result *= square;
    square *= square;
  }
  *out = static_cast<int64_t>(result);
  return true;
}

}  // namespace triton_runner::num
