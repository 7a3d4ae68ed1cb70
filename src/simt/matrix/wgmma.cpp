// Executes wgmma: asynchronous products of a warp group.
//
// A product is written down when it is issued and computed when a wait_group covers it: shared memory that is
// overwritten too early shows. In the ISA, registers of A that change and results that are used before such a
// wait are undefined; ptxas makes most of them right by waiting for each product of the function (Triton 3.6
// counts on it). So A is read when a product is issued, and in a function that ptxas serializes
// (triton_runner/ptx/products.h) products are computed then. Warp w of a group computes rows 16 w to
// 16 w + 15, so that warps need not come together.
#include "matrix/wgmma.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <triton_runner/machine/async_queue.h>

#include "check/state.h"
#include "matrix/matrix_descriptor.h"

namespace triton_runner::simt {

using num::MmaType;

namespace {

// A product that a warp has issued and not yet waited for.
struct Issued {
  const Instr* instr;
  uint64_t a = 0, b = 0;  // descriptors
  bool add = true;        // D is added
  uint64_t group = 0;
  std::vector<uint32_t> registers;  // A, if it is in registers: four of each thread
  Checks::UnderWay reads{};         // of a checked launch
  std::vector<uint32_t> metadata;   // of a sparse product: one register of each thread
};
struct WarpQueue {
  // A product that no wait has covered, of a launch that looks for races; computed or not.
  struct Uncovered {
    const Instr* product;
    uint64_t group;
    const Instr* wait = nullptr;  // the last one that did not cover it
    bool hidden = false;          // that one, or one before, covered an older product of the same D
  };
  std::vector<Issued> products;
  size_t done = 0;  // of products, while some are computed
  std::vector<Uncovered> uncovered;
  uint64_t group = 0;  // the one that is open: groups before it are committed
};
struct Wgmma : CopiedPart<Wgmma> {
  std::vector<WarpQueue> warps;
  void begin(Cta& cta) override { warps.assign(cta.code->threads / 32, {}); }
  void list(std::vector<std::pair<std::string, const Instr*>>& out) const override {
    for (size_t w = 0; w < warps.size(); ++w)
      for (size_t i = warps[w].done; i < warps[w].products.size(); ++i)
        out.emplace_back(
            "product of warp " + std::to_string(w) + ", group " + std::to_string(warps[w].products[i].group),
            warps[w].products[i].instr);
  }
};
Wgmma& part_of(Cta& cta) { return cta.part<Wgmma>(Cta::kWgmma); }

constexpr const char* kSerializedNote =
    "ptxas repairs this, mostly by serializing every product of the function: the results are right, and "
    "slower";

thread_local std::unique_ptr<ProductScratch> scratch;

template <class T>
T* reg_of(const Cta& cta, uint32_t place, uint32_t thread) {
  return reinterpret_cast<T*>(cta.regs + place) + thread;
}

// Products whose sums go on in the same registers, as one along k.
struct Chain {
  const Issued* first;
  uint32_t count;
  const WgmmaProduct& product(uint32_t i = 0) const {
    return *static_cast<const WgmmaProduct*>(first[i].instr->data);
  }
  bool has_columns_of(const Chain& other) const {
    if (count != other.count) return false;
    for (uint32_t i = 0; i < count; ++i)
      if (first[i].instr != other.first[i].instr || first[i].b != other.first[i].b) return false;
    return true;
  }
};

constexpr int kMostK = 64;  // more operands push the sums out of the first cache
constexpr uint32_t kMostTiles = kMostK / 4;

// Returns whether `next` may be computed together with those before it, of which `first` is the first: their
// bits stay.
bool goes_on(const Issued& first, const Issued& next, uint32_t steps, bool fast) {
  const auto &m = *static_cast<const WgmmaProduct*>(first.instr->data),
             &o = *static_cast<const WgmmaProduct*>(next.instr->data);
  const num::MmaPlan &p = m.plan[fast], &q = o.plan[fast];
  const int most = p.in_registers ? num::kMmaMaxInRegisters : kMostK;
  return next.add && m.joins && o.joins && m.d == o.d && m.n == o.n && p.k == q.k && p.a == q.a &&
         p.b == q.b && p.a_sign == q.a_sign && p.b_sign == q.b_sign &&
         static_cast<int>(steps + 1) * p.k <= most;
}

// B's columns of a chain, into the scratch.
bool gather_columns(Exec& x, const Chain& chain, const num::MmaPlan& plan, ProductScratch& s) {
  const WgmmaProduct& m = chain.product();
  const uint32_t wide = m.b_bytes() / 16;
  const auto bits = static_cast<uint32_t>(m.b1 ? 8 : num::mma_bits(plan.b));
  s.b_tiles.resize(size_t{chain.count} * m.n * m.b_bytes());
  for (uint32_t i = 0; i < chain.count; ++i) {
    const SharedMatrix matrix = wgmma_matrix(chain.first[i].b, chain.product(i).trans_b);
    if (!gather_tiles(x, *chain.first[i].instr, *x.cta, matrix, 0, m.n, m.b_bytes(), bits,
                      &s.b_tiles[size_t{i} * m.n * m.b_bytes()]))
      return false;
  }
  if (m.b1) return true;
  s.columns.resize(plan, static_cast<int>(m.n));
  const void* tiles[kMostTiles];
  for (uint32_t j = 0; j < m.n; j += 8) {
    for (uint32_t c = 0; c < chain.count * wide; ++c)
      tiles[c] = s.b_tiles.data() + (c / wide * m.n / 8 * wide + j / 8 * wide + c % wide) * 128;
    num::mma_pack_columns(plan, s.columns, static_cast<int>(j), tiles);
  }
  return true;
}

// A's rows of the warp: tiles of what is in its registers or in shared memory.
bool gather_rows(Exec& x, const Chain& chain, uint32_t bits, uint32_t thread, ProductScratch& s,
                 const void** tiles) {
  constexpr uint32_t kWide = WgmmaProduct::k_bytes / 16, kBytes = 16 * WgmmaProduct::k_bytes;
  const uint32_t first = thread / 32 % 4 * 16;
  s.a_tiles.resize(size_t{chain.count} * kBytes);
  for (uint32_t i = 0; i < chain.count; ++i, tiles += 4) {
    const Issued& p = chain.first[i];
    const WgmmaProduct& m = chain.product(i);
    if (m.a_in_registers) {
      for (uint32_t r = 0; r < 4; ++r) tiles[r] = p.registers.data() + 32 * r;
      continue;
    }
    uint8_t* to = &s.a_tiles[size_t{i} * kBytes];
    if (!gather_tiles(x, *p.instr, *x.cta, wgmma_matrix(p.a, m.trans_a), first, 16, m.k_bytes, bits, to))
      return false;
    for (uint32_t c = 0; c < kWide; ++c)
      for (uint32_t h = 0; h < 2; ++h) tiles[2 * c + h] = to + (h * kWide + c) * 128;
  }
  return true;
}

void multiply_bits(const WgmmaProduct& m, const void* const* tiles, ProductScratch& s) {
  const uint32_t wide = m.b_bytes() / 16;
  for (uint32_t j = 0; j < m.n; ++j)
    for (uint32_t i = 0; i < 16; ++i)
      for (uint32_t c = 0; c < wide; ++c)
        for (uint32_t word = 0; word < 4; ++word) {
          uint32_t a, b;
          std::memcpy(&a, static_cast<const uint8_t*>(tiles[2 * c + i / 8]) + 16 * (i % 8) + 4 * word, 4);
          std::memcpy(&b, s.b_tiles.data() + (j / 8 * wide + c) * 128 + 16 * (j % 8) + 4 * word, 4);
          s.sums[16 * j + i] += static_cast<uint32_t>(std::popcount(a & b));
        }
}

// D's registers of eight columns, four of 32 threads (of sums of f16 two); zeros where nothing is added.
void registers_of(const Cta& cta, const WgmmaProduct& m, uint32_t octet, uint32_t thread, uint32_t** out) {
  const uint32_t each = static_cast<uint32_t>(m.d.size()) / (m.n / 8);
  for (uint32_t i = 0; i < each; ++i) out[i] = reg_of<uint32_t>(cta, m.d[octet * each + i], thread);
}

void multiply_registers(const Cta& cta, const Chain& chain, const num::MmaPlan& plan, uint32_t thread,
                        const ProductScratch& s) {
  static constexpr uint32_t kZeros[32] = {};
  constexpr uint32_t kAtOnce = 8;
  const WgmmaProduct& m = chain.product();
  for (uint32_t first = 0; first < m.n / 8; first += kAtOnce) {
    const uint32_t* c[kAtOnce][4];
    uint32_t* d[kAtOnce][4];
    const uint32_t n = std::min(m.n / 8 - first, kAtOnce);
    for (uint32_t j = 0; j < n; ++j) {
      registers_of(cta, m, first + j, thread, d[j]);
      for (uint32_t i = 0; i < 4; ++i) c[j][i] = chain.first->add ? d[j][i] : kZeros;
    }
    num::mma_multiply_registers(plan, s.rows, s.columns, static_cast<int>(first), static_cast<int>(n), c, d);
  }
}

// The rows of one warp, whose first thread is `thread`. `columns_of`: the chain whose columns are in scratch.
bool compute(Exec& x, const Chain& chain, uint32_t thread, std::optional<Chain>* columns_of) {
  Cta& cta = *x.cta;
  const WgmmaProduct& m = chain.product();
  num::MmaPlan plan = m.plan[x.launch().fast_mma ? 1 : 0];
  plan.k *= static_cast<int>(chain.count);
  if (!scratch) scratch = std::make_unique<ProductScratch>();
  ProductScratch& s = *scratch;
  if (!*columns_of || !(*columns_of)->has_columns_of(chain)) {
    if (!gather_columns(x, chain, plan, s)) return false;
    columns_of->emplace(chain);
  }
  const void* tiles[2 * kMostTiles];
  const auto bits = static_cast<uint32_t>(m.b1 ? 8 : num::mma_bits(plan.a));
  if (!gather_rows(x, chain, bits, thread, s, tiles)) return false;
  if (m.sparse) {
    const SparsePlaces places = sparse_places(plan, m.sparse->selector, chain.first->metadata.data());
    if (!pack_sparse_rows(x, *chain.first->instr, kNoRegister, plan, tiles, places, s.rows)) return false;
  } else if (!m.b1) {
    num::mma_pack_rows(plan, s.rows, tiles);
  }
  if (plan.in_registers) {
    multiply_registers(cta, chain, plan, thread, s);
    return true;
  }
  s.sums.resize(size_t{16} * m.n);
  if (!chain.first->add) std::fill(s.sums.begin(), s.sums.end(), 0);
  for (uint32_t j = 0; j < m.n && chain.first->add; j += 8) {
    uint32_t* c[4] = {};
    registers_of(cta, m, j / 8, thread, c);
    num::mma_load_sums(plan.sum, s.sums.data() + size_t{16} * j, c);
  }
  if (m.b1)
    multiply_bits(m, tiles, s);
  else
    num::mma_multiply(plan, s.rows, s.columns, 0, static_cast<int>(m.n), s.sums.data());
  for (uint32_t j = 0; j < m.n; j += 8) {
    uint32_t* d[4] = {};
    registers_of(cta, m, j / 8, thread, d);
    num::mma_store_sums(plan.sum, s.sums.data() + size_t{16} * j, d);
  }
  return true;
}

// Computes the products for which due(queue, place in it) holds and takes them out. Products of one rank in
// their queues are computed together: their columns are the same ones.
template <class Due>
void complete(Exec& x, Wgmma& part, Due due) {
  std::optional<Chain> columns_of;
  for (bool any = true; any;) {
    any = false;
    for (uint32_t w : x.warps()) {
      WarpQueue& q = part.warps[(x.first + w) / 32];
      if (q.done == q.products.size() || !due(q, q.done)) continue;
      any = true;
      Chain chain{&q.products[q.done], 1};
      // Who looks at each product gets each.
      while (!x.worker->checks && q.done + chain.count < q.products.size() && due(q, q.done + chain.count) &&
             goes_on(*chain.first, chain.first[chain.count], chain.count, x.launch().fast_mma))
        ++chain.count;
      q.done += chain.count;
      // Its reads count as its own, and not as an access of the thread that waits.
      Path* path = std::exchange(x.path, nullptr);
      const bool ok = compute(x, chain, x.first + w, &columns_of);
      x.path = path;
      if (!ok) return;
      if (x.worker->checks) x.worker->checks->finish(x, *chain.first->instr, chain.first->reads, true);
    }
  }
  for (uint32_t w : x.warps()) {
    WarpQueue& q = part.warps[(x.first + w) / 32];
    q.products.erase(q.products.begin(), q.products.begin() + static_cast<ptrdiff_t>(q.done));
    q.done = 0;
  }
}

// The shared memory that the rows of warp `w` are made of.
void list_reads(const Exec& x, const WgmmaProduct& m, uint32_t w, Issued& p) {
  auto add = [&](uint32_t address) {
    if (address + uint64_t{16} <= x.cta->shared_bytes) p.reads.ranges.push_back({x.cta, address, 16});
  };
  const num::MmaPlan& plan = m.plan[0];
  auto bits = [&](MmaType type) { return static_cast<uint32_t>(m.b1 ? 8 : num::mma_bits(type)); };
  each_chunk(wgmma_matrix(p.b, m.trans_b), 0, m.n, m.b_bytes(), bits(plan.b), add);
  if (!m.a_in_registers)
    each_chunk(wgmma_matrix(p.a, m.trans_a), (x.first + w) / 32 % 4 * 16, 16, m.k_bytes, bits(plan.a), add);
}

// Marks what a wait covers, and of which products it only seems to.
void cover(WarpQueue& queue, const Instr& wait, uint64_t left) {
  auto is_covered = [&](const WarpQueue::Uncovered& u) {
    return machine::is_waited_for(u.group, left, queue.group);
  };
  auto d_of = [](const Instr& product) -> const std::vector<uint32_t>& {
    return static_cast<const WgmmaProduct*>(product.data)->d;
  };
  for (WarpQueue::Uncovered& u : queue.uncovered) {
    u.wait = &wait;
    u.hidden |= std::any_of(queue.uncovered.begin(), queue.uncovered.end(), [&](const auto& older) {
      return is_covered(older) && d_of(*older.product) == d_of(*u.product);
    });
  }
  std::erase_if(queue.uncovered, is_covered);
}

void report_early(Exec& x, const Operands& in, uint32_t lane, const WarpQueue& queue,
                  const WarpQueue::Uncovered& early, bool serialized) {
  const Code& code = x.code();
  std::vector<std::string> notes{"the product is " + place_text(code, *early.product)};
  if (early.wait) {
    const int64_t left = early.wait->imm;
    notes.push_back("the wait is " + place_text(code, *early.wait) + ": it leaves " + std::to_string(left) +
                    (left == 1 ? " group" : " groups") + " unfinished, " +
                    (early.group == queue.group ? "and the product is in none that was committed"
                                                : "and the product is in one of them"));
  } else {
    notes.push_back("no wgmma.wait_group comes between the two");
  }
  const std::string message = "it uses registers of a wgmma product that no wait_group covers";
  if (serialized) {
    notes.push_back(kSerializedNote);
    return x.warn(in, exec::Race::kInFlight, "ptxas", message, lane, 0, 0, std::move(notes));
  }
  notes.push_back(early.hidden
                      ? "ptxas does not repair this, since the wait covers an older product of the same "
                        "registers: on a GPU they may lack this product"
                      : "ptxas is not known to repair this: on a GPU the registers may lack this product");
  x.trap(in, exec::Race::kInFlight, message, lane, 0, 0, std::move(notes));
}

}  // namespace

void run_wgmma(Exec& x, const Operands& in, const WgmmaProduct& m) {
  if (!x.converged(instr_of(in))) return;
  Wgmma& part = part_of(*x.cta);
  for (uint32_t w : x.warps()) {
    WarpQueue& queue = part.warps[(x.first + w) / 32];
    Issued p{&instr_of(in), 0, 0, true, queue.group, {}, {}, {}};
    if (m.sparse) {
      const uint32_t* metadata = x.reg<uint32_t>(m.sparse->metadata) + w;
      p.metadata.assign(metadata, metadata + 32);
    }
    if (m.a_in_registers) {
      p.registers.resize(4 * 32);
      for (uint32_t i = 0; i < 4; ++i)
        std::memcpy(&p.registers[32 * i], x.reg<uint32_t>(m.a[i]) + w, 32 * sizeof(uint32_t));
    }
    if (m.a_descriptor != kNoRegister) p.a = x.reg<uint64_t>(m.a_descriptor)[w];
    p.b = x.reg<uint64_t>(m.b_descriptor)[w];
    if (m.scale_d != kNoRegister) p.add = x.reg<int8_t>(m.scale_d)[w] != 0;
    if (Checks* checks = x.worker->checks) {
      list_reads(x, m, w, p);
      if (!checks->issue(x, in, w, p.reads)) return;
      if (checks->looks_for_races()) queue.uncovered.push_back({&instr_of(in), queue.group});
    }
    queue.products.push_back(std::move(p));
  }
  if (m.at_once || x.cta->cluster->async.timing.at_once())
    complete(x, part, [](const WarpQueue&, size_t) { return true; });
}

void wgmma_commit(Exec& x, const Operands& in) {
  if (!x.converged(instr_of(in))) return;
  Wgmma& part = part_of(*x.cta);
  for (uint32_t w : x.warps()) ++part.warps[(x.first + w) / 32].group;
}

void wgmma_wait(Exec& x, const Operands& in) {
  if (!x.converged(instr_of(in))) return;
  const auto left = static_cast<uint64_t>(in.imm);
  complete(x, part_of(*x.cta), [left](const WarpQueue& q, size_t i) {
    return machine::is_waited_for(q.products[i].group, left, q.group);
  });
  for (uint32_t w : x.warps()) cover(part_of(*x.cta).warps[(x.first + w) / 32], instr_of(in), left);
}

void wgmma_fence(Exec& x, const Operands& in) { x.converged(instr_of(in)); }

void wgmma_early_use(Exec& x, const Operands& in, const EarlyProducts& early) {
  if (!x.worker->checks || !x.worker->checks->looks_for_races()) return;
  for (uint32_t i = 0; i < x.count; ++i) {
    if (!x.on(i)) continue;
    const WarpQueue& queue = part_of(*x.cta).warps[(x.first + i) / 32];
    const auto at = std::find_if(queue.uncovered.rbegin(), queue.uncovered.rend(), [&](const auto& u) {
      return std::find(early.products.begin(), early.products.end(), u.product->source) !=
             early.products.end();
    });
    if (at != queue.uncovered.rend()) return report_early(x, in, i, queue, *at, early.serialized);
    i |= 31;  // the other threads of its warp know no more
  }
}

}  // namespace triton_runner::simt
