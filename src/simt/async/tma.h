// Boxes of tensors: what a tensor map and coordinates name in global memory, and how a box lies in shared
// memory. PTX ISA 5.5.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include <triton_runner/machine/box.h>

#include "atomic.h"

namespace triton_runner::simt {

enum class BoxMode : uint8_t { kTile, kGather, kIm2col };

// A box cut into rows along dimension 0; in im2col mode a column of pixels, a row each. Elements of less than
// a byte come 16 at a time: a unit is an element, or 16 of them.
struct TensorBox {
  exec::TensorMap map;
  int rank = 0;
  int32_t at[5] = {};        // coordinates, dimension 0 first, in units for dimension 0
  int32_t gathered[4] = {};  // .tile::gather4, .tile::scatter4: rows of a tensor of rank 2
  BoxMode mode = BoxMode::kTile;
  bool exact_tails = false;  // LaunchOptions::exact_tails
  uint16_t offsets[3] = {};  // im2col, of W, H, D
  machine::Box place;        // filled in by prepare_box: its rows, in units
  uint32_t global_unit = 1;  // bytes of a unit in global memory
  uint32_t shared_unit = 1;  // and in shared memory
  uint32_t row_units = 0;    // of a row of the box
  uint32_t rows = 0;
  std::vector<machine::BoxRow> accessed;  // what is left of the rows where some memory may not be; else empty

  uint32_t row_bytes() const { return row_units * shared_unit; }
  uint32_t shared_bytes() const { return rows * row_bytes(); }
  // What an mbarrier counts: padding is not part of it.
  uint32_t transaction_bytes() const { return rows * row_units * global_unit; }
};

// Fills in what follows from map and coordinates (`at` in elements, the rows of a gather, the offsets of a
// column). Gives what is wrong with them, or an empty text.
std::string prepare_box(TensorBox& box, int rank, BoxMode mode);

// What a store or reduction of a tile writes of a row: whole chunks of 16 bytes, past the end of dimension 0, with
// what shared memory holds there, but not past the box.
machine::BoxRow stored_row(const TensorBox& box, machine::BoxRow row);

// Where byte `offset` of the box lies if the box begins at byte `start` of a block's shared memory.
uint32_t swizzled(const exec::TensorMap& map, uint32_t start, uint32_t offset);

// The box to and from shared memory; `shared` is the block's first byte. Addresses have been checked.
void load_box(const TensorBox& box, std::byte* shared, uint32_t start);
// `update`: what combines elements with those in memory; null: they are replaced.
void store_box(const TensorBox& box, const std::byte* shared, uint32_t start, Update update);

// What an instruction names.
struct BoxPlan {
  AddressPlace map, shared, barrier;
  int rank = 0;
  BoxMode mode = BoxMode::kTile;
  bool pair = false;  // .cta_group::2
  std::vector<uint32_t> coordinates;
  std::vector<uint32_t> offsets;  // im2col: of W, H, D
  uint32_t cta_mask = kNoRegister;
  AtomicOp reduction = AtomicOp::kNone;
};
void run_box_load(Lanes& l, const Operands& in);   // Operands::data: a BoxPlan with a barrier
void run_box_store(Lanes& l, const Operands& in);  // one without

}  // namespace triton_runner::simt
