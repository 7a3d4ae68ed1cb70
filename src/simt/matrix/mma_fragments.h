// What products share: types, scratch, and what mma.sync's rarer forms bring along: metadata of sparse
// matrices, scale factors of blocks.
#pragma once
#include <triton_runner/num/mma.h>

#include <optional>
#include <vector>

#include "matrix/matrix.h"

namespace triton_runner::simt {

// The element type of A or B; packed: two e2m1 a byte.
std::optional<num::MmaType> mma_type(ptx::Mod type, bool packed);
std::optional<num::MmaSum> mma_sum(ptx::Mod type);

// Of wgmma and tcgen05.mma, one for each thread of ours.
struct ProductScratch {
  num::MmaRows rows;
  num::MmaColumns columns;
  std::vector<uint8_t> a_tiles, b_tiles;
  std::vector<uint32_t> sums;
};

// mma.sp: of every group of elements of A only some are there; the metadata says which. PTX ISA 9.7.14.6.
struct SparseA {
  uint32_t metadata = kNoRegister;  // a register of 32 bits
  uint32_t selector = 0;            // which lanes of a quad hold the metadata
};
bool lower_sparse(Lowering& l, const ptx::Instruction& in, const num::MmaPlan& plan, size_t* operand,
                  SparseA* out);
// A with its zeros, row by row: 16 rows of plan.k elements, and which of them are there; false after a trap.
bool expand_sparse(Exec& x, const Operands& in, uint32_t warp, const SparseA& s, const num::MmaPlan& plan,
                   const uint32_t* const* a, float* dense, bool* present);

// .block_scale: scale factors in registers of some lanes. PTX ISA 9.7.14.3.
struct BlockScales {
  uint32_t a = kNoRegister, b = kNoRegister;  // registers of 32 bits
  uint32_t a_byte = kNoRegister, a_thread = kNoRegister, b_byte = kNoRegister, b_thread = kNoRegister;
  uint32_t vectors = 1;  // factors a row
  bool ue4m3 = false;
  uint32_t groups = 0;  // of 16 elements a row; 0: one factor for all
};
bool lower_scales(Lowering& l, const ptx::Instruction& in, const num::MmaPlan& plan, size_t operand,
                  BlockScales* out);
void load_scales(const Exec& x, uint32_t warp, const BlockScales& s, num::MmaRows& rows,
                 num::MmaColumns& columns);

}  // namespace triton_runner::simt
