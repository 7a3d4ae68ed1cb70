// 8 by 8 matrices between shared memory and the registers of a warp: ldmatrix, stmatrix, movmatrix. PTX ISA
// 9.7.14.5.15 to 9.7.14.5.17.
//
// A register of a warp holds a matrix of 8 rows of 16 bytes, row after row: lane l has bytes 4 * (l % 4) of
// row l / 4. So loading a matrix is copying eight rows of 16 bytes.
#include "matrix/matrix.h"

#include <cstring>

#include "exec.h"
#include "lower.h"
#include "warp.h"

namespace triton_runner::simt {

using ptx::Mod;
using ptx::OperandKind;

namespace {

typedef uint16_t Row __attribute__((vector_size(16)));

Row load_row(const void* p) {
  Row r;
  std::memcpy(&r, p, 16);
  return r;
}
void store_row(void* p, Row r) { std::memcpy(p, &r, 16); }

void transpose(Row (&r)[8]) {
  Row t[8], u[8];
  for (int i = 0; i < 4; ++i) {
    t[2 * i] = __builtin_shufflevector(r[2 * i], r[2 * i + 1], 0, 8, 1, 9, 2, 10, 3, 11);
    t[2 * i + 1] = __builtin_shufflevector(r[2 * i], r[2 * i + 1], 4, 12, 5, 13, 6, 14, 7, 15);
  }
  for (int i = 0; i < 2; ++i) {
    u[4 * i] = __builtin_shufflevector(t[4 * i], t[4 * i + 2], 0, 1, 8, 9, 2, 3, 10, 11);
    u[4 * i + 1] = __builtin_shufflevector(t[4 * i], t[4 * i + 2], 4, 5, 12, 13, 6, 7, 14, 15);
    u[4 * i + 2] = __builtin_shufflevector(t[4 * i + 1], t[4 * i + 3], 0, 1, 8, 9, 2, 3, 10, 11);
    u[4 * i + 3] = __builtin_shufflevector(t[4 * i + 1], t[4 * i + 3], 4, 5, 12, 13, 6, 7, 14, 15);
  }
  for (int i = 0; i < 4; ++i) {
    r[2 * i] = __builtin_shufflevector(u[i], u[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
    r[2 * i + 1] = __builtin_shufflevector(u[i], u[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
  }
}

enum class Unpack : uint8_t { kNone, k6, k4 };  // of 16 elements in 16 bytes

struct Matrices {
  MatrixAddress address;
  uint32_t registers[4];
  uint8_t count = 0;  // registers
  bool trans = false;
  bool bytes = false;  // 8-bit elements: m16n16, m16n8
  uint8_t rows = 8;    // whose addresses are given, of one matrix
  Unpack unpack = Unpack::kNone;
};

// 16 elements of 6 or 4 bits in the first bytes become 16 bytes.
void unpack_row(Unpack how, const uint8_t* in, uint8_t* out) {
  if (how == Unpack::kNone) {
    std::memcpy(out, in, 16);
    return;
  }
  const uint32_t bits = how == Unpack::k6 ? 6 : 4;
  for (uint32_t i = 0; i < 16; ++i) {
    const uint32_t at = i * bits, pair = in[at / 8] | static_cast<uint32_t>(in[at / 8 + 1]) << 8;
    out[i] = static_cast<uint8_t>(pair >> (at % 8) & ((1u << bits) - 1));
  }
}

}  // namespace

bool matrix_rows(Exec& x, const Operands& in, const MatrixAddress& address, uint32_t warp, uint32_t n,
                 bool write, std::byte** out) {
  const Cta& cta = *x.cta;
  if (address.place != kNoRegister && address.bytes == 4 && !x.worker->checks) {
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
    uint64_t at = static_cast<uint64_t>(address.offset);
    if (address.place != kNoRegister)
      at += address.bytes == 4 ? x.reg<uint32_t>(address.place)[warp + i]
                               : x.reg<uint64_t>(address.place)[warp + i];
    else
      at += cta.shared_base;
    const bool window = (at & kWindowMask) == kSharedWindow;
    if (at % 16 != 0) {
      x.trap(in, exec::TrapKind::kMisaligned,
             "the address of a matrix row is " + std::to_string(at & kOffsetMask) +
                 " bytes into shared memory, which is not a multiple of 16",
             warp + i, kSharedWindow | (at & kOffsetMask), 16);
      return false;
    }
    out[i] = address.is_shared || window ? x.shared(in, warp + i, static_cast<uint32_t>(at), 16, write)
                                         : x.generic(in, warp + i, at, 16, write);
    if (!out[i]) return false;
  }
  return true;
}

bool lower_matrix_address(Lowering& l, const ptx::Instruction& in, const ptx::Operand& operand,
                          MatrixAddress* out) {
  Lowering::Address a;
  if (!l.address(operand, &a)) return false;
  out->is_shared = in.has(Mod::kShared) || in.has(Mod::kSharedCta) || a.variable;
  out->place = a.place;
  out->bytes = a.bytes;
  out->offset = a.offset + (a.variable ? l.shared_offset(*a.variable) : 0);
  return true;
}

bool lower_registers(Lowering& l, const ptx::Instruction& in, const ptx::Operand& operand, Mod type,
                     bool written, uint32_t* places, uint32_t* count, uint32_t most) {
  std::span<const ptx::Operand> parts(&operand, 1);
  if (operand.kind == OperandKind::kVector) parts = operand.parts;
  if (parts.size() > most)
    return l.error(operand.offset, "expected at most " + std::to_string(most) + " registers, there are " +
                                       std::to_string(parts.size()));
  (void)in;
  *count = static_cast<uint32_t>(parts.size());
  for (size_t i = 0; i < parts.size(); ++i) {
    places[i] = written ? l.reg(parts[i]) : l.place(parts[i], type);
    if (places[i] == kNoRegister && parts[i].kind != OperandKind::kSink) return false;
    if (places[i] == kNoRegister) places[i] = l.temporary(static_cast<uint32_t>(ptx::bits(type)) / 8);
  }
  return true;
}

namespace {

// Loads of whole matrices of 16-bit elements: what compilers emit.
template <bool kTrans>
void run_load(Lanes& lanes, const Operands& in) {
  Exec& x = exec_of(lanes);
  if (!x.converged(instr_of(in))) return;
  const auto& m = *static_cast<const Matrices*>(in.data);
  for (uint32_t w = 0; w < x.count; w += 32) {
    if (x.mask && !x.mask[w]) continue;
    std::byte* rows[32];
    if (!matrix_rows(x, in, m.address, w, 8u * m.count, false, rows)) return;
    for (uint32_t r = 0; r < m.count; ++r) {
      std::byte* d = reinterpret_cast<std::byte*>(x.reg<uint32_t>(m.registers[r]) + w);
      Row tile[8];
      for (uint32_t i = 0; i < 8; ++i) tile[i] = load_row(rows[8 * r + i]);
      if constexpr (kTrans) transpose(tile);
      for (uint32_t i = 0; i < 8; ++i) store_row(d + 16 * i, tile[i]);
    }
  }
}

// Elements of 8 bits: transposed ones, and 6 or 4 bits that become 8.
void run_load_bytes(Lanes& lanes, const Operands& in) {
  Exec& x = exec_of(lanes);
  if (!x.converged(instr_of(in))) return;
  const auto& m = *static_cast<const Matrices*>(in.data);
  const uint32_t per_matrix = m.rows / 8u;  // registers
  for (uint32_t w = 0; w < x.count; w += 32) {
    if (x.mask && !x.mask[w]) continue;
    std::byte* rows[32];
    const uint32_t matrices = m.count / per_matrix;
    if (!matrix_rows(x, in, m.address, w, m.rows * matrices, false, rows)) return;
    for (uint32_t n = 0; n < matrices; ++n) {
      uint8_t tile[16][16];
      for (uint32_t i = 0; i < m.rows; ++i)
        unpack_row(m.unpack, reinterpret_cast<const uint8_t*>(rows[n * m.rows + i]), tile[i]);
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

void run_store(Lanes& lanes, const Operands& in) {
  Exec& x = exec_of(lanes);
  if (!x.converged(instr_of(in))) return;
  const auto& m = *static_cast<const Matrices*>(in.data);
  for (uint32_t w = 0; w < x.count; w += 32) {
    if (x.mask && !x.mask[w]) continue;
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
      Row tile[8];
      for (uint32_t i = 0; i < 8; ++i) tile[i] = load_row(s + 16 * i);
      if (m.trans) transpose(tile);
      for (uint32_t i = 0; i < 8; ++i) store_row(rows[8 * r + i], tile[i]);
    }
  }
}

void run_move(Lanes& lanes, const Operands& in) {
  Exec& x = exec_of(lanes);
  if (!x.converged(instr_of(in))) return;
  for (uint32_t w = 0; w < x.count; w += 32) {
    if (x.mask && !x.mask[w]) continue;
    const auto* a = reinterpret_cast<const std::byte*>(x.reg<uint32_t>(in.a) + w);
    auto* d = reinterpret_cast<std::byte*>(x.reg<uint32_t>(in.d) + w);
    Row tile[8];
    for (uint32_t i = 0; i < 8; ++i) tile[i] = load_row(a + 16 * i);
    transpose(tile);
    for (uint32_t i = 0; i < 8; ++i) store_row(d + 16 * i, tile[i]);
  }
}

bool lower_load_store(Lowering& l, const ptx::Instruction& in, bool load) {
  Matrices m;
  uint32_t n = in.has(Mod::kX4) ? 4 : in.has(Mod::kX2) ? 2 : 1;
  m.trans = in.has(Mod::kTrans);
  m.bytes = !in.has(Mod::kM8N8);
  if (in.has(Mod::kM16N16)) {
    m.rows = 16;
    n *= 2;
  }
  if (in.has(Mod::kB6x16P32)) m.unpack = Unpack::k6;
  if (in.has(Mod::kB4x16P64)) m.unpack = Unpack::k4;
  uint32_t count = 0;
  const ptx::Operand& registers = in.operands[load ? 0 : 1];
  if (!lower_registers(l, in, registers, Mod::kB32, load, m.registers, &count, 4)) return false;
  if (count != n)
    return l.error(registers.offset, "'" + std::string(in.spelling) + "' takes " + std::to_string(n) +
                                         (n == 1 ? " register, there are " : " registers, there are ") +
                                         std::to_string(count));
  m.count = static_cast<uint8_t>(n);
  if (!lower_matrix_address(l, in, in.operands[load ? 1 : 0], &m.address)) return false;
  Handler run = !load ? run_store : m.bytes ? run_load_bytes : m.trans ? run_load<true> : run_load<false>;
  Instr& out = l.emit(run);
  out.data = l.code.keep(m);
  return true;
}

}  // namespace

bool lower_matrix(Lowering& l, const ptx::Instruction& in) {
  switch (in.opcode) {
    case ptx::Opcode::kLdmatrix:
      return lower_load_store(l, in, true);
    case ptx::Opcode::kStmatrix:
      return lower_load_store(l, in, false);
    case ptx::Opcode::kMovmatrix: {
      const uint32_t d = l.reg(in.operands[0]), a = l.place(in.operands[1], Mod::kB32);
      if (d == kNoRegister || a == kNoRegister) return l.error(in, "movmatrix takes two registers");
      Instr& out = l.emit(run_move);
      out.d = d;
      out.a = a;
      return true;
    }
    case ptx::Opcode::kMma:
      return lower_mma(l, in);
    default:
      return l.error(in, "the engine does not execute '" + std::string(in.spelling) + "'");
  }
}

}  // namespace triton_runner::simt
