// Declares read-modify-write of memory, elementwise and atomic between workers.
#pragma once
#include <optional>

#include <triton_runner/exec/order.h>
#include <triton_runner/ir/enums.h>

#include "lowering.h"

namespace triton_runner::tile {

// As tt.atomic_rmw numbers them.
using Rmw = ir::RMWOp;

// *address = op(*address, value), atomically; what was there before. Bits of the element type, zero-extended.
uint64_t atomic_rmw(Rmw op, num::Type type, uint64_t address, uint64_t value);
uint64_t atomic_cas(num::Type type, uint64_t address, uint64_t expected, uint64_t value);

// The pseudo-random order in which one op of a shuffled launch updates its n elements; empty in other launches.
std::optional<exec::Permutation> element_order(Task& t, int64_t n);
// Calls f(i) for each of n elements, in that order where there is one, until f returns false.
template <class F>
bool each_element(Task& t, int64_t n, F f) {
  if (const auto order = element_order(t, n)) [[unlikely]] {
    for (int64_t k = 0; k < n; ++k)
      if (!f(static_cast<int64_t>((*order)(static_cast<uint64_t>(k))))) return false;
    return true;
  }
  for (int64_t i = 0; i < n; ++i)
    if (!f(i)) return false;
  return true;
}

// The same over tiles as instructions over any slots; lanes that the mask turns off give 0.
void emit_atomic_rmw(Lowering& l, const ir::Op& op, Slot result, Slot ptrs, Slot value,
                     std::optional<Slot> mask, Rmw kind);
void emit_atomic_cas(Lowering& l, const ir::Op& op, Slot result, Slot ptrs, Slot expected, Slot value);

}  // namespace triton_runner::tile
