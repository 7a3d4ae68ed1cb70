// What runs: a cluster's blocks, a block's paths, and the Exec that a handler sees.
//
// A path is a set of threads of one block with one pc. A block begins as one path of all its threads; a
// branch that they disagree on splits it, and paths that come to the same pc merge again. The path with
// the lowest pc runs, so that loops end before what follows them.
#pragma once
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <triton_runner/exec/memory.h>
#include <triton_runner/exec/timing.h>
#include <triton_runner/machine/barriers.h>
#include <triton_runner/machine/grid.h>

#include "code.h"

namespace triton_runner::simt {

struct Cta;
struct Cluster;
struct Worker;
class ArgumentPlan;
class Checks;

// Generic addresses: global memory is the host's own addresses; shared and local memory lie in windows that
// no host address reaches.
inline constexpr uint64_t kSharedWindow = uint64_t{0x70} << 56;  // | 32-bit shared address
inline constexpr uint64_t kLocalWindow = uint64_t{0x71} << 56;   // | offset in the thread's local memory
inline constexpr uint64_t kWindowMask = uint64_t{0xff} << 56;
// An address of .param: kParamBase + offset in the parameters of the kernel (code keeps it in 32 bits too;
// cvta.param makes a host address of it), or an offset in local memory, where parameters of calls are.
inline constexpr uint64_t kParamBase = uint64_t{1} << 30;
// A 32-bit shared address: the block's rank in its cluster, and the offset in its shared memory.
inline constexpr uint32_t kRankShift = 24;
inline constexpr uint32_t kOffsetMask = (1u << kRankShift) - 1;

enum class PathState : uint8_t {
  kReady,
  kBarrier,   // in bar.sync: `barrier`
  kWarpSync,  // at a .sync instruction that needs threads of its warps which are elsewhere
  kPoll,      // at an instruction that has to be tried again after the cluster's next event
};

struct Path {
  const Instr* pc = nullptr;
  uint32_t first = 0, count = 0;  // as Lanes
  bool full = true;               // no mask
  std::vector<int8_t> mask;       // count of them, if not full
  PathState state = PathState::kReady;
  uint32_t barrier = 0;
  uint64_t seen_event = 0;  // kPoll: Cluster::events when it went to wait
  bool timed_out = false;   // the mbarrier.try_wait it is at gives false now
  uint32_t penalty = 0;     // turns that it gave up while looping
};

// bar.sync / barrier.cta: 16 a block.
struct Barrier : machine::NamedBarrier {
  uint32_t red_count = 0;  // bar.red: threads with a true predicate
};

// An operation that goes on while its threads do: a bulk copy, a tensor-core product. Run when somebody
// waits.
struct AsyncOp {
  virtual ~AsyncOp() = default;
  virtual void complete(Cluster& cluster) = 0;
  // A product or copy of tcgen05, which later commits tell of.
  virtual bool is_tensor_core() const { return false; }
  // A commit of these that tells the mbarrier at that address.
  virtual bool tells(uint32_t) const { return false; }
};

// State of handlers that belongs to a block (cp.async groups, tensor memory, ...): one slot a kind.
struct CtaPart {
  virtual ~CtaPart() = default;
  virtual void begin(Cta&) {}  // a new block starts in this Cta
};

// The memory of a block: registers, shared, local.
class CtaMemory {
 public:
  CtaMemory(uint64_t register_bytes, uint64_t shared_bytes, uint64_t local_bytes);
  std::byte* regs() const { return base_; }
  std::byte* shared() const { return base_ + shared_at_; }
  std::byte* local() const { return base_ + local_at_; }

 private:
  std::unique_ptr<std::byte[]> bytes_;
  std::byte* base_;
  uint64_t shared_at_, local_at_;
};

struct Cta {
  Worker* worker = nullptr;
  Cluster* cluster = nullptr;
  const Code* code = nullptr;
  std::byte* regs = nullptr;    // code->register_bytes
  std::byte* shared = nullptr;  // shared_bytes
  std::byte* local = nullptr;   // code->local_bytes a thread
  uint32_t shared_bytes = 0;
  uint32_t shared_base = 0;                  // rank << kRankShift
  std::array<uint32_t, 3> id{};              // %ctaid
  uint32_t rank = 0;                         // %cluster_ctarank
  std::vector<std::unique_ptr<Path>> paths;  // those that have not ended
  std::vector<std::unique_ptr<Path>> spare;
  std::vector<int8_t> alive;  // a thread: -1 until it ends
  uint32_t alive_count = 0;
  std::vector<const Instr*> ended_at;  // a thread, of a checked launch; null: it has not ended
  std::array<Barrier, 16> barriers{};
  std::vector<uint64_t> cluster_tickets;  // a thread, of its last arrival at the cluster's barrier
  std::unique_ptr<CtaMemory> memory;
  bool was_refused = false;  // it has read that clusterlaunchcontrol gave it no work
  int32_t fuel = 1024;       // backward jumps until the scheduler looks at the clock
  uint64_t spins = 0;        // of Worker::global_spins, in that time
  // Parts are made by the first handler that asks for them.
  enum Part : uint8_t { kCpAsync, kWgmma, kTensorMemory, kBulk, kMbarrier, kParts };
  std::array<std::unique_ptr<CtaPart>, kParts> parts;
  template <class T>
  T& part(Part which) {
    if (!parts[which]) {
      parts[which] = std::make_unique<T>();
      parts[which]->begin(*this);
    }
    return static_cast<T&>(*parts[which]);
  }
};

struct Cluster {
  Worker* worker = nullptr;
  int64_t number = 0;  // in the grid's order
  std::vector<std::unique_ptr<Cta>> ctas;
  std::deque<std::unique_ptr<AsyncOp>> pending;  // in order of issue
  uint64_t events = 0;                           // something that a kPoll path may wait for has happened
  uint32_t timeouts = 0;                         // of waits, since the last event
  uint64_t timeouts_since = 0;                   // that event
  exec::TimingPlaces timing;                     // of its asynchronous operations
  machine::ClusterBarrier barrier;               // of threads
  // Writes the operation down, and completes as many as the launch's timing says.
  void issue(std::unique_ptr<AsyncOp> op);
  void complete_oldest();
  // The mbarrier at the address is about to go: commits that have nothing left to wait for tell it.
  void tell_before_it_goes(uint32_t address);
  Cta* cta_of(uint32_t shared_address) {
    uint32_t rank = shared_address >> kRankShift;
    return rank < ctas.size() ? ctas[rank].get() : nullptr;
  }
};

struct Launch : machine::Grid {
  const Code* code = nullptr;
  std::vector<std::byte> params;  // of the entry, param_bytes
  const ArgumentPlan* plan = nullptr;
  uint32_t shared_bytes = 0;         // static and dynamic
  std::array<uint32_t, 3> blocks{};  // of the grid: LaunchOptions::grid counts clusters
  bool fast_mma = false;
  bool checked = false;  // anything but out of bounds
  using Grid::stops;
  bool stops(const Cluster& cluster) const { return stops(cluster.number); }
  // Of a launch without a trap: what Trap::warning is for, the first of the lowest program.
  std::optional<std::pair<int64_t, exec::Trap>> warning;
  std::mutex print_mutex;
};

// One thread of ours.
struct Worker {
  explicit Worker(const exec::Memory& m) : memory(m) {}
  Launch* launch = nullptr;
  machine::Taker* clusters = nullptr;  // of the grid
  exec::MemoryView memory;
  std::vector<int8_t> guard_mask;  // scratch of guarded instructions
  uint64_t global_spins = 0;       // volatile, acquiring and atomic accesses to global memory
  int64_t steps = 0;               // instructions, counted at backward jumps
  Checks* checks = nullptr;        // of a checked launch
  // Where accesses that may not be go, in a launch that goes on after them: to zeros, and to what nobody
  // reads.
  std::unique_ptr<std::byte[]> zeros, sink;
};

// What a handler sees: Lanes, and everything around them. Handlers get a Lanes& that is an Exec.
struct Exec : Lanes {
  const Instr* pc = nullptr;     // the next instruction
  const Instr* limit = nullptr;  // the run loop leaves at or past it
  Path* path = nullptr;
  Cta* cta = nullptr;
  Worker* worker = nullptr;
  int32_t fuel = 0;  // backward jumps until the scheduler has a look

  const int8_t* path_mask() const { return path->full ? nullptr : path->mask.data(); }
  const Launch& launch() const { return *worker->launch; }
  const Code& code() const { return *cta->code; }
  // The scheduler takes over after this instruction.
  void leave() { limit = nullptr; }

  // Of the threads that are on: is every warp whole, as far as `members` (a bit a lane) wants it? If not, the
  // path is set to wait (or split) and the handler returns at once; it will be called again.
  bool converged(const Instr& in, uint32_t members = 0xffffffffu);
  // The instruction is to be tried again after the cluster's next event.
  void retry_later(const Instr& in);

  // Ends the launch. `lane` is the thread's index in `first..`; kNoRegister: none in particular.
  void trap(const Operands& in, exec::TrapKind kind, std::string message, uint32_t lane = kNoRegister,
            uint64_t address = 0, uint32_t bytes = 0, std::vector<std::string> notes = {});

  // Notes a fault of which `by` keeps the results right on a GPU (Trap::warning); the launch goes on.
  void warn(const Operands& in, exec::TrapKind kind, std::string by, std::string message, uint32_t lane,
            uint64_t address, uint32_t bytes, std::vector<std::string> notes);

  // Checked memory. `global` gives the host pointer of [address, address + bytes) or null after a trap that
  // names lane and nearest tensor. A launch that goes on after faults gets memory of its own in that place.
  std::byte* global(const Operands& in, uint32_t lane, uint64_t address, uint32_t bytes, bool write);
  // A 32-bit shared address of this block or of the cluster.
  std::byte* shared(const Operands& in, uint32_t lane, uint32_t address, uint32_t bytes, bool write);
  std::byte* local(const Operands& in, uint32_t lane, uint64_t offset, uint32_t bytes);
  // An access that may not be: noted, and memory in its place; or null after a trap.
  std::byte* fault(const Operands& in, exec::TrapKind kind, std::string message, uint32_t lane,
                   uint64_t address, uint32_t bytes, bool write);
  int64_t program() const;  // the block's number in the grid, x fastest
  bool goes_on() const { return launch().options->faults != nullptr; }
  exec::Trap made_trap(const Operands& in, exec::TrapKind kind, std::string message, uint32_t lane,
                       uint64_t address, uint32_t bytes, std::vector<std::string> notes) const;
  // Any of them.
  std::byte* generic(const Operands& in, uint32_t lane, uint64_t address, uint32_t bytes, bool write);
};

// "file:line:column" of the instruction in the PTX text.
std::string instruction_location(const Code& code, const ptx::Instruction& in);

// Calls f(lane) for each lane that is on, until f returns false: in ascending order, or in a pseudo-random one
// where the launch is shuffled.
template <class F>
bool for_each_lane(Exec& x, F f) {
  if (std::optional<machine::Shuffle>& shuffle = x.worker->launch->shuffle) [[unlikely]] {
    const exec::Permutation order(shuffle->random.next(), x.count);
    for (uint32_t k = 0; k < x.count; ++k) {
      const auto i = static_cast<uint32_t>(order(k));
      if (x.on(i) && !f(i)) return false;
    }
    return true;
  }
  for (uint32_t i = 0; i < x.count; ++i)
    if (x.on(i) && !f(i)) return false;
  return true;
}

inline Exec& exec_of(Lanes& lanes) { return static_cast<Exec&>(lanes); }
// The host address of an address of .param that is at or above kParamBase.
inline uint64_t param_address(const Exec& x, uint64_t address) {
  return reinterpret_cast<uint64_t>(x.launch().params.data()) + (address - kParamBase);
}
inline const Instr& instr_of(const Operands& in) { return static_cast<const Instr&>(in); }

}  // namespace triton_runner::simt
