// What is computed with the fragments is num/mma.h's.
#include "matrix/mma.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <memory>
#include <vector>

namespace triton_runner::simt {
namespace {

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

// Products whose sums are chains in ascending k. A's register i has rows g + 8 (i % 2) and element 4 (i / 2)
// + t, B's register i element 4 i + t of column g. A register holds `step` elements; add(sum, a, b) takes one
// into a sum.
template <class T, class Add>
void run_chain(Lanes& lanes, const Operands& in, int step, Add add) {
  Exec& x = exec_of(lanes);
  if (!x.converged(instr_of(in))) return;
  const auto& m = *static_cast<const Mma*>(in.data);
  const MmaFragments& f = m.f;
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

}  // namespace

void run_mma(Lanes& lanes, const Operands& in) {
  Exec& x = exec_of(lanes);
  if (!x.converged(instr_of(in))) return;
  const auto& m = *static_cast<const Mma*>(in.data);
  const MmaFragments& f = m.f;
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

}  // namespace triton_runner::simt
