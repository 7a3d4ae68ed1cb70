// Lowers tt.atomic_rmw and tt.atomic_cas: lanes in order (in another one where the launch is shuffled), each
// one a compare-and-swap loop on the machine's memory.
#include "ops/atomics.h"

#include <cstring>

#include <triton_runner/num/by_size.h>
#include <triton_runner/num/elementwise.h>

#include "ops/elements.h"
#include "ops/memory.h"

namespace triton_runner::tile {
namespace {

uint64_t combine(Rmw op, num::Type type, uint64_t old, uint64_t value) {
  bool is_float = num::is_float(type);
  auto by = [&](const num::Elementwise& f) {
    alignas(8) uint64_t out = 0;
    const void* in[] = {&old, &value};
    f.kernel(type, type).run(&out, in, 0, 1);
    return out;
  };
  int64_t a = is_float ? 0 : num::sign_extend(old, type), b = is_float ? 0 : num::sign_extend(value, type);
  switch (op) {
    case Rmw::kAnd:
      return old & value;
    case Rmw::kOr:
      return old | value;
    case Rmw::kXor:
      return old ^ value;
    case Rmw::kAdd:
    case Rmw::kFAdd:
      if (type == num::Type::kF32) {
        float sum = std::bit_cast<float>(static_cast<uint32_t>(old)) +
                    std::bit_cast<float>(static_cast<uint32_t>(value));
        return std::bit_cast<uint32_t>(sum);
      }
      return is_float ? by(num::elementwise_addf) : num::truncate_bits(old + value, type);
    case Rmw::kMax:
      return is_float ? by(num::elementwise_maxnumf) : a > b ? old : value;
    case Rmw::kMin:
      return is_float ? by(num::elementwise_minnumf) : a < b ? old : value;
    case Rmw::kUMax:
      return old > value ? old : value;
    case Rmw::kUMin:
      return old < value ? old : value;
    case Rmw::kExch:
      return value;
  }
  return old;
}

template <class T>
uint64_t rmw(Rmw op, num::Type type, uint64_t address, uint64_t value) {
  T* p = reinterpret_cast<T*>(address);
  T old = __atomic_load_n(p, __ATOMIC_ACQUIRE);
  while (!__atomic_compare_exchange_n(p, &old, static_cast<T>(combine(op, type, old, value)), true,
                                      __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
  }
  return old;
}

template <class T>
uint64_t cas(uint64_t address, uint64_t expected, uint64_t value) {
  T old = static_cast<T>(expected);
  __atomic_compare_exchange_n(reinterpret_cast<T*>(address), &old, static_cast<T>(value), false,
                              __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
  return old;
}

}  // namespace

uint64_t atomic_rmw(Rmw op, num::Type type, uint64_t address, uint64_t value) {
  return num::by_size(num::size_of(type),
                      [&](auto zero) { return rmw<decltype(zero)>(op, type, address, value); });
}

uint64_t atomic_cas(num::Type type, uint64_t address, uint64_t expected, uint64_t value) {
  return num::by_size(num::size_of(type),
                      [&](auto zero) { return cas<decltype(zero)>(address, expected, value); });
}

namespace {

// f(lane, address) for every lane that is on, after all were checked; gives each lane's result.
template <class F>
const Instr* each_lane(Task& t, const Instr& in, int64_t mask, F f) {
  Slot r = in.result(), ptr = in.operand(0);
  const TileType& ty = t.type(r);
  const uint8_t* lanes = nullptr;
  std::vector<uint8_t> left;
  if (mask != kNoSlot) {
    Slot m = static_cast<Slot>(mask);
    if (t.is_uniform(m) && !t.bits(m)) {
      t.set_uniform(r, 0);
      return next(in);
    }
    if (!t.is_uniform(m)) lanes = t.dense<uint8_t>(m);
  }
  if (ty.rank == 0) {
    uint64_t address = static_cast<uint64_t>(t.bits(ptr));
    if (!check_addresses(t, in, &address, lanes, 1, ty.size, true, ty, left)) return nullptr;
    uint64_t old = lanes ? 0 : f(0, address);
    t.set_uniform_from(r, &old);
    return next(in);
  }
  const auto* addresses = t.dense<uint64_t>(ptr);
  if (!check_addresses(t, in, addresses, lanes, ty.n, ty.size, true, ty, left)) return nullptr;
  auto* out = t.new_dense<std::byte>(r);
  if (lanes) std::memset(out, 0, ty.bytes);
  each_element(t, ty.n, [&](int64_t i) {
    if (!lanes || lanes[i]) num::store_bits(out + i * ty.size, ty.element, f(i, addresses[i]));
    return true;
  });
  return next(in);
}

const Instr* run_rmw(Task& t, const Instr& in, const Rmw& kind) {
  num::Type type = t.type(in.result()).element;
  Elements value(t, in.operand(1));
  const bool watched = t.worker->launch->progress.is_watched();
  bool changed = false;
  const Instr* then = each_lane(t, in, slot_at(in, 2), [&](int64_t i, uint64_t address) {
    const uint64_t old = atomic_rmw(kind, type, address, value[i]);
    if (watched) [[unlikely]]
      changed |= combine(kind, type, old, value[i]) != old;
    return old;
  });
  if (changed) t.worker->launch->made_progress();
  return then;
}

const Instr* run_cas(Task& t, const Instr& in) {
  num::Type type = t.type(in.result()).element;
  Elements expected(t, in.operand(1)), value(t, in.operand(2));
  bool changed = false;
  const Instr* then = each_lane(t, in, kNoSlot, [&](int64_t i, uint64_t address) {
    uint64_t old = atomic_cas(type, address, expected[i], value[i]);
    changed |= old == expected[i] && old != value[i];
    return old;
  });
  if (changed) t.worker->launch->made_progress();
  return then;
}

}  // namespace

Access atomic_access_of(const Instr& in) {
  if (in.run == handler<run_rmw>)
    return {
        .kind = AccessKind::kAtomic, .ptr = slot_at(in, 0), .mask = slot_at(in, 2), .value = slot_at(in, 1)};
  if (in.run == run_cas)
    return {.kind = AccessKind::kAtomic,
            .ptr = slot_at(in, 0),
            .value = slot_at(in, 2),
            .expected = slot_at(in, 1)};
  return {};
}

void emit_atomic_rmw(Lowering& l, const ir::Op& op, Slot result, Slot ptrs, Slot value,
                     std::optional<Slot> mask, Rmw kind) {
  std::vector<Slot> operands = {ptrs, value};
  if (mask) operands.push_back(*mask);
  l.emit<run_rmw>(op, {result}, std::move(operands), l.make<Rmw>(kind));
}

void emit_atomic_cas(Lowering& l, const ir::Op& op, Slot result, Slot ptrs, Slot expected, Slot value) {
  l.emit(run_cas, op, {result}, {ptrs, expected, value});
}

void lower_atomic_rmw(Lowering& l, const ir::Op& op) {
  const auto kind = op.enum_attr<Rmw>("atomic_rmw_op");
  if (!is_known(kind)) return l.fail(op, "this kind of tt.atomic_rmw is unknown");
  emit_atomic_rmw(l, op, l.slot(op.result()), l.slot(op.operand(0)), l.slot(op.operand(1)),
                  optional_slot(l, op.operand_of("mask")), kind);
}

void lower_atomic_cas(Lowering& l, const ir::Op& op) {
  emit_atomic_cas(l, op, l.slot(op.result()), l.slot(op.operand(0)), l.slot(op.operand(1)),
                  l.slot(op.operand(2)));
}

}  // namespace triton_runner::tile
