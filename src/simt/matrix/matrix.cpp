// Moves 8 by 8 matrices between shared memory and the registers of a warp.
//
// A register of a warp holds a matrix of 8 rows of 16 bytes, row after row: lane l has bytes 4 * (l % 4) of
// row l / 4. So loading a matrix is copying eight rows of 16 bytes.
#include "matrix/matrix.h"

#include <cstring>

#include <triton_runner/lanes/transpose.h>
#include "check/check.h"
#include "state/refuse.h"

namespace triton_runner::simt {

void unpack(uint32_t bits, const void* from, uint8_t* to) {
  if (bits == 8) return static_cast<void>(std::memmove(to, from, 16));
  uint8_t raw[16];
  std::memcpy(raw, from, 16);
  for (uint32_t i = 0; i < 16; ++i) {
    const uint32_t at = i * bits, pair = raw[at / 8] | static_cast<uint32_t>(raw[at / 8 + 1]) << 8;
    to[i] = static_cast<uint8_t>(pair >> (at % 8) & ((1u << bits) - 1));
  }
}

bool matrix_rows(Exec& x, const Operands& in, const AddressPlace& address, uint32_t warp, uint32_t n,
                 bool write, std::byte** out) {
  const Cta& cta = *x.cta;
  if (address.bytes == 4 && !x.worker->each_access) {
    const uint32_t* base = x.reg<uint32_t>(address.place) + warp;
    const uint32_t add = static_cast<uint32_t>(address.offset) - cta.shared_base;
    uint32_t highest = 0, low = 0;
    for (uint32_t i = 0; i < n; ++i) {
      const uint32_t at = base[i] + add;
      highest = at > highest ? at : highest;
      low |= at;
    }
    if (cta.shared_bytes >= 16 && highest <= cta.shared_bytes - 16 && low % 16 == 0) [[likely]] {
      for (uint32_t i = 0; i < n; ++i) out[i] = cta.shared + (base[i] + add);
      return true;
    }
  }
  for (uint32_t i = 0; i < n; ++i) {
    const uint64_t at = address.at(x, warp + i);
    const bool window = (at & kWindowMask) == kSharedWindow;
    if (at % 16 != 0)
      return refuse(x, in, exec::TrapKind::kMisaligned,
                    "the address of a matrix row is " + std::to_string(at & kOffsetMask) +
                        " bytes into shared memory, which is not a multiple of 16",
                    warp + i, kSharedWindow | (at & kOffsetMask), 16);
    out[i] = !address.generic || window ? x.shared(in, warp + i, static_cast<uint32_t>(at), 16, write)
                                        : x.generic(in, warp + i, at, 16, write);
    if (!out[i]) return false;
  }
  return true;
}

namespace {

// Loads of whole matrices of 16-bit elements: what compilers emit.
template <bool kTrans>
void run_load(Exec& x, const Operands& in, const Matrices& m) {
  if (!x.converged(instr_of(in))) return;
  const Cta& cta = *x.cta;
  const uint32_t add = static_cast<uint32_t>(m.address.offset) - cta.shared_base;
  bool usual = m.address.bytes == 4 && !x.worker->each_access;
  // Checked together where each thread has the address of a row.
  if (m.address.bytes == 4 && m.count == 4 && x.worker->checks && !x.worker->counting &&
      cta.shared_bytes >= 16) {
    const uint32_t* address = x.reg<uint32_t>(m.address.place);
    usual = m.tables->highest(address, add, x.mask, x.count) <= cta.shared_bytes - 16 &&
            m.tables->any_bits(address, add, x.mask, x.count) % 16 == 0 &&
            x.worker->checks->at_once(x, in, address, add, {16});
  }
  for (uint32_t w : x.warps()) {
    std::byte* to[4];
    for (uint32_t r = 0; r < m.count; ++r)
      to[r] = reinterpret_cast<std::byte*>(x.reg<uint32_t>(m.registers[r]) + w);
    if (usual && m.tables->load_matrices(cta.shared, cta.shared_bytes, x.reg<uint32_t>(m.address.place) + w,
                                         add, m.count, kTrans, to)) [[likely]]
      continue;
    std::byte* rows[32];
    if (!matrix_rows(x, in, m.address, w, 8u * m.count, false, rows)) return;
    for (uint32_t r = 0; r < m.count; ++r) {
      lanes::MatrixRow tile[8];
      for (uint32_t i = 0; i < 8; ++i) tile[i] = lanes::load_row(rows[8 * r + i]);
      if constexpr (kTrans) lanes::transpose(tile);
      for (uint32_t i = 0; i < 8; ++i) lanes::store_row(to[r] + 16 * i, tile[i]);
    }
  }
}

// Elements of 8 bits: transposed ones, and 6 or 4 bits that become 8.
void run_load_bytes(Exec& x, const Operands& in, const Matrices& m) {
  if (!x.converged(instr_of(in))) return;
  const uint32_t per_matrix = m.rows / 8u;  // registers
  for (uint32_t w : x.warps()) {
    std::byte* rows[32];
    const uint32_t matrices = m.count / per_matrix;
    if (!matrix_rows(x, in, m.address, w, m.rows * matrices, false, rows)) return;
    for (uint32_t n = 0; n < matrices; ++n) {
      uint8_t tile[16][16];
      for (uint32_t i = 0; i < m.rows; ++i) unpack(m.bits, rows[n * m.rows + i], tile[i]);
      for (uint32_t r = 0; r < per_matrix; ++r) {
        auto* d = reinterpret_cast<uint8_t*>(x.reg<uint32_t>(m.registers[n * per_matrix + r]) + w);
        if (!m.trans) {
          std::memcpy(d, tile, 128);
          continue;
        }
        // Byte i of lane 4 g + t: row 4 t + i, column g + 8 r.
        for (uint32_t lane = 0; lane < 32; ++lane)
          for (uint32_t i = 0; i < 4; ++i) d[4 * lane + i] = tile[4 * (lane % 4) + i][lane / 4 + 8 * r];
      }
    }
  }
}

}  // namespace

void store_matrices(Exec& x, const Operands& in, const Matrices& m) {
  if (!x.converged(instr_of(in))) return;
  for (uint32_t w : x.warps()) {
    std::byte* rows[32];
    if (!matrix_rows(x, in, m.address, w, 8u * m.count, true, rows)) return;
    for (uint32_t r = 0; r < m.count; ++r) {
      const auto* s = reinterpret_cast<const std::byte*>(x.reg<uint32_t>(m.registers[r]) + w);
      if (m.bytes) {
        // Byte i of lane 4 g + t goes to row 2 t + i % 2, byte g + 8 (i / 2).
        for (uint32_t lane = 0; lane < 32; ++lane)
          for (uint32_t i = 0; i < 4; ++i)
            rows[8 * r + 2 * (lane % 4) + i % 2][lane / 4 + 8 * (i / 2)] = s[4 * lane + i];
        continue;
      }
      lanes::MatrixRow tile[8];
      for (uint32_t i = 0; i < 8; ++i) tile[i] = lanes::load_row(s + 16 * i);
      if (m.trans) lanes::transpose(tile);
      for (uint32_t i = 0; i < 8; ++i) lanes::store_row(rows[8 * r + i], tile[i]);
    }
  }
}

void move_matrix(Exec& x, const Operands& in) {
  if (!x.converged(instr_of(in))) return;
  for (uint32_t w : x.warps()) {
    const auto* a = reinterpret_cast<const std::byte*>(x.reg<uint32_t>(in.a) + w);
    auto* d = reinterpret_cast<std::byte*>(x.reg<uint32_t>(in.d) + w);
    lanes::MatrixRow tile[8];
    for (uint32_t i = 0; i < 8; ++i) tile[i] = lanes::load_row(a + 16 * i);
    lanes::transpose(tile);
    for (uint32_t i = 0; i < 8; ++i) lanes::store_row(d + 16 * i, tile[i]);
  }
}

Handler load_handler(const Matrices& m) {
  return m.bytes ? handler<run_load_bytes> : m.trans ? handler<run_load<true>> : handler<run_load<false>>;
}

}  // namespace triton_runner::simt
