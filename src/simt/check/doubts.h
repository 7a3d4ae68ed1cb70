// Declares races that may not matter: warps read what another one writes, one of those that read it together
// with them is ordered with the write, and the copies of the others may go nowhere, as where a scalar is read
// by all threads of a block and stored by one. An experiment tells: the launch runs again from the same
// memory, the copies in doubt have what the other order would have given them, and if memory comes out as
// before they do not matter.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "state/exec.h"

namespace triton_runner::simt {

// Part of what a warp read in one instruction, and what it would have read in the other order.
struct DoubtfulRead {
  uint64_t serial;  // of the instruction in the launch
  uint64_t address;
  uint32_t bytes;
  uint32_t warps;  // a bit each
  int64_t cluster;
  uint32_t rank;  // of the block in its cluster
  uint64_t
      written;  // serial of the store that came first, of which the other order has the bytes before it; 0: `value` is known
  std::array<std::byte, 4> value;
};

// Two instructions, and the report of the first such read.
struct Doubt {
  const Operands *reader, *writer;
  exec::Trap trap;
  std::vector<DoubtfulRead> reads;
};

// The experiment: what the launch asks at each access to global memory.
class OtherOrder {
 public:
  explicit OtherOrder(Doubt& doubt);
  // Before the bytes are written.
  void writes(uint64_t serial, uint64_t address, uint32_t bytes);
  // Finds what to put in the place of bytes that a warp of a block is about to read.
  template <class F>
  void reads(uint64_t serial, const Cta& cta, uint32_t warp, uint64_t address, uint32_t bytes, F put) const {
    const auto [begin, end] = reads_.equal_range(serial);
    for (auto it = begin; it != end; ++it) {
      const DoubtfulRead& r = *it->second;
      if (r.address < address || r.address + r.bytes > address + bytes || !(r.warps >> warp & 1)) continue;
      if (r.cluster == cta.cluster->number && r.rank == cta.rank) put(r);
    }
  }

 private:
  std::unordered_multimap<uint64_t, DoubtfulRead*> reads_, writes_;
};

}  // namespace triton_runner::simt
