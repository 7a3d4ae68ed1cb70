// Declares loads and stores of whole tiles through pointer tiles, checked.
#pragma once
#include <optional>

#include "lowering.h"
#include "ops/access.h"
#include "ops/lazy.h"

namespace triton_runner::tile {

// The part of an affine pointer tile that a box turns on: first address and extents.
struct Block {
  int rank;
  int64_t count[kLazyRank];   // elements in the box
  int64_t stride[kLazyRank];  // bytes between neighbours in memory
  uint64_t address;           // of the box's first element
  int64_t tile_offset;        // of it in the row-major tile, elements
};
// Returns whether pointers and mask have that form and all of it may be accessed. Traps nothing.
bool find_block(Task& t, Slot ptr, int64_t mask, const TileType& tile, bool write, Block* block,
                MaskBox* box);

// Instr::data of a load (operand 0: pointers): numbers of the operands that are mask and other, or kNoSlot. A
// store's operands are pointers, value and, if there is one, the mask.
struct LoadData {
  int64_t mask, other;
};

// result = load(ptr): lanes that `mask` turns off get `other`, or 0. False: it trapped, and nothing was set.
bool load_tile(Task& t, const Instr& in, Slot result, Slot ptr, int64_t mask = kNoSlot,
               int64_t other = kNoSlot);
// Nothing is written if any lane that is on may not be.
bool store_tile(Task& t, const Instr& in, Slot ptr, Slot value, int64_t mask = kNoSlot);
// Every address that is on: aligned to `size`, and inside of memory. `shape` is for the trap's element.
// False: it trapped. Where the launch goes on, `mask` is what is left of it, kept in `left`.
bool check_addresses(Task& t, const Instr& in, const uint64_t* addresses, const uint8_t*& mask, int64_t n,
                     uint32_t size, bool write, const TileType& shape, std::vector<uint8_t>& left);

// The same as instructions over any slots: pointers, masks and values that are lazy stay so.
void emit_load(Lowering& l, const ir::Op& op, Slot result, Slot ptrs, std::optional<Slot> mask,
               std::optional<Slot> other);
void emit_store(Lowering& l, const ir::Op& op, Slot ptrs, Slot value, std::optional<Slot> mask);
// result = base + offsets * bytes of the element: base is a scalar or a tile of pointers.
void emit_addptr(Lowering& l, const ir::Op& op, Slot result, Slot base, Slot offsets, int64_t element_bytes);
// The pointers `ptr` + `offsets` of one of AMD's buffer ops, in a slot of their own.
Slot buffer_pointers(Lowering& l, const ir::Op& op);
bool adds_to_pointers(const Instr& in);  // whether emit_addptr() emitted it

// tt.load and tt.store through block pointers (tt.make_tensor_ptr), see block_pointer.cpp.
void lower_block_load(Lowering& l, const ir::Op& op);
void lower_block_store(Lowering& l, const ir::Op& op);

}  // namespace triton_runner::tile
