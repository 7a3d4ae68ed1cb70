// Declares the shape of a tcgen05.mma: the instruction's operands, its instruction descriptor, and where rows
// and columns of D lie in tensor memory. See PTX ISA 9.7.16.4, 9.7.16.10.5.
//
// Rows of D are lanes: all 128 for M = 128 (256 with a pair of blocks); for M = 64 of one block the first 16 of
// each quarter, and so for a sparse A and M = 128 of a pair. Where fewer rows use all lanes the columns are cut in
// parts, one below the other: two for a dense A and M = 128 of a pair and for M = 64 of the .ws form, four for
// its M = 32. Each part reads its own lanes of A and of the metadata, where they are in tensor memory.
#pragma once
#include <cstdint>
#include <vector>

#include "matrix/mma_fragments.h"
#include "state/tensor_memory.h"

namespace triton_runner::simt {

enum class Tcgen05Kind : uint8_t { kF16, kTf32, kF8f6f4, kI8, kMxf8f6f4, kMxf4 };

struct Tcgen05Product {
  Tcgen05Kind kind = Tcgen05Kind::kF16;
  bool pair = false;
  bool sparse = false;
  bool stationary = false;  // .ws
  bool shift = false;       // .ashift: A's rows go down by one afterwards
  TensorAddress d, a, metadata;
  bool a_in_tensor = false;
  uint32_t a_descriptor = kNoRegister, b_descriptor = kNoRegister, instruction = kNoRegister;
  uint32_t add = kNoRegister;           // a predicate: whether D is added
  uint32_t zero_columns = kNoRegister;  // .ws: a descriptor of columns of B that count as zeros
  int scale_d = 0;                      // D is multiplied by 2^-scale_d
  uint32_t disable[8];                  // lanes that are not written
  uint32_t disable_count = 0;
  TensorAddress a_scale, b_scale;
  uint32_t vectors = 1;  // scale factors of a row: 1, 2 or 4
  bool scaled() const { return kind == Tcgen05Kind::kMxf8f6f4 || kind == Tcgen05Kind::kMxf4; }
  uint32_t b_bytes() const { return sparse ? 64 : 32; }  // of k, of a column of B
};
void run_tcgen05_product(Exec& x, const Operands& in, const Tcgen05Product& p);

// The instruction descriptor.
struct Tcgen05Shape {
  uint32_t m, n, k;  // k in elements
  num::MmaType a, b;
  num::MmaSum sum;
  bool trans_a, trans_b, negate_a, negate_b, saturate, ue4m3;
  uint32_t a_id, b_id;  // first byte of the scale factors
  uint32_t selector;    // of a sparse A: which column of the metadata
  uint32_t max_shift;   // .ws: by how many columns B may be shifted
};
// Null, or what is wrong with the descriptor.
const char* decode_tcgen05(const Tcgen05Product& p, uint32_t bits, Tcgen05Shape* s);

struct Tcgen05Layout {
  uint32_t blocks;  // 2 with a pair
  uint32_t rows;    // of A and D, in each block
  uint32_t parts;   // of the columns
  bool half;        // 16 of every 32 lanes
  Tcgen05Layout(const Tcgen05Product& p, const Tcgen05Shape& s);
  // Rows [first, first + 16) of a part begin at this lane.
  uint32_t lane(uint32_t first, uint32_t part) const {
    return (half ? first / 16 * 32 : first) + part * (kTensorLanes / parts);
  }
};

// The zero-column mask descriptor, PTX ISA 9.7.16.4.3: which of N columns are zeros, and by how many columns of
// B the product begins later.
struct ZeroColumns {
  std::vector<bool> zero;
  uint32_t shift = 0;
  ZeroColumns(uint64_t descriptor, uint32_t n, uint32_t parts);
};

}  // namespace triton_runner::simt
