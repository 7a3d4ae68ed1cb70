// Declares ldmatrix, stmatrix and movmatrix: matrices between shared memory and the registers of a warp, in
// rows of 16 bytes.
#pragma once
#include <cstdint>

#include "state/address.h"

namespace triton_runner::simt {

// The host addresses of the rows of 16 bytes that lanes [warp, warp + n) point to; false after a trap.
bool matrix_rows(Exec& x, const Operands& in, const AddressPlace& address, uint32_t warp, uint32_t n,
                 bool write, std::byte** out);

// 16 elements of so many bits (4, 6 or 8), in the first of 16 bytes, become 16 bytes. They may be the same.
void unpack(uint32_t bits, const void* from, uint8_t* to);

struct Matrices {
  const Tables* tables = &simd_tables(num::current_isa());
  AddressPlace address;
  uint32_t registers[4];
  uint8_t count = 0;  // registers
  bool trans = false;
  bool bytes = false;  // 8-bit elements: m16n16, m16n8
  uint8_t rows = 8;    // whose addresses are given, of one matrix
  uint8_t bits = 8;    // of an element in memory: 8, 6, 4
};
// Operands::data is the Matrices.
Handler load_handler(const Matrices& matrices);
void store_matrices(Exec& x, const Operands& in, const Matrices& matrices);
void move_matrix(Exec& x, const Operands& in);  // d: the transposed a

}  // namespace triton_runner::simt
