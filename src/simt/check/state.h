// The state of the checks for a running cluster: its agents, and the last accesses to each byte.
#pragma once
#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "check/check.h"

namespace triton_runner::simt {

struct Checks::Record : machine::Record {
  const Operands* in = nullptr;
  uint32_t thread = 0;
  uint64_t serial = 0;  // of the instruction; 0 for a copy or product in flight
  bool writes() const { return act == machine::Act::kWrite || act == machine::Act::kAtomic; }
};

// A byte of shared memory, or a word of tensor memory.
struct Checks::Cell : machine::Cell {
  uint32_t copy_in = 0, copy_out = 0;  // records of copies and products in flight
  uint64_t again = 0;                  // a bit for each warp that stored the current value
  bool defined = false;
};

struct Checks::State {
  machine::Agent block;  // the whole cluster, for global memory
  // The warps of all blocks; the engine that reads the sources of bulk stores, which signal no barrier; and the
  // tensor core. Then one agent per mbarrier whose copies it tracks, in the order in which they are first seen:
  // copies land in any order, so a wait for one barrier says nothing about the copies of another.
  std::vector<machine::Agent> agents;
  uint32_t warps = 0;                     // of a block
  uint32_t all_warps = 0;                 // of all blocks
  std::vector<std::vector<Cell>> cells;   // by block
  std::vector<std::vector<Cell>> tensor;  // tensor memory, by block; empty until it is accessed
  std::vector<Record> records;
  struct Named {
    machine::Clock known;
    std::vector<uint32_t> arrived;  // agents
  };
  std::vector<Named> named;  // 16 a block
  std::unordered_map<uint32_t, machine::Clock> barriers;
  std::unordered_map<uint32_t, uint32_t> copiers;  // agents, by mbarrier
  // NaNs that may be a step of one instruction of the program, by block, place of the register and thread.
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, Mark> marks;
  // A uniform register of a warp that has parted (block, place, warp): what each lane's own path has written to it.
  struct Uniform {
    std::array<uint32_t, 32> own{};
    const Instr* writer = nullptr;
  };
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, Uniform> uniform;
  using Thread = std::pair<uint32_t, uint32_t>;  // its block and number
  std::map<Thread, const Instr*> callers;
  std::map<std::pair<Thread, uint32_t>, Mark> divisions;                // by zero, by line of the PTX
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, Missing> missing;  // by block, place and thread
  const Missing* missing_of(const Exec& x, uint32_t place, uint32_t lane) const {
    const auto found = missing.find({x.cta->rank, place, x.first + lane});
    return found == missing.end() ? nullptr : &found->second;
  }
  struct Stored {
    Missing missing;
    uint32_t bytes;
  };
  std::map<uint64_t, Stored> stored;  // of integers in shared memory, by shared_place()
  std::vector<Origin> origins;
  machine::Clock cluster[2];  // of the cluster's barrier, by parity of the phase: warps differ by at most one

  machine::Agent& new_agent() {
    agents.push_back({static_cast<uint32_t>(agents.size())});
    return agents.back();
  }
  machine::Agent& reader() { return agents[all_warps]; }
  machine::Agent& tensor_core() { return agents[all_warps + 1]; }
  machine::Agent& agent(const Cta& cta, uint32_t thread) { return agents[cta.rank * warps + thread / 32]; }
  machine::Agent& copier(uint32_t barrier) {
    const auto [it, fresh] = copiers.try_emplace(barrier, static_cast<uint32_t>(agents.size()));
    return fresh ? new_agent() : agents[it->second];
  }
};

// The op and location of an access: "ld.shared.b32 at k.py:7:5 (k.ptx:26:3)".
std::string place_text(const Code& code, const Operands& in);

}  // namespace triton_runner::simt
