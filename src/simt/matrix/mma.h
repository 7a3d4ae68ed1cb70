// Products of the matrices that a warp's registers hold.
//
// Every type has the same fragments: a register of A or B is a matrix of 8 rows of 16 bytes (as ldmatrix
// loads them), A's registers go down the rows first, and the accumulator has rows g and g + 8 and columns 2 t
// and 2 t + 1 of lane 4 g + t.
#pragma once
#include "matrix/mma_fragments.h"

namespace triton_runner::simt {

// How many registers each operand has and how large they are.
struct MmaFragments {
  uint32_t a[8], b[4], c[4], d[4];  // places
  uint32_t a_count = 0, b_count = 0, c_count = 0, d_count = 0;
};

struct Mma {
  num::MmaPlan plan[2];  // exact, fast
  MmaFragments f;
  int m = 16, k = 0;
  bool is_xor = false;  // b1: xor, else and
  std::optional<SparseA> sparse;
  std::optional<BlockScales> scales;
};
// Operands::data is the Mma.
void run_mma(Lanes& lanes, const Operands& in);
void run_f64(Lanes& lanes, const Operands& in);
void run_b1(Lanes& lanes, const Operands& in);

}  // namespace triton_runner::simt
