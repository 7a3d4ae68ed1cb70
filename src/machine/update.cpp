// Computes read-modify-write of elements by the rules of PTX's atom and red, which TMA's reductions have too.
#include <triton_runner/machine/update.h>

#include <bit>
#include <cmath>
#include <cstring>

#include <triton_runner/num/types.h>

namespace triton_runner::machine {
namespace {

// ---- what becomes of an element

template <class T, AtomicOp kOp>
T combine_integer(T old, T value) {
  using Unsigned = std::make_unsigned_t<T>;
  const auto a = static_cast<Unsigned>(old), b = static_cast<Unsigned>(value);
  if constexpr (kOp == AtomicOp::kAdd) return static_cast<T>(a + b);
  if constexpr (kOp == AtomicOp::kMin) return std::min(old, value);
  if constexpr (kOp == AtomicOp::kMax) return std::max(old, value);
  if constexpr (kOp == AtomicOp::kInc) return a >= b ? T{0} : static_cast<T>(a + 1);
  if constexpr (kOp == AtomicOp::kDec) return a == 0 || a > b ? value : static_cast<T>(a - 1);
  if constexpr (kOp == AtomicOp::kAnd) return old & value;
  if constexpr (kOp == AtomicOp::kOr) return old | value;
  if constexpr (kOp == AtomicOp::kXor) return old ^ value;
  if constexpr (kOp == AtomicOp::kExch) return value;
  return old;
}

// min and max take the operand that is a number, and -0 for less than +0; two NaNs give `nan`.
template <AtomicOp kOp, class Bits, class Float>
Bits pick(Bits a, Bits b, Float x, Float y, Bits nan) {
  if (std::isnan(x) || std::isnan(y)) return std::isnan(x) ? std::isnan(y) ? nan : b : a;
  const bool less = x < y || (x == y && std::signbit(x) && !std::signbit(y));
  return less == (kOp == AtomicOp::kMin) ? a : b;
}

template <num::Type kType, AtomicOp kOp>
uint16_t combine_half(uint16_t old, uint16_t value) {
  const double x = num::to_double(old, kType), y = num::to_double(value, kType);
  if constexpr (kOp == AtomicOp::kAdd) return static_cast<uint16_t>(num::from_double(x + y, kType));
  return pick<kOp>(old, value, x, y, uint16_t{0x7fff});
}

template <num::Type kType, AtomicOp kOp>
uint32_t combine_halves(uint32_t old, uint32_t value) {
  const uint32_t low = combine_half<kType, kOp>(static_cast<uint16_t>(old), static_cast<uint16_t>(value));
  const uint32_t high =
      combine_half<kType, kOp>(static_cast<uint16_t>(old >> 16), static_cast<uint16_t>(value >> 16));
  return low | high << 16;
}

float flush(float x) { return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x; }

// kFlush: on global memory, add.f32 takes subnormals for zeros.
template <AtomicOp kOp, bool kFlush>
uint32_t combine_f32(uint32_t old, uint32_t value) {
  float x = std::bit_cast<float>(old), y = std::bit_cast<float>(value);
  if constexpr (kOp == AtomicOp::kAdd) {
    const float sum = kFlush ? flush(flush(x) + flush(y)) : x + y;
    return std::isnan(sum) ? 0x7fffffff : std::bit_cast<uint32_t>(sum);
  }
  return pick<kOp>(old, value, x, y, 0x7fffffffu);
}

template <AtomicOp kOp>
uint64_t combine_f64(uint64_t old, uint64_t value) {
  const double x = std::bit_cast<double>(old), y = std::bit_cast<double>(value);
  if constexpr (kOp == AtomicOp::kAdd) return std::bit_cast<uint64_t>(x + y);
  return pick<kOp>(old, value, x, y, uint64_t{0x7fffffffffffffff});
}

// ---- updates: kCombine<operation>(old, value) in memory

template <class T, auto kCombine, AtomicOp kOp>
uint64_t update_shared(void* at, uint64_t value, uint64_t) {
  T old;
  std::memcpy(&old, at, sizeof old);
  const T now = static_cast<T>(kCombine.template operator()<kOp>(old, static_cast<T>(value)));
  std::memcpy(at, &now, sizeof now);
  return static_cast<std::make_unsigned_t<T>>(old);
}

template <class T, auto kCombine, AtomicOp kOp>
uint64_t update_global(void* at, uint64_t value, uint64_t) {
  T* cell = static_cast<T*>(at);
  T old = __atomic_load_n(cell, __ATOMIC_SEQ_CST);
  while (!__atomic_compare_exchange_n(
      cell, &old, static_cast<T>(kCombine.template operator()<kOp>(old, static_cast<T>(value))), false,
      __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
  }
  return static_cast<std::make_unsigned_t<T>>(old);
}

template <class T>
uint64_t swap_if_equal(void* at, uint64_t value, uint64_t compare) {
  T expected = static_cast<T>(compare);
  __atomic_compare_exchange_n(static_cast<T*>(at), &expected, static_cast<T>(value), false, __ATOMIC_SEQ_CST,
                              __ATOMIC_SEQ_CST);
  return expected;
}

template <AtomicOp... kOps>
struct Operations {};
using Floats = Operations<AtomicOp::kAdd, AtomicOp::kMin, AtomicOp::kMax>;
using Integers = Operations<AtomicOp::kAdd, AtomicOp::kMin, AtomicOp::kMax, AtomicOp::kInc, AtomicOp::kDec,
                            AtomicOp::kAnd, AtomicOp::kOr, AtomicOp::kXor, AtomicOp::kExch>;

// Returns the updates of `operation`, if it is one of kOps.
template <class T, auto kShared, auto kGlobal, AtomicOp... kOps>
Updates one_of(AtomicOp operation, Operations<kOps...>) {
  Updates found;
  ((operation == kOps
        ? static_cast<void>(found = {update_shared<T, kShared, kOps>, update_global<T, kGlobal, kOps>})
        : static_cast<void>(0)),
   ...);
  return found;
}

template <class T, class All = Integers>
Updates integer_updates(AtomicOp operation) {
  if (std::is_unsigned_v<T> && operation == AtomicOp::kCas) return {swap_if_equal<T>, swap_if_equal<T>};
  constexpr auto kCombine = []<AtomicOp kOp>(T a, T b) { return combine_integer<T, kOp>(a, b); };
  return one_of<T, kCombine, kCombine>(operation, All());
}

template <num::Type kType>
Updates half_updates(AtomicOp operation, bool packed) {
  constexpr auto kOne = []<AtomicOp kOp>(uint16_t a, uint16_t b) { return combine_half<kType, kOp>(a, b); };
  constexpr auto kTwo = []<AtomicOp kOp>(uint32_t a, uint32_t b) { return combine_halves<kType, kOp>(a, b); };
  return packed ? one_of<uint32_t, kTwo, kTwo>(operation, Floats())
                : one_of<uint16_t, kOne, kOne>(operation, Floats());
}

template <bool kFlush>
constexpr auto kCombineF32 =
    []<AtomicOp kOp>(uint32_t a, uint32_t b) { return combine_f32<kOp, kFlush>(a, b); };
constexpr auto kCombineF64 = []<AtomicOp kOp>(uint64_t a, uint64_t b) { return combine_f64<kOp>(a, b); };

}  // namespace

std::string_view text(AtomicOp operation) {
  constexpr std::string_view kTexts[] = {"",    "add", "min", "max",  "inc", "dec",
                                         "and", "or",  "xor", "exch", "cas"};
  return kTexts[static_cast<size_t>(operation)];
}

Updates find_update(AtomicOp operation, AtomicType type) {
  switch (type) {
    case AtomicType::kB16:
      return integer_updates<uint16_t, Operations<AtomicOp::kExch>>(operation);
    case AtomicType::kU32:
      return integer_updates<uint32_t>(operation);
    case AtomicType::kS32:
      return integer_updates<int32_t>(operation);
    case AtomicType::kU64:
      return integer_updates<uint64_t>(operation);
    case AtomicType::kS64:
      return integer_updates<int64_t>(operation);
    case AtomicType::kF16:
    case AtomicType::kF16x2:
      return half_updates<num::Type::kF16>(operation, type == AtomicType::kF16x2);
    case AtomicType::kBf16:
    case AtomicType::kBf16x2:
      return half_updates<num::Type::kBF16>(operation, type == AtomicType::kBf16x2);
    case AtomicType::kF32:
      return one_of<uint32_t, kCombineF32<false>, kCombineF32<true>>(operation, Floats());
    case AtomicType::kF64:
      return one_of<uint64_t, kCombineF64, kCombineF64>(operation, Floats());
    default:
      return {};
  }
}

}  // namespace triton_runner::machine
