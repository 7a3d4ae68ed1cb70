// Sparse A and block scales of mma.sync: who of a warp holds what. PTX ISA 9.7.14.3 and 9.7.14.6.
#include "matrix/mma_fragments.h"

#include <cstring>

namespace triton_runner::simt {

using num::MmaType;
using ptx::Mod;
using ptx::OperandKind;

bool lower_sparse(Lowering& l, const ptx::Instruction& in, const num::MmaPlan&, size_t* operand,
                  SparseA* out) {
  out->metadata = l.place(in.operands[(*operand)++], Mod::kB32);
  int64_t selector = 0;
  if (out->metadata == kNoRegister || !l.integer(in.operands[(*operand)++], &selector)) return false;
  if (selector < 0 || selector > 3) return l.error(in, "a sparsity selector is 0, 1, 2 or 3");
  out->selector = static_cast<uint32_t>(selector);
  return true;
}

// The metadata has two bits for every kept unit: its place among four. A unit is a byte for operands of 8
// bits and for pairs of 4 bits, else two bytes (a tf32 is two neighbouring units). With units of two bytes,
// each of the `count` lanes of a quad that hold metadata has 16 bits of row g in its low half and of row g +
// 8 in its high half; with units of a byte the lanes take turns: 32 bits of row g, 32 bits of row g + 8
// (measured on an H100; PTX ISA 9.7.14.6.2 has it as figures).
bool expand_sparse(Exec& x, const Operands& in, uint32_t warp, const SparseA& s, const num::MmaPlan& plan,
                   const uint32_t* const* a, float* dense, bool* present) {
  const int bits = num::mma_bits(plan.a);
  const uint32_t unit = bits <= 8 ? 1 : 2;
  const uint32_t row_bytes = static_cast<uint32_t>(plan.k * bits / 16);  // as kept
  const uint32_t units = row_bytes / unit, count = units / 8;
  const uint32_t first = count == 4 ? 0 : s.selector * count;
  const uint32_t* metadata = x.reg<uint32_t>(s.metadata) + warp;
  if (first + count > 4) {
    x.trap(in, exec::TrapKind::kInvalid, "the sparsity selector names lanes that a quad does not have", warp);
    return false;
  }
  const uint32_t elements = static_cast<uint32_t>(128 / bits);
  for (uint32_t row = 0; row < 16; ++row) {
    uint8_t kept[32], full[64] = {};
    for (uint32_t tile = 0; tile < row_bytes / 16; ++tile)
      std::memcpy(kept + 16 * tile, a[2 * tile + row / 8] + 4 * (row % 8), 16);
    for (uint32_t u = 0; u < units; ++u) {
      const uint32_t holder = unit == 2 ? u / 8 : u / 16 * 2 + row / 8;
      const uint32_t lane = 4 * (row % 8) + first + holder;
      auto index = [&](uint32_t v) {
        return metadata[lane] >> (unit == 2 ? 16 * (row / 8) + 2 * (v % 8) : 2 * (v % 16)) & 3;
      };
      const uint32_t place = index(u), other = index(u ^ 1);
      if (place == other) {
        x.trap(in, exec::TrapKind::kInvalid,
               "the metadata of a sparse matrix names one place twice: " + std::to_string(place) +
                   " of a group of four",
               warp + lane);
        return false;
      }
      const uint32_t at = (u / 2 * 4 + place) * unit;
      std::memcpy(full + at, kept + u * unit, unit);
      for (uint32_t bit = 8 * at; bit < 8 * (at + unit); bit += static_cast<uint32_t>(bits))
        present[row * static_cast<uint32_t>(plan.k) + bit / static_cast<uint32_t>(bits)] = true;
      if (bits == 32) present[row * static_cast<uint32_t>(plan.k) + at / 4] = true;
    }
    for (uint32_t tile = 0; tile < row_bytes / 8; ++tile)
      num::mma_widen(plan.a, full + 16 * tile, dense + row * static_cast<uint32_t>(plan.k) + tile * elements);
  }
  return true;
}

bool lower_scales(Lowering& l, const ptx::Instruction& in, const num::MmaPlan& plan, size_t operand,
                  BlockScales* out) {
  out->vectors = in.has(Mod::kScaleVec4X) ? 4 : in.has(Mod::kScaleVec2X) ? 2 : 1;
  if (!in.has(Mod::kScaleVec1X) && !in.has(Mod::kScaleVec2X) && !in.has(Mod::kScaleVec4X))
    out->vectors = in.has(Mod::kKindMxf4) ? 2 : in.has(Mod::kKindMxf4nvf4) ? 4 : 1;
  out->ue4m3 = in.type(4) == Mod::kUe4m3;
  out->groups = plan.scale == num::MmaScale::kGroups ? static_cast<uint32_t>(plan.k) / 16 : 0;
  out->a = l.place(in.operands[operand], Mod::kB32);
  out->b = l.place(in.operands[operand + 2], Mod::kB32);
  auto selectors = [&](const ptx::Operand& o, uint32_t* byte, uint32_t* thread) {
    if (o.kind != OperandKind::kVector || o.parts.size() != 2)
      return l.error(o.offset, "expected {byte-id, thread-id} of the scale factors");
    *byte = l.place(o.parts[0], Mod::kU16);
    *thread = l.place(o.parts[1], Mod::kU16);
    return *byte != kNoRegister && *thread != kNoRegister;
  };
  return out->a != kNoRegister && out->b != kNoRegister &&
         selectors(in.operands[operand + 1], &out->a_byte, &out->a_thread) &&
         selectors(in.operands[operand + 3], &out->b_byte, &out->b_thread);
}

// Rows g and g + 8 are those of lanes 4 g + 2 t and 4 g + 2 t + 1 (t: thread-id of A, 0 or 1), column g that
// of lane 4 g + t (0 to 3). The factors are neighbouring bytes from byte-id on.
void load_scales(const Exec& x, uint32_t warp, const BlockScales& s, num::MmaRows& rows,
                 num::MmaColumns& columns) {
  auto factor = [&](uint32_t word, uint32_t byte) {
    const auto bits = static_cast<uint8_t>(word >> (8 * (byte & 3)));
    return s.ue4m3 ? num::mma_ue4m3(bits) : num::mma_ue8m0(bits);
  };
  const uint32_t a_byte = x.reg<uint16_t>(s.a_byte)[warp], a_thread = x.reg<uint16_t>(s.a_thread)[warp] & 1;
  const uint32_t b_byte = x.reg<uint16_t>(s.b_byte)[warp], b_thread = x.reg<uint16_t>(s.b_thread)[warp] & 3;
  const uint32_t* a = x.reg<uint32_t>(s.a) + warp;
  const uint32_t* b = x.reg<uint32_t>(s.b) + warp;
  const uint32_t groups = s.groups ? s.groups : 1, per_factor = s.groups ? s.groups / s.vectors : 1;
  for (uint32_t i = 0; i < 16; ++i)
    for (uint32_t g = 0; g < groups; ++g)
      rows.scale[g][i] = factor(a[4 * (i % 8) + 2 * a_thread + i / 8], a_byte + g / per_factor);
  columns.scale.resize(s.groups ? 8 * 16 : 8);
  for (uint32_t j = 0; j < 8; ++j)
    for (uint32_t g = 0; g < groups; ++g)
      columns.scale[s.groups ? j * 16 + g : j] = factor(b[4 * j + b_thread], b_byte + g / per_factor);
}

}  // namespace triton_runner::simt
