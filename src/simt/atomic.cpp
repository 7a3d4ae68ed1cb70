// Threads come one after the other, in ascending order (in another one where the launch is shuffled). Global memory is
// shared with the other workers, where other blocks run: updates there are atomic. A cluster's shared memory belongs to
// one worker.
#include "atomic.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <mutex>

#include <triton_runner/num/types.h>

namespace triton_runner::simt {
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

// ---- updates

template <class T, auto kCombine>
uint64_t update_shared(void* at, uint64_t value, uint64_t) {
  T old;
  std::memcpy(&old, at, sizeof old);
  const T now = static_cast<T>(kCombine(old, static_cast<T>(value)));
  std::memcpy(at, &now, sizeof now);
  return static_cast<std::make_unsigned_t<T>>(old);
}

template <class T, auto kCombine>
uint64_t update_global(void* at, uint64_t value, uint64_t) {
  T* cell = static_cast<T*>(at);
  T old = __atomic_load_n(cell, __ATOMIC_SEQ_CST);
  while (!__atomic_compare_exchange_n(cell, &old, static_cast<T>(kCombine(old, static_cast<T>(value))), false,
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

template <class T, auto kShared, auto kGlobal = kShared>
constexpr Updates kUpdates = {update_shared<T, kShared>, update_global<T, kGlobal>};

template <class T>
Updates integer_updates(AtomicOp operation) {
  switch (operation) {
    case AtomicOp::kAdd:
      return kUpdates<T, combine_integer<T, AtomicOp::kAdd>>;
    case AtomicOp::kMin:
      return kUpdates<T, combine_integer<T, AtomicOp::kMin>>;
    case AtomicOp::kMax:
      return kUpdates<T, combine_integer<T, AtomicOp::kMax>>;
    case AtomicOp::kInc:
      return kUpdates<T, combine_integer<T, AtomicOp::kInc>>;
    case AtomicOp::kDec:
      return kUpdates<T, combine_integer<T, AtomicOp::kDec>>;
    case AtomicOp::kAnd:
      return kUpdates<T, combine_integer<T, AtomicOp::kAnd>>;
    case AtomicOp::kOr:
      return kUpdates<T, combine_integer<T, AtomicOp::kOr>>;
    case AtomicOp::kXor:
      return kUpdates<T, combine_integer<T, AtomicOp::kXor>>;
    case AtomicOp::kExch:
      return kUpdates<T, combine_integer<T, AtomicOp::kExch>>;
    case AtomicOp::kCas:
      if constexpr (std::is_unsigned_v<T>) return {swap_if_equal<T>, swap_if_equal<T>};
      return {};
    default:
      return {};
  }
}

template <num::Type kType>
Updates half_updates(AtomicOp operation, bool packed) {
  switch (operation) {
    case AtomicOp::kAdd:
      return packed ? kUpdates<uint32_t, combine_halves<kType, AtomicOp::kAdd>>
                    : kUpdates<uint16_t, combine_half<kType, AtomicOp::kAdd>>;
    case AtomicOp::kMin:
      return packed ? kUpdates<uint32_t, combine_halves<kType, AtomicOp::kMin>>
                    : kUpdates<uint16_t, combine_half<kType, AtomicOp::kMin>>;
    case AtomicOp::kMax:
      return packed ? kUpdates<uint32_t, combine_halves<kType, AtomicOp::kMax>>
                    : kUpdates<uint16_t, combine_half<kType, AtomicOp::kMax>>;
    default:
      return {};
  }
}

Updates f32_updates(AtomicOp operation) {
  switch (operation) {
    case AtomicOp::kAdd:
      return kUpdates<uint32_t, combine_f32<AtomicOp::kAdd, false>, combine_f32<AtomicOp::kAdd, true>>;
    case AtomicOp::kMin:
      return kUpdates<uint32_t, combine_f32<AtomicOp::kMin, false>>;
    case AtomicOp::kMax:
      return kUpdates<uint32_t, combine_f32<AtomicOp::kMax, false>>;
    default:
      return {};
  }
}

Updates f64_updates(AtomicOp operation) {
  switch (operation) {
    case AtomicOp::kAdd:
      return kUpdates<uint64_t, combine_f64<AtomicOp::kAdd>>;
    case AtomicOp::kMin:
      return kUpdates<uint64_t, combine_f64<AtomicOp::kMin>>;
    case AtomicOp::kMax:
      return kUpdates<uint64_t, combine_f64<AtomicOp::kMax>>;
    default:
      return {};
  }
}

}  // namespace

Updates find_update(AtomicOp operation, AtomicType type) {
  switch (type) {
    case AtomicType::kB16:
      if (operation != AtomicOp::kCas && operation != AtomicOp::kExch) return {};
      return integer_updates<uint16_t>(operation);
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
      return f32_updates(operation);
    case AtomicType::kF64:
      return f64_updates(operation);
    default:
      return {};
  }
}

namespace {

uint64_t read(const Exec& x, uint32_t place, uint32_t bytes, uint32_t i) {
  switch (bytes) {
    case 2:
      return x.reg<uint16_t>(place)[i];
    case 4:
      return x.reg<uint32_t>(place)[i];
    default:
      return x.reg<uint64_t>(place)[i];
  }
}

void write(const Exec& x, uint32_t place, uint32_t bytes, uint32_t i, uint64_t value) {
  switch (bytes) {
    case 2:
      x.reg<uint16_t>(place)[i] = static_cast<uint16_t>(value);
      return;
    case 4:
      x.reg<uint32_t>(place)[i] = static_cast<uint32_t>(value);
      return;
    default:
      x.reg<uint64_t>(place)[i] = value;
  }
}

uint64_t now_at(const std::byte* at, uint32_t bytes) {
  switch (bytes) {
    case 2:
      return __atomic_load_n(reinterpret_cast<const uint16_t*>(at), __ATOMIC_RELAXED);
    case 4:
      return __atomic_load_n(reinterpret_cast<const uint32_t*>(at), __ATOMIC_RELAXED);
    default:
      return __atomic_load_n(reinterpret_cast<const uint64_t*>(at), __ATOMIC_RELAXED);
  }
}

// The place of the thread's elements; null after a trap. *shared: it is in shared memory.
std::byte* place_of(Exec& x, const Operands& in, const AtomicPlan& plan, uint32_t i, bool* shared) {
  const uint64_t address = plan.address.at(x, i);
  const uint32_t bytes = plan.bytes * plan.n;
  *shared = plan.where == Space::kShared ||
            (plan.where == Space::kGeneric && (address & kWindowMask) == kSharedWindow);
  if (address % bytes != 0)
    return x.fault(in, exec::TrapKind::kMisaligned,
                   "the address is not aligned to " + std::to_string(bytes) + " bytes", i, address, bytes,
                   true);
  if (*shared) return x.shared(in, i, static_cast<uint32_t>(address), bytes, true);
  // Code that updates 16 bits by way of the word around them: the word may end behind the allocation, whose
  // other bytes it leaves as they are.
  exec::MemoryView& memory = x.worker->memory;
  if (plan.other != kNoRegister && bytes == 4 && memory.writable(address, 1) && !memory.readable(address, 4))
    return reinterpret_cast<std::byte*>(address);
  if (plan.where == Space::kGeneric) return x.generic(in, i, address, bytes, true);
  return x.global(in, i, address, bytes, true);
}

void run_atomic(Lanes& lanes, const Operands& in) {
  Exec& x = exec_of(lanes);
  const auto& plan = *static_cast<const AtomicPlan*>(in.data);
  if (plan.where != Space::kShared) x.worker->global_spins++;
  bool shared_event = false, changed = false;
  const bool watched = x.launch().progress.is_watched();
  const bool ok = for_each_lane(x, [&](uint32_t i) {
    bool shared;
    std::byte* at = place_of(x, in, plan, i, &shared);
    if (!at) return false;
    shared_event |= shared;
    const Update update = shared ? plan.updates.shared : plan.updates.global;
    for (uint32_t e = 0; e < plan.n; e++) {
      const uint64_t value = read(x, plan.values[e], plan.bytes, i);
      const uint64_t old = plan.other == kNoRegister
                               ? update(at + e * plan.bytes, value, 0)
                               : update(at + e * plan.bytes, read(x, plan.other, plan.bytes, i), value);
      if (plan.results[e] != kNoRegister) write(x, plan.results[e], plan.bytes, i, old);
      if (watched && !shared) [[unlikely]]
        changed |= now_at(at + e * plan.bytes, plan.bytes) != old;
    }
    return true;
  });
  if (changed) x.worker->launch->progress.changed();
  if (ok && shared_event) ++x.cta->cluster->events;
}

// .b128: exch and cas, one at a time among all workers.
std::mutex wide_mutex;

void run_atomic_wide(Lanes& lanes, const Operands& in) {
  Exec& x = exec_of(lanes);
  const auto& plan = *static_cast<const AtomicPlan*>(in.data);
  x.worker->global_spins++;
  using Wide = std::array<uint64_t, 2>;
  const bool ok = for_each_lane(x, [&](uint32_t i) {
    bool shared;
    std::byte* at = place_of(x, in, plan, i, &shared);
    if (!at) return false;
    const std::lock_guard lock(wide_mutex);
    Wide old;
    std::memcpy(&old, at, 16);
    const Wide first = x.reg<Wide>(plan.values[0])[i];
    if (plan.other == kNoRegister) {
      std::memcpy(at, &first, 16);
    } else if (old == first) {
      const Wide now = x.reg<Wide>(plan.other)[i];
      std::memcpy(at, &now, 16);
    }
    if (plan.results[0] != kNoRegister) x.reg<Wide>(plan.results[0])[i] = old;
    return true;
  });
  x.worker->launch->progress.changed();
  if (ok) ++x.cta->cluster->events;
}

}  // namespace

Handler atomic_handler(bool wide) { return wide ? run_atomic_wide : run_atomic; }

}  // namespace triton_runner::simt
