// Finds who of a warp holds the metadata of a sparse A, and the block scales of mma.sync. PTX ISA 9.7.14.3
// and 9.7.14.6.
#include "matrix/mma_fragments.h"

#include <cstring>
#include <string>

#include "state/refuse.h"

namespace triton_runner::simt {

using num::MmaType;

namespace {

uint32_t units_of(const num::MmaPlan& plan) {
  return static_cast<uint32_t>(plan.k * num::mma_bits(plan.a) / 16) / sparse_unit(plan);
}

}  // namespace

uint32_t sparse_lanes(const num::MmaPlan& plan) { return units_of(plan) / 8; }

// With units of two bytes, each of the lanes of a quad that hold metadata has 16 bits of row g in its low half
// and of row g + 8 in its high half; with units of a byte the lanes take turns: 32 bits of row g, 32 bits of
// row g + 8 (measured on an H100; PTX ISA 9.7.14.6.2 has it as figures).
SparsePlaces sparse_places(const num::MmaPlan& plan, uint32_t selector, const uint32_t* metadata) {
  const uint32_t lanes = sparse_lanes(plan), first = lanes == 4 ? 0 : selector * lanes;
  SparsePlaces places{};
  for (uint32_t row = 0; row < 16; ++row) {
    const uint32_t* quad = metadata + 4 * (row % 8) + first;
    if (sparse_unit(plan) == 2)
      for (uint32_t i = 0; i < lanes; ++i)
        places.rows[row] |= uint64_t{quad[i] >> (16 * (row / 8)) & 0xffff} << (16 * i);
    else
      for (uint32_t i = 0; i < lanes / 2; ++i)
        places.rows[row] |= uint64_t{quad[2 * i + row / 8]} << (32 * i);
  }
  return places;
}

const char* expand_rows(const num::MmaPlan& plan, const void* const* tiles, const SparsePlaces& places,
                        std::vector<float>& dense, std::vector<uint8_t>& present) {
  const uint32_t bits = static_cast<uint32_t>(num::mma_bits(plan.a)), k = static_cast<uint32_t>(plan.k);
  const uint32_t unit = sparse_unit(plan), units = units_of(plan), per_tile = 128 / bits;
  dense.resize(size_t{16} * k);
  present.assign(size_t{16} * k, 0);
  for (uint32_t row = 0; row < 16; ++row) {
    uint8_t full[64] = {};
    for (uint32_t u = 0; u < units; ++u) {
      const uint64_t pair = places.rows[row] >> (4 * (u / 2));
      const uint32_t place = pair >> (2 * (u % 2)) & 3, other = pair >> (2 * (u % 2 ^ 1)) & 3;
      if (place == other) return "names one place of a group of four twice";
      if (bits == 32 && place != 2 * (place / 2) + u % 2) return "splits an element of 32 bits";
      const uint32_t at = (u / 2 * 4 + place) * unit, from = u * unit;
      std::memcpy(full + at,
                  static_cast<const uint8_t*>(tiles[from / 16 * 2 + row / 8]) + row % 8 * 16 + from % 16,
                  unit);
      for (uint32_t bit = 8 * at; bit < 8 * (at + unit); bit += bits) present[row * k + bit / bits] = 1;
    }
    for (uint32_t tile = 0; tile < k / per_tile; ++tile)
      num::mma_widen(plan.a, full + 16 * tile, dense.data() + row * k + tile * per_tile);
  }
  return nullptr;
}

bool pack_sparse_rows(Exec& x, const Operands& in, uint32_t lane, const num::MmaPlan& plan,
                      const void* const* tiles, const SparsePlaces& places, num::MmaRows& rows) {
  thread_local std::vector<float> dense;
  thread_local std::vector<uint8_t> present;
  if (const char* why = expand_rows(plan, tiles, places, dense, present))
    return refuse(x, in, exec::TrapKind::kInvalid, std::string("the metadata of a sparse matrix ") + why,
                  lane);
  num::mma_pack_rows(plan, rows, dense.data(), reinterpret_cast<const bool*>(present.data()));
  return true;
}

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
