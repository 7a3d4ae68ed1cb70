// Finds the addresses of matrices in shared memory by their descriptors, and copies their tiles.
#include "matrix/matrix_descriptor.h"

#include <cstring>
#include <string>

#include "matrix/matrix.h"

namespace triton_runner::simt {

uint32_t SharedMatrix::swizzled(uint32_t address) const {
  const uint32_t line = (address >> 7) - base;
  if (halves) return address ^ (line & 3) << 5;
  switch (swizzle) {
    case 128:
      return address ^ (line & 7) << 4;
    case 64:
      return address ^ (line & 3) << 4;
    case 32:
      return address ^ (line & 1) << 4;
    default:
      return address;
  }
}

uint32_t SharedMatrix::k_chunk(uint32_t row, uint32_t chunk) const {
  if (swizzle == 0) return start + row / 8 * stride + row % 8 * 16 + chunk * leading;
  return swizzled(start + row / 8 * stride + row % 8 * swizzle + chunk * 16);
}

uint32_t SharedMatrix::mn_chunk(uint32_t chunk, uint32_t k) const {
  if (swizzle == 0) return start + chunk * stride + k % 8 * 16 + k / 8 * leading;
  const uint32_t width = swizzle / 16, lines = halves ? 4 : 8;
  return swizzled(start + chunk % width * 16 + chunk / width * leading + k % lines * swizzle +
                  k / lines * stride);
}

SharedMatrix wgmma_matrix(uint64_t descriptor, bool mn_major) {
  SharedMatrix m;
  m.start = static_cast<uint32_t>(descriptor & 0x3fff) << 4;
  m.leading = static_cast<uint32_t>(descriptor >> 16 & 0x3fff) << 4;
  m.stride = static_cast<uint32_t>(descriptor >> 32 & 0x3fff) << 4;
  m.base = static_cast<uint32_t>(descriptor >> 49 & 7);
  constexpr uint32_t kWidths[] = {0, 128, 64, 32};
  m.swizzle = kWidths[descriptor >> 62];
  m.mn_major = mn_major;
  return m;
}

bool tcgen05_matrix(uint64_t descriptor, bool mn_major, SharedMatrix* out) {
  SharedMatrix& m = *out;
  m = wgmma_matrix(descriptor, mn_major);
  m.absolute = descriptor >> 52 & 1;
  m.halves = false;
  switch (descriptor >> 61) {
    case 0:
      m.swizzle = 0;
      return true;
    case 1:
      m.swizzle = 128;
      m.halves = true;
      return true;
    case 2:
      m.swizzle = 128;
      return true;
    case 4:
      m.swizzle = 64;
      return true;
    case 6:
      m.swizzle = 32;
      return true;
    default:
      return false;
  }
}

namespace {

void outside(Exec& x, const Operands& in, const Cta& cta, uint32_t address) {
  x.trap(in, exec::TrapKind::kOutOfBounds,
         "a matrix descriptor reaches shared address " + std::to_string(address) + ": the block has " +
             std::to_string(cta.shared_bytes) + " bytes of shared memory",
         kNoRegister, kSharedWindow | address, 16);
}

// The 16 bytes at `address`, through the checks if there are any; null after a trap.
const std::byte* chunk_at(Exec& x, const Operands& in, const Cta& cta, uint32_t address) {
  if (x.launch().checked) return x.shared(in, 0, cta.shared_base | address, 16, false);
  if (address + uint64_t{16} <= cta.shared_bytes) [[likely]]
    return cta.shared + address;
  outside(x, in, cta, address);
  return nullptr;
}

// The 16 elements of a chunk as bytes, those of 4 bits in bits 2 to 5.
void widen_chunk(uint32_t packed, const void* from, uint8_t* to) {
  unpack(packed, from, to);
  for (uint32_t i = 0; packed == 4 && i < 16; ++i) to[i] = static_cast<uint8_t>(to[i] << 2);
}

// MN-major: element (row, k) of `bits` bits, found by its chunk. Where elements are packed, those of a chunk are of 16 rows.
bool gather_transposed(Exec& x, const Operands& in, const Cta& cta, const SharedMatrix& m, uint32_t first,
                       uint32_t rows, uint32_t k_bytes, uint32_t bits, uint8_t* tiles, uint32_t packed) {
  const uint32_t bytes = bits / 8, per_chunk = 16 / bytes, elements = k_bytes / bytes, wide = k_bytes / 16;
  for (uint32_t k = 0; k < elements; ++k)
    for (uint32_t chunk = first / per_chunk; chunk * per_chunk < first + rows; ++chunk) {
      const uint32_t address = m.mn_chunk(chunk, k);
      const std::byte* from = chunk_at(x, in, cta, address);
      if (!from) return false;
      uint8_t wide_chunk[16];
      widen_chunk(packed, from, wide_chunk);
      for (uint32_t i = 0; i < per_chunk; ++i) {
        const uint32_t row = chunk * per_chunk + i;
        if (row < first || row >= first + rows) continue;
        uint8_t* to = tiles + ((row - first) / 8 * wide + k * bytes / 16) * 128 + (row - first) % 8 * 16 +
                      k * bytes % 16;
        std::memcpy(to, wide_chunk + i * bytes, bytes);
      }
    }
  return true;
}

// Whole tiles, as ldmatrix loads them. False: one is not within shared memory.
bool gather_matrices(const Cta& cta, const SharedMatrix& m, uint32_t first, uint32_t high, uint32_t wide,
                     uint8_t* tiles) {
  constexpr uint32_t kAtOnce = 4;
  const Tables& tables = simd_tables(num::current_isa());
  const uint32_t count = high * wide;
  for (uint32_t t = 0; t < count; t += kAtOnce) {
    uint32_t at[8 * kAtOnce];
    std::byte* out[kAtOnce];
    const uint32_t n = count - t < kAtOnce ? count - t : kAtOnce;
    for (uint32_t q = 0; q < n; ++q) {
      const uint32_t row = first + (t + q) / wide * 8, chunk = (t + q) % wide;
      for (uint32_t i = 0; i < 8; ++i)
        at[8 * q + i] = m.mn_major ? m.mn_chunk(row / 8, 8 * chunk + i) : m.k_chunk(row + i, chunk);
      out[q] = reinterpret_cast<std::byte*>(tiles + 128 * (t + q));
    }
    if (!tables.load_matrices(cta.shared, cta.shared_bytes, at, 0, n, m.mn_major, out)) return false;
  }
  return true;
}

}  // namespace

bool gather_tiles(Exec& x, const Operands& in, const Cta& cta, const SharedMatrix& m, uint32_t first,
                  uint32_t rows, uint32_t k_bytes, uint32_t bits, uint8_t* tiles, uint32_t packed) {
  const uint32_t wide = k_bytes / 16;
  const bool usual = packed == 8 && !x.launch().checked && (!m.mn_major || (bits == 16 && first % 8 == 0));
  if (usual && gather_matrices(cta, m, first, rows / 8, wide, tiles)) [[likely]]
    return true;
  if (m.mn_major) return gather_transposed(x, in, cta, m, first, rows, k_bytes, bits, tiles, packed);
  for (uint32_t row = 0; row < rows; ++row)
    for (uint32_t chunk = 0; chunk < wide; ++chunk) {
      const uint32_t address = m.k_chunk(first + row, chunk);
      const std::byte* from = chunk_at(x, in, cta, address);
      if (!from) return false;
      widen_chunk(packed, from, tiles + (row / 8 * wide + chunk) * 128 + row % 8 * 16);
    }
  return true;
}

}  // namespace triton_runner::simt
