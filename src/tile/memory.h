// Loads and stores of whole tiles through pointer tiles, checked.
#pragma once
#include <optional>

#include "lowering.h"

namespace triton_runner::tile {

inline constexpr int64_t kNoSlot = -1;

// result = load(ptr): lanes that `mask` turns off get `other`, or 0. False: it trapped, and nothing was set.
bool load_tile(Task& t, const Instr& in, Slot result, Slot ptr, int64_t mask = kNoSlot,
               int64_t other = kNoSlot);
// Nothing is written if any lane that is on may not be.
bool store_tile(Task& t, const Instr& in, Slot ptr, Slot value, int64_t mask = kNoSlot);
// Every address that is on: aligned to `size`, and inside of memory. `shape` is for the trap's element.
bool check_addresses(Task& t, const Instr& in, const uint64_t* addresses, const uint8_t* mask, int64_t n,
                     uint32_t size, bool write, const TileType& shape);

// The same as instructions over any slots: pointers, masks and values that are lazy stay so.
void emit_load(Lowering& l, const ir::Op& op, Slot result, Slot ptrs, std::optional<Slot> mask,
               std::optional<Slot> other);
void emit_store(Lowering& l, const ir::Op& op, Slot ptrs, Slot value, std::optional<Slot> mask);
// result = base + offsets * bytes of the element: base is a scalar or a tile of pointers.
void emit_addptr(Lowering& l, const ir::Op& op, Slot result, Slot base, Slot offsets, int64_t element_bytes);

// tt.load and tt.store through block pointers (tt.make_tensor_ptr), see block_pointer.cpp.
void lower_block_load(Lowering& l, const ir::Op& op);
void lower_block_store(Lowering& l, const ir::Op& op);

}  // namespace triton_runner::tile
