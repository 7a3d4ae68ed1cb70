// Declares what the race check keeps for a program and its tasks: their clocks, and the last accesses to each
// memory.
#pragma once
#include <deque>
#include <map>

#include <triton_runner/machine/async_queue.h>

#include "check/race.h"
#include "check/shadow.h"

namespace triton_runner::tile {

struct RaceCheck::TaskState {
  const Task* task = nullptr;
  Thread thread;
  // Threads beside the task that it has not waited for: cp.async, wgmma, TMA stores.
  machine::AsyncQueue<uint32_t> begun;  // agents are its queues
  // The copy that the instruction issues, while it runs.
  const Instr* issues = nullptr;
  Thread issued;
  // The task's accesses to shared memory since its warps met.
  struct Range {
    uint64_t begin, end;
    bool writes;
  };
  std::vector<Range> ranges;
};

struct RaceCheck::ProgramRace : ProgramState {
  void begin(Program&) override {}
  std::deque<TaskState> tasks;
  Thread tensor_core;                            // tcgen05: its products and copies come one after the other
  machine::History shared;                       // by bytes of the arena
  std::unordered_map<uint64_t, Clock> barriers;  // by address in the arena
  std::unordered_map<uint64_t, std::vector<uint32_t>>
      flights;  // copies to it that may be under way, oldest first
  std::map<int64_t, Clock> named;
};

}  // namespace triton_runner::tile
