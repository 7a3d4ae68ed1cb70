// Computes mma.sync: brings fragments to num/mma.h, which has the arithmetic, and sums back to registers.
#include "matrix/mma.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <memory>
#include <vector>

#include "ops/move.h"

namespace triton_runner::simt {
namespace {

// Registers of the warp for which an operand was made ready: warps side by side have the same rows or columns.
struct Ready {
  std::vector<const uint32_t*> registers;
  bool is(const uint32_t* const* others) const {
    return !registers.empty() && std::equal(registers.begin(), registers.end(), others,
                                            [](auto* a, auto* b) { return std::memcmp(a, b, 128) == 0; });
  }
  void keep(const uint32_t* const* others, size_t n) { registers.assign(others, others + n); }
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
  std::vector<std::unique_ptr<Rows>> rows;
  std::array<Columns, 2> columns;  // often two different ones in turn
  std::vector<const uint32_t*> registers;
  std::vector<uint32_t> sums;

  void begin(uint32_t row_count) {
    while (rows.size() < row_count) rows.push_back(std::make_unique<Rows>());
    for (uint32_t i = 0; i < row_count; ++i) rows[i]->ready.registers.clear();
    for (Columns& c : columns) c.ready.registers.clear();
  }
  const uint32_t* const* find(const Exec& x, uint32_t warp, const uint32_t* places, size_t n) {
    registers.resize(n);
    for (size_t i = 0; i < n; ++i) registers[i] = x.reg<uint32_t>(places[i]) + warp;
    return registers.data();
  }
  num::MmaColumns& columns_of(const Exec& x, uint32_t warp, const MmaGroup& g, const num::MmaPlan& plan) {
    const size_t n = g.b.size(), each = n / g.columns;
    const uint32_t* const* tiles = find(x, warp, g.b.data(), n);
    const uint32_t way = (x.first + warp) / 32 & 1;
    for (uint32_t w : {way, way ^ 1})
      if (columns[w].ready.is(tiles)) return columns[w].columns;
    num::MmaColumns& made = columns[way].columns;
    made.resize(plan, static_cast<int>(8 * g.columns));
    for (uint32_t j = 0; j < g.columns; ++j)
      num::mma_pack_columns(plan, made, static_cast<int>(8 * j),
                            reinterpret_cast<const void* const*>(tiles + each * j));
    if (!g.overwrites) columns[way].ready.keep(tiles, n);
    return made;
  }
  num::MmaRows& rows_of(const Exec& x, uint32_t warp, const MmaGroup& g, const num::MmaPlan& plan, uint32_t i,
                        int m) {
    const size_t n = g.a.size() / g.rows;
    const uint32_t* const* tiles = find(x, warp, g.a.data() + n * i, n);
    Rows& made = *rows[i];
    if (made.ready.is(tiles)) return made.rows;
    num::mma_pack_rows(plan, made.rows, reinterpret_cast<const void* const*>(tiles), m);
    if (!g.overwrites) made.ready.keep(tiles, n);
    return made.rows;
  }
};
thread_local Scratch fragments;

// Sums of one row of fragments.
void multiply(const Exec& x, uint32_t warp, const num::MmaPlan& plan, const MmaGroup::Sum* sums,
              uint32_t count, const num::MmaRows& rows, const num::MmaColumns& columns,
              std::vector<uint32_t>& held) {
  if (plan.in_registers) {
    constexpr uint32_t kAtOnce = 8;
    for (uint32_t first = 0; first < count; first += kAtOnce) {
      const uint32_t* c[kAtOnce][4];
      uint32_t* d[kAtOnce][4];
      const uint32_t n = std::min(count - first, kAtOnce);
      for (uint32_t i = 0; i < 4 * n; ++i) {
        c[i / 4][i % 4] = x.reg<uint32_t>(sums[first + i / 4].c[i % 4]) + warp;
        d[i / 4][i % 4] = x.reg<uint32_t>(sums[first + i / 4].d[i % 4]) + warp;
      }
      num::mma_multiply_registers(plan, rows, columns, static_cast<int>(first), static_cast<int>(n), c, d);
    }
    return;
  }
  static constexpr uint32_t kZeros[32] = {};
  uint32_t ignored[32];
  held.resize(128 * count);
  for (uint32_t j = 0; j < count; ++j) {
    const uint32_t* c[4];
    for (uint32_t q = 0; q < 4; ++q)
      c[q] = sums[j].c[q] == kNoRegister ? kZeros : x.reg<uint32_t>(sums[j].c[q]) + warp;
    num::mma_load_sums(plan.sum, &held[128 * j], c);
  }
  num::mma_multiply(plan, rows, columns, 0, static_cast<int>(8 * count), held.data());
  for (uint32_t j = 0; j < count; ++j) {
    uint32_t* d[4];
    for (uint32_t q = 0; q < 4; ++q)
      d[q] = sums[j].d[q] == kNoRegister ? ignored : x.reg<uint32_t>(sums[j].d[q]) + warp;
    num::mma_store_sums(plan.sum, &held[128 * j], d);
  }
}

// Products whose sums are chains in ascending k. A's register i has rows g + 8 (i % 2) and element 4 (i / 2)
// + t, B's register i element 4 i + t of column g. A register holds `step` elements; add(sum, a, b) takes one
// into a sum.
template <class T, class Add>
void run_chain(Exec& x, const Operands& in, const Mma& m, int step, Add add) {
  if (!x.converged(instr_of(in))) return;
  const MmaFragments& f = m.f;
  const uint32_t high = static_cast<uint32_t>(m.m) / 8, steps = static_cast<uint32_t>(m.k / step);
  for (uint32_t w : x.warps()) {
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

void run_mma(Exec& x, const Operands& in, const Mma& m) {
  if (!x.converged(instr_of(in))) return;
  // Who looks at each instruction gets each, and so does a path that stands between them.
  const bool each = !x.whole_runs || !m.whole || x.limit - x.pc < m.whole->following;
  const MmaGroup& g = each ? m.alone : *m.whole;
  const Handler copy = copy_register(4);  // not Instr::run, where native code may begin
  for (uint32_t move : g.moves) copy(x, (&instr_of(in))[move]);
  const num::MmaPlan& plan = g.plan[x.launch().fast_mma ? 1 : 0];
  fragments.begin(g.rows);
  for (uint32_t w : x.warps()) {
    num::MmaColumns& columns = fragments.columns_of(x, w, g, plan);
    if (m.sparse) {
      num::MmaRows& rows = fragments.rows[0]->rows;
      const SparsePlaces places =
          sparse_places(plan, m.sparse->selector, x.reg<uint32_t>(m.sparse->metadata) + w);
      const uint32_t* const* tiles = fragments.find(x, w, g.a.data(), g.a.size());
      if (!pack_sparse_rows(x, in, w, plan, reinterpret_cast<const void* const*>(tiles), places, rows))
        return;
      if (m.scales) load_scales(x, w, *m.scales, rows, columns);
      multiply(x, w, plan, g.sums.data(), 1, rows, columns, fragments.sums);
      continue;
    }
    // All are made ready first: sums may go to registers of A.
    for (uint32_t i = 0; i < g.rows; ++i) {
      num::MmaRows& rows = fragments.rows_of(x, w, g, plan, i, m.m);
      if (m.scales) load_scales(x, w, *m.scales, rows, columns);
    }
    for (uint32_t i = 0; i < g.rows; ++i)
      multiply(x, w, plan, &g.sums[g.columns * i], g.columns, fragments.rows[i]->rows, columns,
               fragments.sums);
  }
  x.pc += g.following;
  x.beyond += g.following;
}

static bool writes_operands(const MmaGroup& g) {
  auto is_read = [&](uint32_t place) {
    return std::find(g.a.begin(), g.a.end(), place) != g.a.end() ||
           std::find(g.b.begin(), g.b.end(), place) != g.b.end();
  };
  return std::any_of(g.sums.begin(), g.sums.end(),
                     [&](const MmaGroup::Sum& s) { return std::any_of(s.d, s.d + 4, is_read); });
}

// A register of a sum's results that is another one's before: no part may be written before all are read.
static bool moves_sums(const MmaGroup& g) {
  return std::any_of(g.sums.begin(), g.sums.end(), [](const MmaGroup::Sum& s) {
    for (int i = 0; i < 16; ++i)
      if (i / 4 != i % 4 && s.d[i / 4] == s.c[i % 4]) return true;
    return false;
  });
}

void finish(MmaGroup& g, const Mma& m) {
  num::MmaPlan& fast = g.plan[1];
  fast.in_registers = fast.sum == num::MmaSum::kF32 && !m.sparse && !m.scales && m.m == 16 &&
                      fast.k <= num::kMmaMaxInRegisters && m.f.c_count == 4 && !moves_sums(g);
  g.overwrites = writes_operands(g);
}

void set_alone(Mma& m) {
  MmaGroup& g = m.alone;
  std::copy_n(m.plan, 2, g.plan);
  g.a.assign(m.f.a, m.f.a + m.f.a_count);
  g.b.assign(m.f.b, m.f.b + m.f.b_count);
  MmaGroup::Sum& sum = g.sums.emplace_back();
  std::fill_n(sum.c, 4, kNoRegister);
  std::fill_n(sum.d, 4, kNoRegister);
  std::copy_n(m.f.c, m.f.c_count, sum.c);
  std::copy_n(m.f.d, m.f.d_count, sum.d);
  finish(g, m);
}

// m8n8k4, m16n8k4, k8, k16 of f64.
void run_f64(Exec& x, const Operands& in, const Mma& m) {
  run_chain<double>(x, in, m, 1, [](double sum, double a, double b) { return std::fma(a, b, sum); });
}

// 32 elements of one bit in a register.
void run_b1(Exec& x, const Operands& in, const Mma& m) {
  run_chain<uint32_t>(x, in, m, 32, [is_xor = m.is_xor](uint32_t sum, uint32_t a, uint32_t b) {
    return sum + static_cast<uint32_t>(std::popcount(is_xor ? a ^ b : a & b));
  });
}

}  // namespace triton_runner::simt
