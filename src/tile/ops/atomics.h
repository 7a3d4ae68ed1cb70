// Read-modify-write of memory, elementwise and atomic between workers.
#pragma once
#include <optional>

#include <triton_runner/ir/enums.h>

#include "lowering.h"

namespace triton_runner::tile {

// As tt.atomic_rmw numbers them.
using Rmw = ir::RMWOp;

// *address = op(*address, value), atomically; what was there before. Bits of the element type, zero-extended.
uint64_t atomic_rmw(Rmw op, num::Type type, uint64_t address, uint64_t value);
uint64_t atomic_cas(num::Type type, uint64_t address, uint64_t expected, uint64_t value);

// The same over tiles as instructions over any slots; lanes that the mask turns off give 0.
void emit_atomic_rmw(Lowering& l, const ir::Op& op, Slot result, Slot ptrs, Slot value,
                     std::optional<Slot> mask, Rmw kind);
void emit_atomic_cas(Lowering& l, const ir::Op& op, Slot result, Slot ptrs, Slot expected, Slot value);

}  // namespace triton_runner::tile
