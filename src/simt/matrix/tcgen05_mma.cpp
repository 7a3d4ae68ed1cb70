// Executes tcgen05.mma: products that one thread issues, of operands in shared and tensor memory, into tensor
// memory.
//
// The operands are written down when the instruction is issued; they are read and sums are written when
// somebody waits for a commit that follows. Collectors only say what the hardware may keep.
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "async/mbarrier.h"
#include "check/check.h"
#include "matrix/matrix_descriptor.h"
#include "matrix/mma_fragments.h"
#include "matrix/tcgen05_shape.h"
#include "state/refuse.h"

namespace triton_runner::simt {

using num::MmaScale;
using num::MmaSum;
using num::MmaType;

namespace {

using Kind = Tcgen05Kind;
using Product = Tcgen05Product;
using Shape = Tcgen05Shape;

thread_local std::unique_ptr<ProductScratch> products;

// Bits of an element where chunks of 16 bytes hold 16 of them and padding; 8: chunks are full.
uint32_t packed_bits(MmaType type) {
  return type == MmaType::kE2M1Byte ? 4 : type == MmaType::kE2M3 || type == MmaType::kE3M2 ? 6 : 8;
}

struct ProductOp : AsyncOp {
  using AsyncOp::AsyncOp;
  std::string text() const override {
    return "product to column " + std::to_string(tensor_column(d)) + " of tensor memory";
  }
  bool is_tensor_core() const override { return true; }
  uint64_t a = 0, b = 0;  // descriptors, or A's tensor address
  uint64_t zeros = 0;     // the descriptor of columns of B that count as zeros
  uint32_t d = 0, bits = 0, a_scale = 0, b_scale = 0, metadata = 0;
  bool add = true;
  uint32_t disable[8] = {};
  Checks::UnderWay accesses{};  // of a checked launch

  const Product& product() const { return *static_cast<const Product*>(instr->data); }

  bool invalid(Exec& x, std::string message) const {
    return refuse(x, *instr, exec::TrapKind::kInvalid, std::move(message));
  }

  void complete(Cluster&) override {
    const Product& p = product();
    Exec x = late_exec(*cta);
    Shape s;
    if (const char* why = decode_tcgen05(p, bits, &s)) {
      invalid(x, "the instruction descriptor " + std::to_string(bits) + " cannot be executed: " + why);
      return;
    }
    Cta* blocks[2] = {cta, nullptr};
    if (p.pair) {
      Cta* other = pair_of(*cta);
      if (!other) {
        invalid(x, "cta_group::2 needs a cluster with a second block beside this one");
        return;
      }
      blocks[cta->rank & 1] = cta;
      blocks[(cta->rank & 1) ^ 1] = other;
    }
    if (!products) products = std::make_unique<ProductScratch>();
    const MmaScale scale = !p.scaled()             ? MmaScale::kNone
                           : p.kind == Kind::kMxf4 ? MmaScale::kGroups
                                                   : MmaScale::kPowers;
    num::MmaPlan plan(x.code().capability, num::MmaUnit::kTcgen05, s.a, s.b, s.sum, static_cast<int>(s.k),
                      x.launch().fast_mma, scale);
    plan.saturate = s.saturate;
    plan.sparse = p.sparse;
    plan.a_sign = s.negate_a ? -1 : 1;
    plan.b_sign = s.negate_b ? -1 : 1;
    const Tcgen05Layout layout(p, s);
    if (!columns(x, p, s, layout, plan, blocks)) return;
    for (uint32_t r = 0; r < layout.blocks; ++r)
      for (uint32_t first = 0; first < layout.rows; first += 16)
        if (!block_rows(x, p, s, layout, plan, *blocks[r], r, first)) return;
    for (uint32_t r = 0; p.shift && r < layout.blocks; ++r)
      shift_rows(*blocks[r], tensor_column(static_cast<uint32_t>(a)), kTensorLanes);
    if (x.worker->checks) x.worker->checks->finish(x, *instr, accesses, false);
  }

  // Lists what it will read and write; nothing where it will trap.
  void list_accesses() {
    const Product& p = product();
    Shape s;
    Cta* blocks[2] = {cta, p.pair ? pair_of(*cta) : nullptr};
    if (decode_tcgen05(p, bits, &s) || (p.pair && !blocks[1])) return;
    if (p.pair && (cta->rank & 1)) std::swap(blocks[0], blocks[1]);
    const Tcgen05Layout layout(p, s);
    const uint32_t shifted = p.zero_columns == kNoRegister ? 0 : static_cast<uint32_t>(zeros >> 56 & 63);
    for (uint32_t r = 0; r < layout.blocks; ++r) {
      const Cta& block = *blocks[r];
      auto shared = [&](uint32_t address) {
        if (address + uint64_t{16} <= block.shared_bytes) accesses.ranges.push_back({&block, address, 16});
      };
      auto tensor = [&](uint32_t address, uint32_t lane, uint32_t lanes, uint32_t columns, bool write,
                        bool needs) {
        const uint32_t first = tensor_lane(address) + lane;
        for (uint32_t c = tensor_column(address); c < tensor_column(address) + columns; ++c)
          if (c < kTensorColumns && first + lanes <= kTensorLanes)
            accesses.ranges.push_back({&block, c * kTensorLanes + first, lanes, write, true, needs});
      };
      SharedMatrix m;
      if (tcgen05_matrix(b, s.trans_b, &m))
        each_chunk(m, shifted, s.n / layout.blocks, p.b_bytes(), memory_bits(s.b), shared);
      if (!p.a_in_tensor && tcgen05_matrix(a, s.trans_a, &m))
        each_chunk(m, 0, layout.rows, 32, memory_bits(s.a), shared);
      for (uint32_t part = 0; part < layout.parts; ++part)
        for (uint32_t first = 0; first < layout.rows; first += 16) {
          const uint32_t lane = layout.lane(first, part);
          if (p.a_in_tensor) tensor(static_cast<uint32_t>(a), lane, 16, 8, p.shift, true);
          if (p.sparse) tensor(metadata + s.selector, lane, 16, metadata_columns(p), false, true);
          tensor(d, lane, 16, s.n / layout.parts, true, add);
        }
      if (!p.scaled()) continue;
      // Not all bytes of these words of scales need be used.
      tensor(a_scale, 0, 32, (layout.rows + 31) / 32, false, false);
      tensor(b_scale, 0, 32, (s.n + 31) / 32, false, false);
    }
  }

  static uint32_t metadata_columns(const Product& p) {
    return p.kind == Kind::kF16 || p.kind == Kind::kTf32 ? 1 : 2;
  }

  // B: all of one block, or half of the columns from each block of a pair.
  bool columns(Exec& x, const Product& p, const Shape& s, const Tcgen05Layout& layout,
               const num::MmaPlan& plan, Cta* const* blocks) {
    ProductScratch& w = *products;
    const uint32_t part = s.n / layout.blocks, wide = p.b_bytes() / 16;
    SharedMatrix m;
    if (!tcgen05_matrix(b, s.trans_b, &m)) return bad_swizzle(x, "B");
    const ZeroColumns mask(p.zero_columns == kNoRegister ? 0 : zeros, s.n, layout.parts);
    if (mask.shift > s.max_shift)
      return invalid(x, "the zero-column mask shifts B by " + std::to_string(mask.shift) +
                            " columns, and the instruction descriptor allows " + std::to_string(s.max_shift));
    w.columns.resize(plan, static_cast<int>(s.n));
    for (uint32_t r = 0; r < layout.blocks; ++r) {
      w.b_tiles.resize(size_t{part} * p.b_bytes());
      if (!gather_tiles(x, *instr, *blocks[r], m, mask.shift, part, p.b_bytes(), memory_bits(s.b),
                        w.b_tiles.data(), packed_bits(s.b)))
        return false;
      for (uint32_t j = 0; j < part; ++j)
        for (uint32_t c = 0; mask.zero[j] && c < wide; ++c)
          std::memset(w.b_tiles.data() + (j / 8 * wide + c) * 128 + j % 8 * 16, 0, 16);
      for (uint32_t j = 0; j < part; j += 8) {
        const void* tiles[4];
        for (uint32_t c = 0; c < wide; ++c) tiles[c] = w.b_tiles.data() + (j / 8 * wide + c) * 128;
        num::mma_pack_columns(plan, w.columns, static_cast<int>(r * part + j), tiles);
      }
    }
    return true;
  }

  static uint32_t memory_bits(MmaType type) {
    return static_cast<uint32_t>(std::max(8, num::mma_bits(type)));
  }

  bool bad_swizzle(Exec& x, const char* which) const {
    return invalid(x, std::string("the descriptor of ") + which + " names a swizzle that does not exist");
  }

  // Sixteen rows of one block; `first` of its rows.
  bool block_rows(Exec& x, const Product& p, const Shape& s, const Tcgen05Layout& layout,
                  const num::MmaPlan& plan, Cta& block, uint32_t rank, uint32_t first) {
    ProductScratch& w = *products;
    uint32_t* memory = tensor_memory(block).words.data();
    const uint32_t part_columns = s.n / layout.parts;
    for (uint32_t part = 0; part < layout.parts; ++part) {
      const uint32_t lane = layout.lane(first, part);
      if (part == 0 || p.a_in_tensor || p.sparse) {
        if (!rows_of(x, p, s, plan, block, first, lane)) return false;
        if (p.scaled() && !scales(x, p, s, plan, block, first)) return false;
      }
      if (!check_tensor(x, *instr, block, kNoRegister, d + (lane << 16), 16, part_columns, "the result"))
        return false;
      auto place = [&](uint32_t n) {
        return memory + (tensor_column(d) + n) * kTensorLanes + tensor_lane(d) + lane;
      };
      w.sums.assign(size_t{16} * part_columns, 0);
      auto* sums = reinterpret_cast<float*>(w.sums.data());
      if (add)
        for (uint32_t n = 0; n < part_columns; ++n) load_column(p, s, place(n), sums + 16 * n);
      num::mma_multiply(plan, w.rows, w.columns, static_cast<int>(part * part_columns),
                        static_cast<int>(part_columns), w.sums.data());
      const uint32_t lane0 = (p.disable_count == 8 ? rank * kTensorLanes : 0) + tensor_lane(d) + lane;
      for (uint32_t n = 0; n < part_columns; ++n) {
        uint32_t* to = place(n);
        for (uint32_t i = 0; i < 16; ++i) {
          const uint32_t at = lane0 + i;
          if (p.disable_count && (disable[at / 32] >> (at % 32) & 1)) continue;
          to[i] = s.sum == MmaSum::kF16 ? num::mma_f16_bits(sums[16 * n + i]) : w.sums[16 * n + i];
        }
      }
    }
    return true;
  }

  // Sixteen rows of A, from row `first` of shared memory or from `lane` on of tensor memory.
  bool rows_of(Exec& x, const Product& p, const Shape& s, const num::MmaPlan& plan, Cta& block,
               uint32_t first, uint32_t lane) {
    ProductScratch& w = *products;
    const uint32_t* memory = tensor_memory(block).words.data();
    const void* tiles[4];
    if (p.a_in_tensor) {
      const auto address = static_cast<uint32_t>(a);
      if (!check_tensor(x, *instr, block, kNoRegister, address + (lane << 16), 16, 8, "operand A"))
        return false;
      w.a_tiles.resize(512);
      for (uint32_t row = 0; row < 16; ++row)
        for (uint32_t column = 0; column < 8; ++column)
          std::memcpy(
              w.a_tiles.data() + (column / 4 * 2 + row / 8) * 128 + row % 8 * 16 + column % 4 * 4,
              memory + (tensor_column(address) + column) * kTensorLanes + tensor_lane(address) + lane + row,
              4);
      for (uint32_t t = 0; t < 4; ++t) tiles[t] = w.a_tiles.data() + t * 128;
    } else {
      SharedMatrix m;
      if (!tcgen05_matrix(a, s.trans_a, &m)) return bad_swizzle(x, "A");
      w.a_tiles.resize(16 * 32);
      if (!gather_tiles(x, *instr, block, m, first, 16, 32, memory_bits(s.a), w.a_tiles.data(),
                        packed_bits(s.a)))
        return false;
      for (uint32_t c = 0; c < 2; ++c)
        for (uint32_t h = 0; h < 2; ++h) tiles[2 * c + h] = w.a_tiles.data() + (h * 2 + c) * 128;
    }
    if (!p.sparse) {
      num::mma_pack_rows(plan, w.rows, tiles);
      return true;
    }
    SparsePlaces places{};
    const uint32_t at = metadata + s.selector + (lane << 16);
    if (!check_tensor(x, *instr, block, kNoRegister, at, 16, metadata_columns(p), "the metadata"))
      return false;
    const uint32_t* words = memory + tensor_column(at) * kTensorLanes + tensor_lane(at);
    for (uint32_t i = 0; i < 16; ++i) {
      if (metadata_columns(p) == 2) {  // a lane a row
        places.rows[i] = words[i] | uint64_t{words[kTensorLanes + i]} << 32;
        continue;
      }
      // Rows i and i + 8 share the words of lanes i and i + 8, which have the first and the second half of k.
      for (uint32_t h = 0; h < 2; ++h)
        places.rows[i] |= uint64_t{words[i % 8 + 8 * h] >> (16 * (i / 8)) & 0xffff} << (16 * h);
    }
    return pack_sparse_rows(x, *instr, kNoRegister, plan, tiles, places, w.rows);
  }

  static void load_column(const Product& p, const Shape& s, const uint32_t* from, float* to) {
    if (s.sum != MmaSum::kF16) {
      std::memcpy(to, from, 64);
    } else {
      uint16_t halves[16];
      for (uint32_t i = 0; i < 16; ++i) halves[i] = static_cast<uint16_t>(from[i]);
      num::mma_widen(MmaType::kF16, halves, to);
      num::mma_widen(MmaType::kF16, halves + 8, to + 8);
    }
    if (p.scale_d)
      for (uint32_t i = 0; i < 16; ++i) to[i] = std::ldexp(to[i], -p.scale_d);
  }

  // Factors of row i are in lane i % 32, column i / 32 (the same in every quarter); those of columns of B
  // likewise.
  bool scales(Exec& x, const Product& p, const Shape& s, const num::MmaPlan& plan, Cta& block,
              uint32_t first) {
    ProductScratch& w = *products;
    const uint32_t groups = plan.scale == MmaScale::kGroups ? s.k / 16 : 1,
                   per_factor = groups > 1 ? groups / p.vectors : 1;
    const uint32_t* memory = tensor_memory(block).words.data();
    if (!check_tensor(x, *instr, block, kNoRegister, a_scale, 32, first / 32 + 1, "scale factors of A") ||
        !check_tensor(x, *instr, block, kNoRegister, b_scale, 32, (s.n + 31) / 32, "scale factors of B"))
      return false;
    auto factor = [&](uint32_t address, uint32_t row, uint32_t byte) {
      const uint32_t word =
          memory[(tensor_column(address) + row / 32) * kTensorLanes + tensor_lane(address) + row % 32];
      const auto code = static_cast<uint8_t>(word >> (8 * (byte & 3)));
      return s.ue4m3 ? num::mma_ue4m3(code) : num::mma_ue8m0(code);
    };
    for (uint32_t i = 0; i < 16; ++i)
      for (uint32_t g = 0; g < groups; ++g)
        w.rows.scale[g][i] = factor(a_scale, first + i, s.a_id + g / per_factor);
    const bool grouped = plan.scale == MmaScale::kGroups;
    w.columns.scale.resize(grouped ? size_t{s.n} * 16 : s.n);
    for (uint32_t n = 0; n < s.n; ++n)
      for (uint32_t g = 0; g < groups; ++g)
        w.columns.scale[grouped ? n * 16 + g : n] = factor(b_scale, n, s.b_id + g / per_factor);
    return true;
  }
};

}  // namespace

void run_tcgen05_product(Exec& x, const Operands& in, const Product& p) {
  for (uint32_t i : x.lanes()) {
    auto op = std::make_unique<ProductOp>(x, in);
    op->a = p.a_in_tensor ? p.a.at(x, i) : x.reg<uint64_t>(p.a_descriptor)[i];
    op->b = x.reg<uint64_t>(p.b_descriptor)[i];
    op->d = p.d.at(x, i);
    op->bits = x.reg<uint32_t>(p.instruction)[i];
    op->add = x.reg<int8_t>(p.add)[i] != 0;
    if (p.sparse) op->metadata = p.metadata.at(x, i);
    if (p.zero_columns != kNoRegister) op->zeros = x.reg<uint64_t>(p.zero_columns)[i];
    for (uint32_t n = 0; n < p.disable_count; ++n) op->disable[n] = x.reg<uint32_t>(p.disable[n])[i];
    if (p.scaled()) {
      op->a_scale = p.a_scale.at(x, i);
      op->b_scale = p.b_scale.at(x, i);
    }
    if (Checks* checks = x.worker->checks) {
      op->list_accesses();
      if (!checks->issue(x, in, i, op->accesses)) return;
    }
    x.cta->cluster->issue(std::move(op));
  }
}

}  // namespace triton_runner::simt
