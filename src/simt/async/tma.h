// Declares boxes of tensors: the global memory that a tensor map and coordinates select, and the layout of a
// box in shared memory. See PTX ISA 5.5.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include <triton_runner/machine/box.h>

#include "ops/atomic.h"

namespace triton_runner::simt {

enum class BoxMode : uint8_t { kTile, kGather, kIm2col };

// A box, divided into rows along dimension 0; in im2col mode a column of pixels with one row per pixel. A unit is one
// element, or 16 elements if they are smaller than a byte.
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
  std::vector<machine::BoxRow> accessed;  // accessible parts of the rows, if not all of them are; else empty

  uint32_t row_bytes() const { return row_units * shared_unit; }
  uint32_t shared_bytes() const { return rows * row_bytes(); }
  // The bytes that an mbarrier counts, without padding.
  uint32_t transaction_bytes() const { return rows * row_units * global_unit; }
};

// Computes the derived fields from the map and the coordinates (`at` in elements, the rows of a gather, the offsets of
// a column). Returns an error message, or an empty string.
std::string prepare_box(TensorBox& box, int rank, BoxMode mode);

// The part of a row that a store or reduction of a tile writes: whole chunks of 16 bytes, which can extend past the end
// of dimension 0 (with the contents of shared memory), but not past the box.
machine::BoxRow stored_row(const TensorBox& box, machine::BoxRow row);

// The address of byte `offset` of a box that begins at byte `start` of a block's shared memory.
uint32_t swizzled(const exec::TensorMap& map, uint32_t start, uint32_t offset);

// Copy the box to and from shared memory, whose first byte is `shared`. The addresses have been checked.
void load_box(const TensorBox& box, std::byte* shared, uint32_t start);
// `update` combines elements with those in memory; null: replaces them.
void store_box(const TensorBox& box, const std::byte* shared, uint32_t start, Update update);

// The operands that an instruction names.
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
void run_box_load(Exec& x, const Operands& in,
                  const BoxPlan& plan);                                // one with a barrier
void run_box_store(Exec& x, const Operands& in, const BoxPlan& plan);  // one without

}  // namespace triton_runner::simt
