// Matrices between shared memory and the registers of a warp, in rows of 16 bytes.
#pragma once
#include <cstdint>

#include "exec.h"
#include "simd/tables.h"

namespace triton_runner::simt {

// An address operand of shared memory, one value a lane.
struct MatrixAddress {
  uint32_t place = kNoRegister;  // none: `offset` is all
  uint32_t bytes = 4;            // of the register
  int64_t offset = 0;
  bool is_shared = true;  // else generic
};
// The host addresses of the rows of 16 bytes that lanes [warp, warp + n) point to; false after a trap.
bool matrix_rows(Exec& x, const Operands& in, const MatrixAddress& address, uint32_t warp, uint32_t n,
                 bool write, std::byte** out);

enum class Unpack : uint8_t { kNone, k6, k4 };  // of 16 elements in 16 bytes
struct Matrices {
  const Tables* tables = &simd_tables(num::current_isa());
  MatrixAddress address;
  uint32_t registers[4];
  uint8_t count = 0;  // registers
  bool trans = false;
  bool bytes = false;  // 8-bit elements: m16n16, m16n8
  uint8_t rows = 8;    // whose addresses are given, of one matrix
  Unpack unpack = Unpack::kNone;
};
// Operands::data is the Matrices.
Handler load_handler(const Matrices& matrices);
void store_matrices(Exec& x, const Operands& in, const Matrices& matrices);
void move_matrix(Exec& x, const Operands& in);  // d: the transposed a

}  // namespace triton_runner::simt
