// Tells the checks (check/) what an instruction touches in global memory through pointers.
#pragma once
#include <cstddef>
#include <cstdint>

#include "code.h"

namespace triton_runner::tile {

inline constexpr int64_t kNoSlot = -1;

enum class AccessKind : uint8_t { kNone, kLoad, kStore, kAtomic, kPoll };

// Slots, or kNoSlot. An atomic's result is what was there before; a poll looks until memory holds what is expected.
struct Access {
  AccessKind kind = AccessKind::kNone;
  int64_t ptr = kNoSlot, mask = kNoSlot, other = kNoSlot;
  int64_t value = kNoSlot;     // what a store writes, or an atomic combines with
  int64_t expected = kNoSlot;  // of a compare-and-swap, or a poll
};
// Operand i of an instruction as one of these; kNoSlot where i is below 0, or there are fewer.
inline int64_t slot_at(const Instr& in, int64_t i) {
  return i < 0 || i >= in.num_operands ? kNoSlot : int64_t{in.operand(static_cast<uint32_t>(i))};
}
Access access_of(const Instr& in);         // of emit_load and emit_store: memory.cpp
Access atomic_access_of(const Instr& in);  // of emit_atomic_rmw and emit_atomic_cas: atomics.cpp
Access poll_access_of(const Instr& in);    // of the instruction of tt.atomic_poll that looks: atomic_poll.cpp
// For copies from pointers to shared memory, which travel as the instruction's result: shared_async.cpp
Access async_access_of(const Instr& in);

// ---- what the accesses ask of the checks (check/check.cpp)
class Checks;
struct Task;
// `bytes` of the elements from `element` on of a tensor descriptor's block are about to be read, or
// overwritten with `data`. False: it trapped.
bool check_block(Checks& checks, Task& t, const Instr& in, AccessKind kind, uint64_t address, uint64_t bytes,
                 int64_t element, int64_t size, const std::byte* data);

}  // namespace triton_runner::tile
