// Declares what all products share (types, scratch), and what mma.sync's rarer forms bring along: metadata of
// sparse matrices, scale factors of blocks.
#pragma once
#include <triton_runner/num/mma.h>

#include <vector>

#include "matrix/matrix.h"

namespace triton_runner::simt {

// The scratch of wgmma and tcgen05.mma, one for each thread of ours.
struct ProductScratch {
  num::MmaRows rows;
  num::MmaColumns columns;
  std::vector<uint8_t> a_tiles, b_tiles;
  std::vector<uint32_t> sums;
};

// Sparse A: of every four units of a row two are there; the metadata says which. A unit is a byte for operands
// of 8 bits and for pairs of 4 bits, else two bytes (a tf32 is two neighbouring units). See PTX ISA 9.7.14.6,
// 9.7.15.6, 9.7.16.10.8.
struct SparsePlaces {
  // The place among four of each unit of a row that is there, two bits a unit, in ascending order.
  uint64_t rows[16];
};
inline uint32_t sparse_unit(const num::MmaPlan& plan) { return num::mma_bits(plan.a) <= 8 ? 1 : 2; }
// 16 rows of A with their zeros, plan.k elements each, and which of them are there. `tiles`: what is there, as
// mma_pack_rows takes it. Null, or what is wrong with the metadata.
const char* expand_rows(const num::MmaPlan& plan, const void* const* tiles, const SparsePlaces& places,
                        std::vector<float>& dense, std::vector<uint8_t>& present);
// The same, packed; false after a trap, which names thread `lane`.
bool pack_sparse_rows(Exec& x, const Operands& in, uint32_t lane, const num::MmaPlan& plan,
                      const void* const* tiles, const SparsePlaces& places, num::MmaRows& rows);

// mma.sp and wgmma.sp: the metadata is in registers of some lanes of each quad.
struct SparseA {
  uint32_t metadata = kNoRegister;  // a register of 32 bits
  uint32_t selector = 0;            // which lanes of a quad hold the metadata
};
// Returns how many lanes of a quad hold metadata.
uint32_t sparse_lanes(const num::MmaPlan& plan);
// Reads the places from the metadata in the 32 registers of a warp.
SparsePlaces sparse_places(const num::MmaPlan& plan, uint32_t selector, const uint32_t* metadata);

// .block_scale: scale factors in registers of some lanes. See PTX ISA 9.7.14.3.
struct BlockScales {
  uint32_t a = kNoRegister, b = kNoRegister;  // registers of 32 bits
  uint32_t a_byte = kNoRegister, a_thread = kNoRegister, b_byte = kNoRegister, b_thread = kNoRegister;
  uint32_t vectors = 1;  // factors a row
  bool ue4m3 = false;
  uint32_t groups = 0;  // of 16 elements a row; 0: one factor for all
};
void load_scales(const Exec& x, uint32_t warp, const BlockScales& s, num::MmaRows& rows,
                 num::MmaColumns& columns);

}  // namespace triton_runner::simt
