// RaceCheck reports, for check="race", accesses to the same memory that nothing orders, where the order can
// be seen in the result.
//
// Programs are ordered by atomics: one with release semantics makes what its program did known to those that
// read the place with acquire semantics (scope gpu or sys); so does a relaxed one after a fence, and one before
// a fence. Tasks of a program are ordered by barriers, and by where they begin and end; asynchronous copies and
// products by what waits for them. A race is two accesses, one of them a write that changes the value and not
// both of them atomic, that nothing orders. It is found whichever of them comes first.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>

#include <triton_runner/machine/history.h>
#include <triton_runner/machine/released.h>

#include "check/check.h"
#include "check/warps.h"
#include "machine/memdesc.h"
#include "ops/access.h"
#include "rules.h"

namespace triton_runner::tile {

class RaceCheck {
 public:
  using Act = machine::Act;
  using Clock = machine::Clock;
  // A task, or a copy or product that runs by itself.
  struct Thread : RaceThread, machine::Agent {
    std::map<std::tuple<const Instr*, Act, WarpMask>, uint32_t> records;  // made at `recorded`
    uint32_t recorded = 0;
    uint32_t task = 0;  // its own id, or that of the task beside which it runs
    uint32_t met = 0;   // what was done until then, all warps of the task know
    std::optional<machine::Agent>
        at_fence;               // as it was at its last fence: what relaxed atomics release since
    std::set<uint64_t> looked;  // where they have read since then: what the next fence acquires
    void meet() { met = time++; }
  };
  RaceCheck(const CheckedCode& code, const exec::Memory& memory);
  ~RaceCheck();
  void begin(Program& program);
  bool before(Task& t, const Instr& in);  // false: it trapped
  bool after(Task& t, const Instr& in);
  // A block of a tensor descriptor; data: what is about to be written.
  bool block(Task& t, const Instr& in, AccessKind kind, uint64_t address, uint64_t bytes, int64_t element,
             int64_t size, const std::byte* data);

 private:
  friend class RaceRule;
  struct Record : machine::Record {
    const Instr* in = nullptr;
    WarpMask warps = 0;
  };
  struct Who {
    std::array<int64_t, 3> program;
    int task;                              // 0: the program itself, else a partition of it
    const Instr* beside;                   // the copy or product that runs by itself; null: a task
    std::vector<int64_t> iterations = {};  // of the loops around it
  };
  struct TaskState;
  class WarpRecords;
  struct ProgramRace;

  static ProgramRace& of(const Program& program);
  TaskState& state(Task& t);
  Thread new_thread(const Task& t, const Instr* beside);
  static void meet(TaskState& s);
  Thread beside(Task& t, const Instr& in);  // runs by itself from here on
  uint32_t record(Thread& thread, const Instr& in, Act act, WarpMask warps = 0);
  bool fenced(uint32_t record, const Thread& thread) const;
  bool fenced_later(uint32_t record, Task& t);

  // machine::Cell::touch by the thread.
  uint32_t touch(machine::Cell& cell, const Thread& thread, uint32_t mine, Act act, bool changes) const;
  bool touch_row_of(machine::History::Row& row, const Thread& thread, uint32_t mine, Act act,
                    bool changes) const;
  bool is_ordered(const Thread& thread, WarpMask warps, const Record& before) const;
  bool access(Task& t, const Instr& in, const Access& a, Thread& thread);
  bool twice(Task& t, const Instr& in, const Access& a);
  bool atomics(Task& t, const Instr& in, const Access& a);
  void fence_memory(Thread& thread);
  bool global(Task& t, const Instr& in, const Thread& thread, uint32_t mine, Act act, uint64_t address,
              uint64_t bytes, const std::byte* data, int64_t element, const TileType& type);
  bool report(Task& t, const Instr& in, exec::Race race, Act act, uint32_t other, const std::string& what,
              std::vector<int64_t> element, WarpMask warps = 0);
  std::string global_text(uint64_t address, int64_t size) const;

  // ---- shared memory
  bool shared_before(Task& t, const Instr& in);
  bool shared_after(Task& t, const Instr& in);
  void own_work_ended(Task& t, const Instr& in);
  static void shared_hazard(TaskState& s, const std::vector<std::byte>& marks, bool writes);
  bool buffer(Task& t, const Instr& in, Thread& thread, const MemoryOperand& b, Act act);
  bool buffer(Task& t, const Instr& in, Thread& thread, const MemPlan& plan, MemDesc d,
              const ir::Value& value, Act act);
  // The same place in the memory of a block of the cluster.
  bool buffer(Task& t, const Instr& in, Thread& thread, const MemoryOperand& b, Act act,
              const Program& block);
  // The same for an operand's buffer in each block whose tensor core works on it.
  bool buffers(Task& t, const Instr& in, Thread& thread, ir::GroupName group, Act act);
  bool cluster_before(Task& t, const Instr& in);
  // Barriers of a group of operands are told what the thread did.
  void arrive(Task& t, const Instr& in, Thread& from, ir::GroupName group);

  const CheckedCode& code_;
  const exec::Memory& memory_;
  machine::History global_;
  machine::Released released_;
  bool has_fences_ = false;                                   // fence_memory() will be called
  uint64_t atomics_ = 0;                                      // how many instructions with them there were
  std::map<std::pair<const Cluster*, uint64_t>, Clock> met_;  // by phase of a cluster's barrier
  std::vector<Record> records_;                               // 0: before the launch
  std::vector<Who> threads_;
  std::vector<Access> accesses_;  // by instruction
  const Warps warps_;
  std::vector<std::optional<std::vector<WarpMask>>> masks_;  // of those, once they are asked for
};

}  // namespace triton_runner::tile
