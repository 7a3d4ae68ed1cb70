// Declares mma.sync: products of the matrices that a warp's registers hold.
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

// A warp multiplies this at once: some fragments of A, down the rows, with some of B, side by side. It stands for
// one mma.sync, or for all those in a row that are one product of larger matrices: each fragment is then made ready
// once, and steps along k of the same sum are one longer row.
struct MmaGroup {
  num::MmaPlan plan[2];        // exact, fast; of all steps along k
  std::vector<uint32_t> a, b;  // places, of one fragment after the other
  struct Sum {
    uint32_t c[4], d[4];
  };
  std::vector<Sum> sums;  // row after row
  uint32_t rows = 1, columns = 1;
  bool overwrites = false;      // registers of A or B
  uint32_t following = 0;       // instructions after the first that it stands for
  std::vector<uint32_t> moves;  // which of them only copy registers: they come first
};

struct Mma {
  num::MmaPlan plan[2];  // exact, fast
  MmaFragments f;
  MmaGroup alone;                 // of this instruction
  std::optional<MmaGroup> whole;  // that begins with it
  int m = 16, k = 0;
  bool is_xor = false;  // b1: xor, else and
  std::optional<SparseA> sparse;
  std::optional<BlockScales> scales;
};
void run_mma(Exec& x, const Operands& in, const Mma& m);
void run_f64(Exec& x, const Operands& in, const Mma& m);
void run_b1(Exec& x, const Operands& in, const Mma& m);

// Makes MmaGroup of one instruction.
void set_alone(Mma& m);
// Fills in what follows from the rest.
void finish(MmaGroup& group, const Mma& m);
// Finds the products that are one. A front end with mma.sync calls it when all code is there.
void join_products(Code& code);

}  // namespace triton_runner::simt
