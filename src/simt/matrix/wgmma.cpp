// Products of a warp group, asynchronous.
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
#include <deque>
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

// What a warp has issued and not yet waited for.
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
  std::deque<Issued> products;
  std::vector<Uncovered> uncovered;
  uint64_t group = 0;  // the one that is open: groups before it are committed
};
struct Wgmma : CtaPart {
  std::vector<WarpQueue> warps;
  void begin(Cta& cta) override { warps.assign(cta.code->threads / 32, {}); }
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

// The rows of one warp, whose first thread is `thread`. `columns_of`: the product and descriptor whose
// columns are in scratch.
bool compute(Exec& x, const Issued& p, uint32_t thread, const Issued** columns_of) {
  Cta& cta = *x.cta;
  const auto& m = *static_cast<const WgmmaProduct*>(p.instr->data);
  const num::MmaPlan& plan = m.plan[x.launch().fast_mma ? 1 : 0];
  if (!scratch) scratch = std::make_unique<ProductScratch>();
  ProductScratch& s = *scratch;
  const uint32_t wide = m.b_bytes() / 16;
  if (!*columns_of || (*columns_of)->instr != p.instr || (*columns_of)->b != p.b) {
    const auto bits = static_cast<uint32_t>(m.b1 ? 8 : num::mma_bits(plan.b));
    if (!gather_tiles(x, *p.instr, cta, wgmma_matrix(p.b, m.trans_b), 0, m.n, m.b_bytes(), bits, &s.b_tiles))
      return false;
    if (!m.b1) {
      s.columns.resize(plan, static_cast<int>(m.n));
      for (uint32_t j = 0; j < m.n; j += 8) {
        const void* tiles[4];
        for (uint32_t c = 0; c < wide; ++c) tiles[c] = s.b_tiles.data() + (j / 8 * wide + c) * 128;
        num::mma_pack_columns(plan, s.columns, static_cast<int>(j), tiles);
      }
    }
    *columns_of = &p;
  }
  const void* tiles[4];
  if (m.a_in_registers) {
    for (uint32_t i = 0; i < 4; ++i) tiles[i] = p.registers.data() + 32 * i;
  } else {
    const auto bits = static_cast<uint32_t>(m.b1 ? 8 : num::mma_bits(plan.a));
    const uint32_t first = thread / 32 % 4 * 16;
    if (!gather_tiles(x, *p.instr, cta, wgmma_matrix(p.a, m.trans_a), first, 16, m.k_bytes, bits, &s.a_tiles))
      return false;
    constexpr uint32_t kWide = WgmmaProduct::k_bytes / 16;
    for (uint32_t c = 0; c < kWide; ++c)
      for (uint32_t h = 0; h < 2; ++h) tiles[2 * c + h] = s.a_tiles.data() + (h * kWide + c) * 128;
  }
  s.sums.resize(size_t{16} * m.n);
  const uint32_t per_octet = static_cast<uint32_t>(m.d.size()) / (m.n / 8);
  for (uint32_t j = 0; j < m.n; j += 8) {
    uint32_t* sums = s.sums.data() + size_t{16} * j;
    if (!p.add) {
      std::memset(sums, 0, 4 * 128);
      continue;
    }
    const uint32_t* c[4] = {};
    for (uint32_t i = 0; i < per_octet; ++i) c[i] = reg_of<uint32_t>(cta, m.d[j / 8 * per_octet + i], thread);
    num::mma_load_sums(plan.sum, sums, c);
  }
  if (m.b1) {
    for (uint32_t j = 0; j < m.n; ++j)
      for (uint32_t i = 0; i < 16; ++i)
        for (uint32_t c = 0; c < wide; ++c)
          for (uint32_t word = 0; word < 4; ++word) {
            uint32_t a, b;
            std::memcpy(&a, static_cast<const uint8_t*>(tiles[2 * c + i / 8]) + 16 * (i % 8) + 4 * word, 4);
            std::memcpy(&b, s.b_tiles.data() + (j / 8 * wide + c) * 128 + 16 * (j % 8) + 4 * word, 4);
            s.sums[16 * j + i] += static_cast<uint32_t>(std::popcount(a & b));
          }
  } else {
    if (m.sparse) {
      const SparsePlaces places = sparse_places(plan, m.sparse->selector, p.metadata.data());
      if (!pack_sparse_rows(x, *p.instr, kNoRegister, plan, tiles, places, s.rows)) return false;
    } else {
      num::mma_pack_rows(plan, s.rows, tiles);
    }
    num::mma_multiply(plan, s.rows, s.columns, 0, static_cast<int>(m.n), s.sums.data());
  }
  for (uint32_t j = 0; j < m.n; j += 8) {
    uint32_t* d[4] = {};
    for (uint32_t i = 0; i < per_octet; ++i) d[i] = reg_of<uint32_t>(cta, m.d[j / 8 * per_octet + i], thread);
    num::mma_store_sums(plan.sum, s.sums.data() + size_t{16} * j, d);
  }
  return true;
}

// Computes the products for which due(queue, place in it) holds and takes them out. Products of one rank in
// their queues are computed together: their columns are the same ones.
template <class Due>
void complete(Exec& x, Wgmma& part, Due due) {
  const Issued* columns_of = nullptr;
  for (size_t i = 0;; ++i) {
    bool any = false;
    for (uint32_t w = 0; w < x.count; w += 32) {
      if (x.mask && !x.mask[w]) continue;
      const WarpQueue& q = part.warps[(x.first + w) / 32];
      if (i >= q.products.size() || !due(q, i)) continue;
      any = true;
      const Issued& p = q.products[i];
      // What it reads counts as its own, and not as an access of the thread that waits.
      Path* path = std::exchange(x.path, nullptr);
      const bool ok = compute(x, p, x.first + w, &columns_of);
      x.path = path;
      if (!ok) return;
      if (x.worker->checks) x.worker->checks->finish(x, *p.instr, p.reads, true);
    }
    if (!any) break;
  }
  for (uint32_t w = 0; w < x.count; w += 32) {
    if (x.mask && !x.mask[w]) continue;
    WarpQueue& q = part.warps[(x.first + w) / 32];
    while (!q.products.empty() && due(q, 0)) q.products.pop_front();
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

// What a wait covers, and of which products it only seems to.
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
    return x.warn(in, exec::TrapKind::kRace, "ptxas", message, lane, 0, 0, std::move(notes));
  }
  notes.push_back(early.hidden
                      ? "ptxas does not repair this, since the wait covers an older product of the same "
                        "registers: on a GPU they may lack this product"
                      : "ptxas is not known to repair this: on a GPU the registers may lack this product");
  x.trap(in, exec::TrapKind::kRace, message, lane, 0, 0, std::move(notes));
}

}  // namespace

void run_wgmma(Lanes& lanes, const Operands& in) {
  Exec& x = exec_of(lanes);
  if (!x.converged(instr_of(in))) return;
  const auto& m = *static_cast<const WgmmaProduct*>(in.data);
  Wgmma& part = part_of(*x.cta);
  for (uint32_t w = 0; w < x.count; w += 32) {
    if (x.mask && !x.mask[w]) continue;
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

void wgmma_commit(Lanes& lanes, const Operands& in) {
  Exec& x = exec_of(lanes);
  if (!x.converged(instr_of(in))) return;
  Wgmma& part = part_of(*x.cta);
  for (uint32_t w = 0; w < x.count; w += 32)
    if (!x.mask || x.mask[w]) ++part.warps[(x.first + w) / 32].group;
}

void wgmma_wait(Lanes& lanes, const Operands& in) {
  Exec& x = exec_of(lanes);
  if (!x.converged(instr_of(in))) return;
  const auto left = static_cast<uint64_t>(in.imm);
  complete(x, part_of(*x.cta), [left](const WarpQueue& q, size_t i) {
    return machine::is_waited_for(q.products[i].group, left, q.group);
  });
  for (uint32_t w = 0; w < x.count; w += 32)
    if (!x.mask || x.mask[w]) cover(part_of(*x.cta).warps[(x.first + w) / 32], instr_of(in), left);
}

void wgmma_fence(Lanes& lanes, const Operands& in) { exec_of(lanes).converged(instr_of(in)); }

void wgmma_early_use(Lanes& lanes, const Operands& in) {
  Exec& x = exec_of(lanes);
  if (!x.worker->checks || !x.worker->checks->looks_for_races()) return;
  const auto& early = *static_cast<const EarlyProducts*>(in.data);
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
