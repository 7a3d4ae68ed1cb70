// mma.sync: products of the matrices that a warp's registers hold. PTX ISA 9.7.14.5.
//
// Every type has the same fragments: a register of A or B is a matrix of 8 rows of 16 bytes (as ldmatrix
// loads them), A's registers go down the rows first, and the accumulator has rows g and g + 8 and columns 2 t
// and 2 t + 1 of lane 4 g + t. What is computed with them is num/mma.h's.
#include <triton_runner/num/mma.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "matrix/mma_fragments.h"

namespace triton_runner::simt {

using num::MmaSum;
using num::MmaType;
using ptx::Mod;
using ptx::OperandKind;

namespace {

struct Shape {
  Mod mod;
  int m, n, k;
};
constexpr Shape kShapes[] = {
    {Mod::kM8N8K4, 8, 8, 4},       {Mod::kM8N8K16, 8, 8, 16},     {Mod::kM8N8K32, 8, 8, 32},
    {Mod::kM8N8K128, 8, 8, 128},   {Mod::kM16N8K4, 16, 8, 4},     {Mod::kM16N8K8, 16, 8, 8},
    {Mod::kM16N8K16, 16, 8, 16},   {Mod::kM16N8K32, 16, 8, 32},   {Mod::kM16N8K64, 16, 8, 64},
    {Mod::kM16N8K128, 16, 8, 128}, {Mod::kM16N8K256, 16, 8, 256},
};

// How many registers each operand has and how large they are.
struct Fragments {
  uint32_t a[8], b[4], c[4], d[4];  // places
  uint32_t a_count = 0, b_count = 0, c_count = 0, d_count = 0;
};

struct Mma {
  num::MmaPlan plan[2];  // exact, fast
  Fragments f;
  int m = 16, k = 0;
  bool is_xor = false;  // b1: xor, else and
  std::optional<SparseA> sparse;
  std::optional<BlockScales> scales;
};

// Operands that were made ready for earlier products. A often comes again in the warp's next one. B does so when the
// warp goes on to its next rows, and other warps have the same.
struct Ready {
  bool valid = false;
  num::MmaPlan plan;
  uint32_t bits[4][32];
  uint32_t count = 0;
  bool is(const num::MmaPlan& p, const uint32_t* const* registers, uint32_t n) const {
    if (!valid || count != n || p.a != plan.a || p.b != plan.b || p.k != plan.k || p.fast != plan.fast ||
        p.sum != plan.sum || p.scale != plan.scale || p.model.converted != plan.model.converted)
      return false;
    for (uint32_t i = 0; i < n; ++i)
      if (std::memcmp(bits[i], registers[i], 128) != 0) return false;
    return true;
  }
  void keep(const num::MmaPlan& p, const uint32_t* const* registers, uint32_t n) {
    valid = true;
    plan = p;
    count = n;
    for (uint32_t i = 0; i < n; ++i) std::memcpy(bits[i], registers[i], 128);
  }
};
struct Scratch {
  struct Rows {
    Ready ready;
    num::MmaRows rows;
  };
  struct Columns {
    Ready ready;
    num::MmaColumns columns;
  };
  std::vector<std::unique_ptr<Rows>> rows;  // a warp of the block
  // By the register that holds B; two, as warps side by side often have two different ones in turn.
  static constexpr uint32_t kSets = 16;
  std::array<Columns, 2 * kSets> columns;

  Rows& rows_of(uint32_t warp) {
    if (rows.size() <= warp) rows.resize(warp + 1);
    if (!rows[warp]) rows[warp] = std::make_unique<Rows>();
    return *rows[warp];
  }
  // before_change(columns): for who still wants what was there.
  num::MmaColumns& columns_of(const num::MmaPlan& plan, uint32_t place, uint32_t warp,
                              const uint32_t* const* b, uint32_t count, auto before_change) {
    Columns* set = &columns[2 * ((place * 0x9e3779b1u) >> 28)];
    for (uint32_t way : {warp & 1, ~warp & 1})
      if (set[way].ready.is(plan, b, count)) return set[way].columns;
    Columns& made = set[warp & 1];
    before_change(made.columns);
    made.columns.resize(plan, 8);
    num::mma_pack_columns(plan, made.columns, 0, reinterpret_cast<const void* const*>(b));
    made.ready.keep(plan, b, count);
    return made.columns;
  }
};
static_assert(Scratch::kSets == 1u << (32 - 28));
thread_local Scratch scratch;

// Products of warps side by side that are yet to be computed.
class Products {
 public:
  explicit Products(const num::MmaPlan& plan) : plan_(plan) {}

  bool use(const num::MmaColumns& columns) const {
    return std::find(columns_, columns_ + count_, &columns) != columns_ + count_;
  }
  void add(const num::MmaRows& rows, const num::MmaColumns& columns, const uint32_t* const* c,
           uint32_t* const* d) {
    num::mma_load_sums(plan_.sum, sums_[count_], c);
    rows_[count_] = &rows;
    columns_[count_] = &columns;
    std::copy_n(d, 4, to_[count_]);
    if (++count_ == (plan_.fast ? 1 : num::kMmaTogether)) compute();  // only exact ones gain
  }
  void compute() {
    if (count_ == 0) return;
    num::mma_multiply(plan_, rows_, columns_, count_, sums_);
    for (int i = 0; i < count_; ++i) num::mma_store_sums(plan_.sum, sums_[i], to_[i]);
    count_ = 0;
  }

 private:
  const num::MmaPlan& plan_;
  int count_ = 0;
  const num::MmaRows* rows_[num::kMmaTogether];
  const num::MmaColumns* columns_[num::kMmaTogether];
  uint32_t* to_[num::kMmaTogether][4];
  alignas(64) uint32_t sums_[num::kMmaTogether][128];
};

void run_mma(Lanes& lanes, const Operands& in) {
  Exec& x = exec_of(lanes);
  if (!x.converged(instr_of(in))) return;
  const auto& m = *static_cast<const Mma*>(in.data);
  const Fragments& f = m.f;
  const num::MmaPlan& plan = m.plan[x.launch().fast_mma ? 1 : 0];
  Products products(plan);
  static constexpr uint32_t kZeros[32] = {};
  uint32_t ignored[32];
  for (uint32_t w = 0; w < x.count; w += 32) {
    if (x.mask && !x.mask[w]) continue;
    const uint32_t* a[8];
    const uint32_t* b[4];
    const uint32_t* c[4] = {kZeros, kZeros, kZeros, kZeros};
    uint32_t* d[4] = {ignored, ignored, ignored, ignored};
    for (uint32_t i = 0; i < f.a_count; ++i) a[i] = x.reg<uint32_t>(f.a[i]) + w;
    for (uint32_t i = 0; i < f.b_count; ++i) b[i] = x.reg<uint32_t>(f.b[i]) + w;
    for (uint32_t i = 0; i < f.c_count; ++i) c[i] = x.reg<uint32_t>(f.c[i]) + w;
    for (uint32_t i = 0; i < f.d_count; ++i) d[i] = x.reg<uint32_t>(f.d[i]) + w;
    const uint32_t warp = (x.first + w) / 32;
    Scratch::Rows& slot = scratch.rows_of(warp);
    if (m.sparse) {
      const SparsePlaces places =
          sparse_places(plan, m.sparse->selector, x.reg<uint32_t>(m.sparse->metadata) + w);
      if (!pack_sparse_rows(x, in, w, plan, reinterpret_cast<const void* const*>(a), places, slot.rows))
        return products.compute();
      slot.ready.valid = false;
    } else if (!slot.ready.is(plan, a, f.a_count)) {
      num::mma_pack_rows(plan, slot.rows, reinterpret_cast<const void* const*>(a), m.m);
      slot.ready.keep(plan, a, f.a_count);
    }
    num::MmaColumns& columns =
        scratch.columns_of(plan, f.b[0], warp, b, f.b_count, [&](const num::MmaColumns& there) {
          if (products.use(there)) products.compute();
        });
    if (m.scales) {  // of this warp: other warps may have other scales for the same columns
      products.compute();
      load_scales(x, w, *m.scales, slot.rows, columns);
    }
    products.add(slot.rows, columns, c, d);
  }
  products.compute();
}

// Products whose sums are chains in ascending k. A's register i has rows g + 8 (i % 2) and element 4 (i / 2)
// + t, B's register i element 4 i + t of column g. A register holds `step` elements; add(sum, a, b) takes one
// into a sum.
template <class T, class Add>
void run_chain(Lanes& lanes, const Operands& in, int step, Add add) {
  Exec& x = exec_of(lanes);
  if (!x.converged(instr_of(in))) return;
  const auto& m = *static_cast<const Mma*>(in.data);
  const Fragments& f = m.f;
  const uint32_t high = static_cast<uint32_t>(m.m) / 8, steps = static_cast<uint32_t>(m.k / step);
  for (uint32_t w = 0; w < x.count; w += 32) {
    if (x.mask && !x.mask[w]) continue;
    T result[4][32];
    for (uint32_t q = 0; q < f.c_count; ++q)
      for (uint32_t lane = 0; lane < 32; ++lane) {
        const uint32_t row = lane / 4, half = q / 2, column = 2 * (lane % 4) + q % 2;
        T sum = x.reg<T>(f.c[q])[w + lane];
        for (uint32_t k = 0; k < steps; ++k)
          sum = add(sum, x.reg<T>(f.a[k / 4 * high + half])[w + 4 * row + k % 4],
                    x.reg<T>(f.b[k / 4])[w + 4 * column + k % 4]);
        result[q][lane] = sum;
      }
    for (uint32_t q = 0; q < f.d_count; ++q) std::memcpy(x.reg<T>(f.d[q]) + w, result[q], sizeof result[q]);
  }
}

// m8n8k4, m16n8k4, k8, k16 of f64.
void run_f64(Lanes& lanes, const Operands& in) {
  run_chain<double>(lanes, in, 1, [](double sum, double a, double b) { return std::fma(a, b, sum); });
}

// 32 elements of one bit in a register.
void run_b1(Lanes& lanes, const Operands& in) {
  const bool is_xor = static_cast<const Mma*>(in.data)->is_xor;
  run_chain<uint32_t>(lanes, in, 32, [=](uint32_t sum, uint32_t a, uint32_t b) {
    return sum + static_cast<uint32_t>(std::popcount(is_xor ? a ^ b : a & b));
  });
}

}  // namespace

std::optional<MmaType> mma_type(Mod type, bool packed) {
  switch (type) {
    case Mod::kF16:
      return MmaType::kF16;
    case Mod::kBf16:
      return MmaType::kBF16;
    case Mod::kTf32:
      return MmaType::kTF32;
    case Mod::kE4m3:
      return MmaType::kE4M3;
    case Mod::kE5m2:
      return MmaType::kE5M2;
    case Mod::kE3m2:
      return MmaType::kE3M2;
    case Mod::kE2m3:
      return MmaType::kE2M3;
    case Mod::kE2m1:
      return packed ? MmaType::kE2M1 : MmaType::kE2M1Byte;
    case Mod::kS8:
      return MmaType::kS8;
    case Mod::kU8:
      return MmaType::kU8;
    case Mod::kS4:
      return MmaType::kS4;
    case Mod::kU4:
      return MmaType::kU4;
    default:
      return std::nullopt;
  }
}

std::optional<MmaSum> mma_sum(Mod type) {
  switch (type) {
    case Mod::kF32:
      return MmaSum::kF32;
    case Mod::kF16:
      return MmaSum::kF16;
    case Mod::kS32:
      return MmaSum::kS32;
    default:
      return std::nullopt;
  }
}

namespace {

// Registers of an operand that each thread holds.
struct Counts {
  uint32_t a = 0, b = 0, sums = 0;
};

// The product of two types that tensor cores have models of; null, or why there is none.
const char* plan_product(const Lowering& l, const ptx::Instruction& in, Mma& m, Counts* counts) {
  const bool sparse = in.has(Mod::kSp) || in.has(Mod::kSpOrderedMetadata);
  const bool packed = in.has(Mod::kKindMxf4) || in.has(Mod::kKindMxf4nvf4);
  const auto a = mma_type(in.type(1), packed), b = mma_type(in.type(2), packed);
  const auto sum = mma_sum(in.type(0));
  if (!a || !b || !sum || (*a >= MmaType::kS8) != (*sum == MmaSum::kS32) ||
      num::mma_bits(*a) != num::mma_bits(*b))
    return "no tensor core multiplies these types";
  const num::MmaScale scale = !in.has(Mod::kBlockScale) ? num::MmaScale::kNone
                              : packed                  ? num::MmaScale::kGroups
                                                        : num::MmaScale::kPowers;
  for (int fast = 0; fast < 2; ++fast) {
    m.plan[fast] = num::MmaPlan(l.capability(), num::MmaUnit::kMma, *a, *b, *sum, m.k, fast != 0, scale);
    m.plan[fast].saturate = in.has(Mod::kSatfinite);
    m.plan[fast].sparse = sparse;
  }
  const int bits = num::mma_bits(*a);
  counts->a = static_cast<uint32_t>(m.m / 8 * m.k * bits / 128 / (sparse ? 2 : 1));
  counts->b = static_cast<uint32_t>(m.k * bits / 128);
  counts->sums = static_cast<uint32_t>(*sum == MmaSum::kF16 ? m.m / 8 : m.m / 4);
  // The rows of a warp's operands have 16 or 32 bytes.
  const int bytes = m.k * bits / (sparse ? 16 : 8);
  if ((bytes != 16 && bytes != 32) || (sparse && m.m != 16))
    return "no tensor core multiplies these types in this shape";
  return nullptr;
}

bool check_counts(Lowering& l, const ptx::Instruction& in, const Fragments& f, const Counts& want) {
  auto check = [&](const ptx::Operand& operand, const char* name, uint32_t have, uint32_t wanted) {
    return have == wanted ||
           l.error(operand.offset, "'" + std::string(in.spelling) + "' has " + std::to_string(wanted) +
                                       " registers of " + name + ", there are " + std::to_string(have));
  };
  return check(in.operands[0], "D", f.d_count, want.sums) && check(in.operands[1], "A", f.a_count, want.a) &&
         check(in.operands[2], "B", f.b_count, want.b) && check(in.operands[3], "C", f.c_count, want.sums);
}

}  // namespace

bool lower_mma(Lowering& l, const ptx::Instruction& in) {
  auto refuse = [&](const char* why) { return l.error(in, "'" + std::string(in.spelling) + "': " + why); };
  Mma m;
  for (const Shape& s : kShapes)
    if (in.has(s.mod)) {
      m.m = s.m;
      m.k = s.k;
    }
  if (m.k == 0) return refuse("this shape is not one of mma.sync");
  const Mod type = in.type(1);
  if (in.type(0) != in.type(3))
    return refuse(
        "results and accumulators of different types are those of sm_70's m8n8k4, which is not executed");
  if (type == Mod::kF16 && m.m == 8) return refuse("m8n8k4 of f16 is sm_70's, which is not executed");
  const Mod word = type == Mod::kF64 ? Mod::kF64 : Mod::kB32;
  Fragments& f = m.f;
  if (!lower_registers(l, in, in.operands[0], word, true, f.d, &f.d_count, 4) ||
      !lower_registers(l, in, in.operands[1], word, false, f.a, &f.a_count, 8) ||
      !lower_registers(l, in, in.operands[2], word, false, f.b, &f.b_count, 4) ||
      !lower_registers(l, in, in.operands[3], word, false, f.c, &f.c_count, 4))
    return false;
  Counts counts;
  Handler run = run_mma;
  if (type == Mod::kF64 || type == Mod::kB1) {
    const int row = type == Mod::kF64 ? 4 : 128;  // elements: a register of each of the four threads of a row
    run = type == Mod::kF64 ? run_f64 : run_b1;
    m.is_xor = type == Mod::kB1 && in.has(Mod::kXor);
    counts = {static_cast<uint32_t>(m.m / 8 * m.k / row), static_cast<uint32_t>(m.k / row),
              static_cast<uint32_t>(m.m / 4)};
  } else if (const char* why = plan_product(l, in, m, &counts)) {
    return refuse(why);
  }
  if (counts.a == 0 || counts.b == 0) return refuse("no tensor core multiplies these types in this shape");
  if (!check_counts(l, in, f, counts)) return false;
  size_t next = 4;
  if (in.has(Mod::kSp) || in.has(Mod::kSpOrderedMetadata)) {
    m.sparse.emplace();
    if (!lower_sparse(l, in, m.plan[0], &next, &*m.sparse)) return false;
  }
  if (in.has(Mod::kBlockScale)) {
    m.scales.emplace();
    if (!lower_scales(l, in, m.plan[0], next, &*m.scales)) return false;
  }
  Instr& out = l.emit(run);
  out.data = l.code.keep(std::move(m));
  return true;
}

}  // namespace triton_runner::simt
