// SharedState is what a program keeps beside its values: mbarriers, named barriers, copies in flight, scratch
// memory. A debugger goes back to a SharedState::Kept of it (shared_kept.cpp), where a new member needs its place.
//
// Asynchronous copies read their source when they are issued and write shared memory when they complete:
// cp.async at the async_wait that covers its group, a TMA copy at the first wait on its mbarrier. So a kernel
// that reads before it waits sees what was there before. Copies to global memory are made when they are issued.
// LaunchOptions::timing has it otherwise: copies to shared memory that are there at once, and copies to
// global memory that read their source when somebody waits for them.
#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <triton_runner/machine/async_queue.h>
#include <triton_runner/machine/barriers.h>
#include <triton_runner/machine/mbarrier.h>

#include "machine/memdesc.h"
#include "machine/shared_tiles.h"

namespace triton_runner::tile {

using machine::Mbarrier;

class SharedState;

// Data on its way to shared memory. Owns a reference to `data`. Without a plan, the bytes are placed in the order in
// which they stand: as many as the barrier counts.
struct Copy {
  Buffer* data;
  const MemPlan* plan;
  MemDesc to;
  SharedState* home = nullptr;  // whose memory; null: that of the program whose barrier or group it is
};

// Barriers that partitions of a program know by number
// (bar.sync, bar.arrive): `threads` meet, by whole tasks.
class NamedBarriers {
 public:
  void begin(int program_threads) { program_threads_ = program_threads, bars_.clear(), counts_.clear(); }
  void set_threads(const Task* task, int threads);
  int threads_of(const Task& task) const;
  void arrive(int64_t id, int64_t threads, int64_t arriving);
  // Arrives when first called; true once the barrier has been passed.
  bool wait(const Task& task, int64_t id, int64_t threads);

 private:
  struct Bar : machine::NamedBarrier {
    int64_t id = 0;
    std::vector<std::pair<const Task*, uint64_t>> waiting;  // and how often it had been passed then
  };
  Bar& bar(int64_t id);
  int program_threads_ = 0;
  std::vector<Bar> bars_;
  std::vector<std::pair<const Task*, int>> counts_;
};

class SharedState : public ProgramState {
 public:
  static SharedState& of(Task& task) { return of(*task.program); }
  static SharedState& of(Program& program);
  ~SharedState() override;
  void begin(Program& program) override;
  void end() override;

  // ---- buffers, whole. Handlers reach the arena through these alone.
  SharedElements read(const MemPlan& plan, MemDesc d) { return tiles_.get(plan, d); }
  // A reference to the elements in the order of the plan.
  Buffer* read_planned(const MemPlan& plan, MemDesc d) { return tiles_.get_planned(plan, d); }
  // The same as a value: shares the elements.
  void read_into(Task& task, Slot result, const MemPlan& plan, MemDesc d);
  // The elements in the order of the plan, to be changed and written back: until then the buffer has none.
  Buffer* take(const MemPlan& plan, MemDesc d) { return tiles_.take(plan, d); }
  // Takes over a reference to `data`, elements in the order of the plan.
  void write(const MemPlan& plan, MemDesc d, Buffer* data) { tiles_.put(plan, d, data); }
  void write_value(Task& task, const MemPlan& plan, MemDesc d, Slot value);
  // [first, first + bytes) of the arena, to read and write directly.
  std::byte* bytes(int64_t first, int64_t bytes);
  // All of it.
  std::byte* arena();

  // ---- groups of the task that issues them: cp.async, AMD's TDM, and copies to global memory that are late
  enum Queue : uint8_t { kCopies, kTdm, kStores };
  void issue(const Task& task, Copy copy, Queue queue = kCopies);
  bool stores_late() { return async_.timing.kind() != exec::Timing::kUsual && !async_.timing.at_once(); }
  // `store` makes the copy, or traps. It is a group of its own.
  void issue_store(const Task& task, std::function<void()> store);
  void commit(const Task& task, Queue queue = kCopies) { async_.commit(agent(task, queue)); }
  void wait(const Task& task, int64_t groups_left, Queue queue = kCopies);
  // The task's copies that are not complete arrive at a barrier together (cp.async.mbarrier.arrive).
  void hand_over(const Task& task, uint32_t barrier, int arrivals, Queue queue = kCopies);

  // ---- mbarriers; addresses are bytes of the arena. Null: there is no barrier at the address.
  void init_barrier(uint32_t address, int64_t count);
  Mbarrier* barrier(uint32_t address);
  void copy_through_barrier(uint32_t address, Copy copy, int64_t bytes);
  void complete_copies(uint32_t address);
  // Completes copies, the oldest first, until the phase of that parity ends; false: it has not ended.
  bool end_phase(uint32_t address, bool parity);
  // The places of barriers that were set up, in a launch that somebody observes.
  const std::set<uint32_t>& barriers() const { return barriers_; }
  // All under way, oldest first: "copy of 4096 bytes to shared 0x400, counted by the mbarrier at 0x230".
  std::vector<std::string> under_way() const;
  // Returns how many copies are under way to the barrier and count bytes.
  size_t copies_to(uint32_t address) const;

  // ---- scratch in "global" memory, of the running program
  std::byte* scratch(int64_t bytes, int64_t alignment);
  bool in_scratch(uint64_t address, uint64_t bytes) const;

  // All of it as it is, to go back to in the same program.
  struct Kept;
  std::shared_ptr<const Kept> keep();
  void go_back(const Kept& to);

  NamedBarriers named;
  std::vector<Task*> partitions;  // of the warp specialization that is running

 private:
  static constexpr uint32_t kNoBarrier = ~uint32_t{0};
  struct Operation {
    Copy copy{};  // without data: none
    uint32_t barrier = kNoBarrier;
    int64_t bytes = 0;
    int arrivals = 0;
    std::function<void()> store{};
  };
  using Async = machine::AsyncQueue<Operation>;
  uint32_t agent(const Task& task, Queue queue);
  void complete(Operation& op);
  void land(const Copy& copy, int64_t count);
  static auto to(uint32_t barrier) {
    return [barrier](const Async::Issued& i) { return i.op.barrier == barrier; };
  }
  // By the launch's timing, what goes to the barrier.
  void settle(uint32_t barrier);
  void drop_all();
  void poison();

  Program* program_ = nullptr;
  BufferPool* pool_ = nullptr;
  SharedTiles tiles_;
  Async async_;
  std::vector<std::pair<const Task*, Queue>> agents_;
  std::set<uint32_t> barriers_;
  std::deque<std::unique_ptr<std::byte[]>> scratch_;
  std::vector<std::pair<uint64_t, uint64_t>> scratch_ranges_;
};

// A trap: there is none at the address of "the copy's mbarrier".
const Instr* no_barrier(Task& t, const Instr& in, std::string_view whose);
// The next instruction; null after a trap.
const Instr* arrive(Task& t, const Instr& in, Mbarrier& barrier, const machine::Arrival& arrival = {});

}  // namespace triton_runner::tile
