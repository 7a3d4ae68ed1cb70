// Declares matrices in shared memory that a 64-bit descriptor describes: operands of wgmma and tcgen05.mma.
// See PTX ISA 9.7.15.5.1 and 9.7.16.4 to 9.7.16.6.
//
// Memory is made of chunks of 16 bytes, along k (K-major) or along the rows (MN-major: "rows" are rows of A,
// columns of B). Atoms of 8 rows or 8 k are repeated at the leading and the stride byte offset; in swizzled
// layouts address bits 4 to 6 are exclusive-or'ed with bits 7 to 9, as far as the mode's width reaches.
#pragma once
#include <cstdint>

#include "state/exec.h"

namespace triton_runner::simt {

struct SharedMatrix {
  uint32_t start = 0;                // byte in the block's shared memory
  uint32_t leading = 0, stride = 0;  // bytes
  uint32_t base = 0;                 // base offset: which 128-byte line of the pattern an aligned address is
  uint32_t swizzle = 0;              // bytes: 0, 32, 64, 128
  bool halves = false;               // 128 bytes swizzled in units of 32
  bool mn_major = false;
  bool absolute = false;  // the leading offset is an address (tcgen05, k of 48 bytes)

  uint32_t k_chunk(uint32_t row, uint32_t chunk) const;  // K-major: 16 bytes of a row
  uint32_t mn_chunk(uint32_t chunk, uint32_t k) const;   // MN-major: 16 bytes of rows at one k
 private:
  uint32_t swizzled(uint32_t address) const;
};
SharedMatrix wgmma_matrix(uint64_t descriptor, bool mn_major);
// False: the bits name a layout that does not exist.
bool tcgen05_matrix(uint64_t descriptor, bool mn_major, SharedMatrix* out);

// Rows [first, first + rows) (`rows` a multiple of 8) of `k_bytes` bytes of k (a multiple of 16) as tiles of 8 rows
// of 16 bytes: tile (row / 8) * (k_bytes / 16) + chunk. `bits` an element. Where a chunk holds 16 elements of `packed`
// bits, 6 or 4, and padding after them, each becomes a byte as the product's types have it. False after a trap.
bool gather_tiles(Exec& x, const Operands& in, const Cta& cta, const SharedMatrix& m, uint32_t first,
                  uint32_t rows, uint32_t k_bytes, uint32_t bits, uint8_t* tiles, uint32_t packed = 8);

// f(address) for each of the chunks that gather_tiles reads.
template <class F>
void each_chunk(const SharedMatrix& m, uint32_t first, uint32_t rows, uint32_t k_bytes, uint32_t bits, F f) {
  if (!m.mn_major) {
    for (uint32_t row = first; row < first + rows; ++row)
      for (uint32_t chunk = 0; chunk < k_bytes / 16; ++chunk) f(m.k_chunk(row, chunk));
    return;
  }
  const uint32_t per_chunk = 128 / bits;
  for (uint32_t k = 0; k < k_bytes * 8 / bits; ++k)
    for (uint32_t chunk = first / per_chunk; chunk * per_chunk < first + rows; ++chunk)
      f(m.mn_chunk(chunk, k));
}

}  // namespace triton_runner::simt
