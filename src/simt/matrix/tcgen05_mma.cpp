// tcgen05.mma: products of one thread's making, of operands in shared and tensor memory, into tensor memory.
// PTX ISA 9.7.16.10.9.
//
// Everything that the thread says is written down when the instruction is issued; operands are read and sums
// written when somebody waits for a commit that follows. Rows of D are lanes: all 128 for M = 128 (256 with a
// pair of blocks); for M = 64 the first 16 of each quarter; for M = 128 of a pair, 64 rows in each block, the
// halves of the columns above one another.
#include <cmath>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "async/mbarrier.h"
#include "check/check.h"
#include "matrix/matrix_descriptor.h"
#include "matrix/mma_fragments.h"
#include "matrix/tensor_memory.h"

namespace triton_runner::simt {

using num::MmaScale;
using num::MmaSum;
using num::MmaType;
using ptx::Mod;
using ptx::OperandKind;

namespace {

enum class Kind : uint8_t { kF16, kTf32, kF8f6f4, kI8, kMxf8f6f4, kMxf4 };

struct Product {
  Kind kind = Kind::kF16;
  bool pair = false;
  TensorAddress d, a;
  bool a_in_tensor = false;
  uint32_t a_descriptor = kNoRegister, b_descriptor = kNoRegister, instruction = kNoRegister;
  uint32_t add = kNoRegister;  // a predicate: whether D is added
  int scale_d = 0;             // D is multiplied by 2^-scale_d
  uint32_t disable[8];         // lanes that are not written
  uint32_t disable_count = 0;
  TensorAddress a_scale, b_scale;
  uint32_t vectors = 1;  // scale factors of a row: 1, 2 or 4
  bool scaled() const { return kind == Kind::kMxf8f6f4 || kind == Kind::kMxf4; }
};

// The instruction descriptor, PTX ISA 9.7.16.4.2.
struct Shape {
  uint32_t m, n, k;  // k in elements
  MmaType a, b;
  MmaSum sum;
  bool trans_a, trans_b, negate_a, negate_b, saturate, ue4m3;
  uint32_t a_id, b_id;  // first byte of the scale factors
};

std::optional<MmaType> narrow_type(uint32_t code) {
  constexpr MmaType kTypes[] = {MmaType::kE4M3, MmaType::kE5M2, MmaType::kE4M3,
                                MmaType::kE2M3, MmaType::kE3M2, MmaType::kE2M1Byte};
  if (code > 5 || code == 2) return std::nullopt;
  return kTypes[code];
}

// Null, or what is wrong with the descriptor.
const char* decode(Kind kind, bool pair, uint32_t bits, Shape* s) {
  if (bits >> 2 & 1) return "sparse products are not executed";
  const uint32_t d = bits >> 4 & 3, a = bits >> 7 & 7, b = bits >> 10 & 7;
  *s = {};
  s->m = (bits >> 24 & 31) << 4;
  s->n = (bits >> 17 & 63) << 3;
  s->negate_a = bits >> 13 & 1;
  s->negate_b = bits >> 14 & 1;
  s->trans_a = bits >> 15 & 1;
  s->trans_b = bits >> 16 & 1;
  s->sum = MmaSum::kF32;
  switch (kind) {
    case Kind::kF16:
      if (a > 1 || b != a || d > 1) return "its types are not those of kind::f16";
      s->a = s->b = a ? MmaType::kBF16 : MmaType::kF16;
      s->sum = d ? MmaSum::kF32 : MmaSum::kF16;
      s->k = 16;
      break;
    case Kind::kTf32:
      if (a != 2 || b != 2) return "its types are not those of kind::tf32";
      s->a = s->b = MmaType::kTF32;
      s->k = 8;
      break;
    case Kind::kI8:
      if (a > 1 || b > 1) return "its types are not those of kind::i8";
      s->a = a ? MmaType::kS8 : MmaType::kU8;
      s->b = b ? MmaType::kS8 : MmaType::kU8;
      s->sum = MmaSum::kS32;
      s->saturate = bits >> 3 & 1;
      s->k = 32;
      break;
    case Kind::kF8f6f4:
    case Kind::kMxf8f6f4: {
      const auto a_type = narrow_type(a), b_type = narrow_type(b);
      if (!a_type || !b_type) return "its types are not those of kind::f8f6f4";
      s->a = *a_type;
      s->b = *b_type;
      if (kind == Kind::kF8f6f4) s->sum = d ? MmaSum::kF32 : MmaSum::kF16;
      s->k = 32;
      break;
    }
    case Kind::kMxf4:
      s->a = s->b = MmaType::kE2M1;
      if (bits >> 31) return "k of 96 elements is not executed";
      s->k = 64;
      break;
  }
  if (kind == Kind::kMxf8f6f4 || kind == Kind::kMxf4) {
    s->a_id = bits >> 29 & 3;
    s->b_id = bits >> 4 & 3;
    s->ue4m3 = (bits >> 23 & 1) == 0;
  }
  const bool m_ok = pair ? s->m == 128 || s->m == 256 : s->m == 64 || s->m == 128;
  if (!m_ok) return pair ? "M is 128 or 256 with a pair of blocks" : "M is 64 or 128 with one block";
  if (s->n < 8 || s->n > 256 || (pair && s->n % 16 != 0))
    return "N is 8 to 256 in steps of 8 (of 16 with a pair of blocks)";
  return nullptr;
}

thread_local std::unique_ptr<ProductScratch> scratch;

// Chunks of 16 elements of 6 or 4 bits, with padding after them, become bytes as the product's types have
// them.
void unpack_tiles(MmaType type, std::vector<uint8_t>* tiles) {
  const uint32_t bits = type == MmaType::kE2M1Byte                         ? 4
                        : type == MmaType::kE2M3 || type == MmaType::kE3M2 ? 6
                                                                           : 8;
  if (bits == 8) return;
  for (size_t at = 0; at < tiles->size(); at += 16) {
    uint8_t raw[17] = {};
    std::memcpy(raw, tiles->data() + at, 16);
    for (uint32_t i = 0; i < 16; ++i) {
      const uint32_t bit = i * bits, two = raw[bit / 8] | static_cast<uint32_t>(raw[bit / 8 + 1]) << 8;
      const uint32_t value = two >> (bit % 8) & ((1u << bits) - 1);
      (*tiles)[at + i] = static_cast<uint8_t>(bits == 4 ? value << 2 : value);
    }
  }
}

struct ProductOp : AsyncOp {
  const Instr* instr;
  Cta* cta;
  uint64_t a = 0, b = 0;  // descriptors, or A's tensor address
  uint32_t d = 0, bits = 0, a_scale = 0, b_scale = 0;
  bool add = true;
  uint32_t disable[8] = {};
  Checks::UnderWay accesses{};  // of a checked launch

  const Product& product() const { return *static_cast<const Product*>(instr->data); }

  void complete(Cluster&) override {
    const Product& p = product();
    Exec x = late_exec(*cta);
    Shape s;
    if (const char* why = decode(p.kind, p.pair, bits, &s))
      return x.trap(*instr, exec::TrapKind::kInvalid,
                    "the instruction descriptor " + std::to_string(bits) + " cannot be executed: " + why);
    Cta* blocks[2] = {cta, nullptr};
    if (p.pair) {
      Cta* other = pair_of(*cta);
      if (!other)
        return x.trap(*instr, exec::TrapKind::kInvalid,
                      "cta_group::2 needs a cluster with a second block beside this one");
      blocks[cta->rank & 1] = cta;
      blocks[(cta->rank & 1) ^ 1] = other;
    }
    if (!scratch) scratch = std::make_unique<ProductScratch>();
    const MmaScale scale = !p.scaled()             ? MmaScale::kNone
                           : p.kind == Kind::kMxf4 ? MmaScale::kGroups
                                                   : MmaScale::kPowers;
    num::MmaPlan plan(x.code().capability, num::MmaUnit::kTcgen05, s.a, s.b, s.sum, static_cast<int>(s.k),
                      x.launch().fast_mma, scale);
    plan.saturate = s.saturate;
    plan.a_sign = s.negate_a ? -1 : 1;
    plan.b_sign = s.negate_b ? -1 : 1;
    if (!columns(x, p, s, plan, blocks)) return;
    const uint32_t halves = p.pair ? 2 : 1, rows = s.m / halves;
    for (uint32_t r = 0; r < halves; ++r)
      for (uint32_t first = 0; first < rows; first += 16)
        if (!block_rows(x, p, s, plan, *blocks[r], r, first, rows)) return;
    if (x.worker->checks) x.worker->checks->finish(x, *instr, accesses, false);
  }

  // What it will read and write; nothing where it will trap.
  void list_accesses() {
    const Product& p = product();
    Shape s;
    Cta* blocks[2] = {cta, p.pair ? pair_of(*cta) : nullptr};
    if (decode(p.kind, p.pair, bits, &s) || (p.pair && !blocks[1])) return;
    if (p.pair && (cta->rank & 1)) std::swap(blocks[0], blocks[1]);
    const uint32_t halves = p.pair ? 2 : 1, rows = s.m / halves;
    const bool quarters = !p.pair && s.m == 64, folded = p.pair && s.m == 128;
    for (uint32_t r = 0; r < halves; ++r) {
      const Cta& block = *blocks[r];
      auto shared = [&](uint32_t address) {
        if (address + uint64_t{16} <= block.shared_bytes) accesses.ranges.push_back({&block, address, 16});
      };
      auto tensor = [&](uint32_t address, uint32_t lanes, uint32_t columns, bool write) {
        for (uint32_t c = tensor_column(address); c < tensor_column(address) + columns; ++c)
          if (c < kTensorColumns && tensor_lane(address) + lanes <= kTensorLanes)
            accesses.ranges.push_back({&block, c * kTensorLanes + tensor_lane(address), lanes, write, true});
      };
      SharedMatrix m;
      if (tcgen05_matrix(b, s.trans_b, &m)) each_chunk(m, 0, s.n / halves, 32, memory_bits(s.b), shared);
      if (!p.a_in_tensor && tcgen05_matrix(a, s.trans_a, &m))
        each_chunk(m, 0, rows, 32, memory_bits(s.a), shared);
      for (uint32_t first = 0; first < rows; first += 16) {
        const uint32_t lane = (quarters ? first / 16 * 32 : first) << 16;
        if (p.a_in_tensor) tensor(static_cast<uint32_t>(a) + lane, 16, 8, false);
        tensor(d + lane, 16, folded ? s.n / 2 : s.n, true);
        if (folded) tensor(d + lane + (64u << 16), 16, s.n / 2, true);
      }
      if (!p.scaled()) continue;
      tensor(a_scale, 32, (rows + 31) / 32, false);
      tensor(b_scale, 32, (s.n + 31) / 32, false);
    }
  }

  // B: all of one block, or half of the columns from each block of a pair.
  bool columns(Exec& x, const Product& p, const Shape& s, const num::MmaPlan& plan, Cta* const* blocks) {
    ProductScratch& w = *scratch;
    const uint32_t halves = p.pair ? 2 : 1, part = s.n / halves;
    SharedMatrix m;
    if (!tcgen05_matrix(b, s.trans_b, &m)) return bad_swizzle(x, "B");
    w.columns.resize(plan, static_cast<int>(s.n));
    for (uint32_t r = 0; r < halves; ++r) {
      if (!gather_tiles(x, *instr, *blocks[r], m, 0, part, 32, memory_bits(s.b), &w.b_tiles)) return false;
      unpack_tiles(s.b, &w.b_tiles);
      for (uint32_t j = 0; j < part; j += 8) {
        const void* tiles[] = {w.b_tiles.data() + j / 8 * 256, w.b_tiles.data() + j / 8 * 256 + 128};
        num::mma_pack_columns(plan, w.columns, static_cast<int>(r * part + j), tiles);
      }
    }
    return true;
  }

  static uint32_t memory_bits(MmaType type) {
    return static_cast<uint32_t>(std::max(8, num::mma_bits(type)));
  }

  bool bad_swizzle(Exec& x, const char* which) const {
    x.trap(*instr, exec::TrapKind::kInvalid,
           std::string("the descriptor of ") + which + " names a swizzle that does not exist");
    return false;
  }

  // Sixteen rows of one block; `first` of its rows.
  bool block_rows(Exec& x, const Product& p, const Shape& s, num::MmaPlan& plan, Cta& block, uint32_t rank,
                  uint32_t first, uint32_t rows) {
    ProductScratch& w = *scratch;
    const bool quarters = !p.pair && s.m == 64, folded = p.pair && s.m == 128;
    const uint32_t lane = quarters ? first / 16 * 32 : first;
    uint32_t* memory = tensor_memory(block).words.get();
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
      if (!gather_tiles(x, *instr, block, m, first, 16, 32, memory_bits(s.a), &w.a_tiles)) return false;
      unpack_tiles(s.a, &w.a_tiles);
      for (uint32_t c = 0; c < 2; ++c)
        for (uint32_t h = 0; h < 2; ++h) tiles[2 * c + h] = w.a_tiles.data() + (h * 2 + c) * 128;
    }
    num::mma_pack_rows(plan, w.rows, tiles);
    if (p.scaled() && !scales(x, p, s, plan, block, first)) return false;
    // D: column n of the product at `place(n)`.
    const uint32_t d_columns = folded ? s.n / 2 : s.n;
    if (!check_tensor(x, *instr, block, kNoRegister, d + (lane << 16), 16, d_columns, "the result"))
      return false;
    auto place = [&](uint32_t n) {
      const uint32_t half = folded ? n / d_columns : 0, column = folded ? n % d_columns : n;
      return memory + (tensor_column(d) + column) * kTensorLanes + tensor_lane(d) + lane + half * 64;
    };
    w.sums.assign(size_t{16} * s.n, 0);
    auto* sums = reinterpret_cast<float*>(w.sums.data());
    if (add)
      for (uint32_t n = 0; n < s.n; ++n) load_column(p, s, place(n), sums + 16 * n);
    num::mma_multiply(plan, w.rows, w.columns, 0, static_cast<int>(s.n), w.sums.data());
    const uint32_t row0 = p.pair && p.disable_count == 8 ? rank * 128 : 0;
    (void)rows;
    for (uint32_t n = 0; n < s.n; ++n) {
      uint32_t* to = place(n);
      for (uint32_t i = 0; i < 16; ++i) {
        const uint32_t at = row0 + lane + i;
        if (p.disable_count && (disable[at / 32] >> (at % 32) & 1)) continue;
        to[i] = s.sum == MmaSum::kF16 ? num::mma_f16_bits(sums[16 * n + i]) : w.sums[16 * n + i];
      }
    }
    return true;
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
    ProductScratch& w = *scratch;
    const uint32_t groups = plan.scale == MmaScale::kGroups ? s.k / 16 : 1,
                   per_factor = groups > 1 ? groups / p.vectors : 1;
    const uint32_t* memory = tensor_memory(block).words.get();
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

void run_product(Lanes& lanes, const Operands& in) {
  Exec& x = exec_of(lanes);
  const auto& p = *static_cast<const Product*>(in.data);
  for (uint32_t i = 0; i < x.count; ++i) {
    if (!x.on(i)) continue;
    auto op = std::make_unique<ProductOp>();
    op->instr = &instr_of(in);
    op->cta = x.cta;
    op->a = p.a_in_tensor ? p.a.at(x, i) : x.reg<uint64_t>(p.a_descriptor)[i];
    op->b = x.reg<uint64_t>(p.b_descriptor)[i];
    op->d = p.d.at(x, i);
    op->bits = x.reg<uint32_t>(p.instruction)[i];
    op->add = x.reg<int8_t>(p.add)[i] != 0;
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

}  // namespace

bool lower_tcgen05_mma(Lowering& l, const ptx::Instruction& in) {
  auto refuse = [&](const char* why) { return l.error(in, "'" + std::string(in.spelling) + "': " + why); };
  if (in.has(Mod::kWs)) return refuse("products of the .ws form are not executed");
  if (in.has(Mod::kSp)) return refuse("sparse products are not executed");
  if (in.has(Mod::kAshift)) return refuse(".ashift is not executed");
  Product p;
  if (in.has(Mod::kKindTf32)) p.kind = Kind::kTf32;
  if (in.has(Mod::kKindF8f6f4)) p.kind = Kind::kF8f6f4;
  if (in.has(Mod::kKindI8)) p.kind = Kind::kI8;
  if (in.has(Mod::kKindMxf8f6f4)) p.kind = Kind::kMxf8f6f4;
  if (in.has(Mod::kKindMxf4) || in.has(Mod::kKindMxf4nvf4)) p.kind = Kind::kMxf4;
  p.pair = in.has(Mod::kCtaGroup2);
  if (p.kind == Kind::kMxf4) {
    p.vectors = 2;
    if (in.has(Mod::kScaleVec4X) || in.has(Mod::kBlock16)) p.vectors = 4;
    if (in.has(Mod::kKindMxf4nvf4) && !in.has(Mod::kScaleVec2X) && !in.has(Mod::kBlock32)) p.vectors = 4;
  }
  const auto& o = in.operands;
  if (!lower_tensor_address(l, o[0], &p.d)) return false;
  p.a_in_tensor = o[1].kind == OperandKind::kAddress;
  if (p.a_in_tensor) {
    if (!lower_tensor_address(l, o[1], &p.a)) return false;
  } else {
    p.a_descriptor = l.place(o[1], Mod::kB64);
    if (p.a_descriptor == kNoRegister) return false;
  }
  p.b_descriptor = l.place(o[2], Mod::kB64);
  p.instruction = l.place(o[3], Mod::kB32);
  if (p.b_descriptor == kNoRegister || p.instruction == kNoRegister) return false;
  size_t next = 4;
  if (p.scaled()) {
    if (o.size() < 7) return refuse("the addresses of the scale factors are missing");
    if (!lower_tensor_address(l, o[4], &p.a_scale) || !lower_tensor_address(l, o[5], &p.b_scale))
      return false;
    next = 6;
  } else if (next < o.size() && o[next].kind == OperandKind::kVector) {
    if (!lower_registers(l, in, o[next++], Mod::kB32, false, p.disable, &p.disable_count, 8)) return false;
    if (p.disable_count != (p.pair ? 8u : 4u))
      return refuse("the mask of lanes has 4 registers (8 with a pair of blocks)");
  }
  if (next >= o.size()) return refuse("enable-input-d is missing");
  p.add = o[next].kind == OperandKind::kInteger ? l.constant(o[next].integer != 0 ? 0xff : 0, 1)
                                                : l.place(o[next], Mod::kPred);
  if (p.add == kNoRegister) return false;
  if (++next < o.size()) {
    int64_t scale = 0;
    if (!l.integer(o[next], &scale)) return false;
    if (scale < 0 || scale > 15) return refuse("scale-input-d is 0 to 15");
    p.scale_d = static_cast<int>(scale);
  }
  l.emit(run_product).data = l.code.keep(p);
  return true;
}

}  // namespace triton_runner::simt
