// What the checks keep of a cluster under way: its clocks, and who accessed each byte.
#pragma once
#include <algorithm>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "check/check.h"

namespace triton_runner::simt {

// Who accessed a byte, as far as a later access needs it. Record 0 is nobody.
struct Checks::Record {
  uint32_t agent = 0, time = 0, thread = 0;
  const Operands* in = nullptr;
  bool atomic = false;
  uint32_t block = 0;  // global: linear number of the cluster
};

// A byte of shared memory, or a word of tensor memory; numbers of records.
struct Checks::Cell {
  uint32_t write = 0, reads[2] = {};
  uint32_t copy_in = 0, copy_out = 0;  // by copies and products under way
  uint64_t serial = 0;                 // instruction of the last write
  uint64_t again = 0;                  // warps that stored the same value since, a bit each
  bool defined = false;
};

struct Checks::GlobalCell {
  uint32_t write = 0, reads[2] = {};
  uint64_t serial = 0;  // as above
};
struct Checks::GlobalPage {
  GlobalCell cells[256];
};

// What happened before, by agent; and how much of it a fence has made known to the async proxy.
struct Checks::Known {
  Clock all, fenced;
};

struct Checks::State {
  uint32_t linear = 0;
  // Warps of all blocks; the engine that reads for bulk stores, which no barrier tells of; and the tensor
  // core. Behind them, as they are met, the copies that each mbarrier tells of: they land in any order, so
  // that who waited for one barrier knows nothing of another's.
  uint32_t agents = 0;
  uint32_t warps = 0;                     // of a block
  std::vector<Known> known;               // by agent
  std::vector<std::vector<Cell>> cells;   // by block
  std::vector<std::vector<Cell>> tensor;  // tensor memory, by block; empty until it is accessed
  std::vector<Record> records;
  struct Named {
    Known known;
    std::vector<uint32_t> arrived;  // agents
  };
  std::vector<Named> named;  // 16 a block
  std::unordered_map<uint32_t, Known> barriers;
  std::unordered_map<uint32_t, uint32_t> copiers;  // agents, by mbarrier
  Known cluster[2];  // of the cluster's barrier, by parity of its phase: who is ahead is so by one

  uint32_t tensor_core() const { return agents - 1; }
  uint32_t reader() const { return agents - 2; }
  uint32_t agent(const Cta& cta, uint32_t thread) const { return cta.rank * warps + thread / 32; }
  uint32_t copier(uint32_t barrier) {
    const auto [it, fresh] = copiers.try_emplace(barrier, static_cast<uint32_t>(known.size()));
    if (fresh) {
      known.emplace_back().all.resize(it->second + 1);
      known.back().all.back() = 1;
    }
    return it->second;
  }
  static void join(Clock& into, const Clock& from) {
    into.resize(std::max(into.size(), from.size()));
    for (size_t i = 0; i < from.size(); i++) into[i] = std::max(into[i], from[i]);
  }
  static void join(Known& into, const Known& from) {
    join(into.all, from.all);
    join(into.fenced, from.fenced);
  }
  void release(uint32_t agent, Known& into) {
    join(into, known[agent]);
    ++known[agent].all[agent];
  }
};

// "ld.shared.b32 at k.py:7:5 (k.ptx:26:3)"
std::string place_text(const Code& code, const Operands& in);

}  // namespace triton_runner::simt
