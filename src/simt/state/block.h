// Declares a block and its cluster: paths, registers, memory, barriers, and the asynchronous operations under
// way.
//
// A path is a set of threads of one block with one pc. A block begins as one path of all its threads; a
// branch that they disagree on splits it, and paths that come to the same pc merge again. The path with the
// lowest pc runs, so that loops end before what follows them.
#pragma once
#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <triton_runner/exec/count_observer.h>
#include <triton_runner/machine/async_queue.h>
#include <triton_runner/machine/barriers.h>

#include "code/code.h"
#include "code/spaces.h"

namespace triton_runner::simt {

struct Cta;
struct Cluster;
struct Exec;
struct Worker;

enum class PathState : uint8_t {
  kReady,
  kBarrier,   // in bar.sync: `barrier`
  kWarpSync,  // at a .sync instruction that needs threads of its warps which are elsewhere
  kYield,     // after a YIELD, until the other paths of its warp had their turns (turns.h)
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
  uint64_t turn = 0;        // of the paths of a warp that are ready the largest runs (turns.h)
  uint64_t since =
      0;  // kYield, and BSYNC: its place among those that wait, the smallest goes on first; 0: none
  uint32_t members = kNoRegister;  // kWarpSync in BSYNC: the place of the threads that it waits for
  bool runs = false;               // no other path of its warp has run since it did
  bool has_turn = false;           // as the scheduler found last
  bool frozen = false;             // it gets no turn: a debugger's wish
};

// bar.sync / barrier.cta: 16 a block.
struct Barrier : machine::NamedBarrier {
  uint32_t red_count = 0;  // bar.red: threads with a true predicate
};

// An operation that goes on while its threads do: a bulk copy, a tensor-core product. Run when somebody
// waits.
// It stays as it was issued: those that a debugger keeps are shared.
struct AsyncOp {
  AsyncOp(const Exec& x, const Operands& in);
  virtual ~AsyncOp() = default;
  virtual void complete(Cluster& cluster) = 0;
  // A product or copy of tcgen05, which later commits tell of.
  virtual bool is_tensor_core() const { return false; }
  virtual std::string text() const = 0;  // for a debugger: what it does
  // A commit of these that tells the mbarrier at that address.
  virtual bool tells(uint32_t) const { return false; }

  // The block and the instruction that it was issued by.
  Cta* const cta;
  const Instr* const instr;
};

// State of handlers that belongs to a block (cp.async groups, tensor memory, ...): one slot a kind.
struct CtaPart {
  virtual ~CtaPart() = default;
  virtual void begin(Cta&) {}  // a new block starts in this Cta
  virtual std::unique_ptr<CtaPart> copy() const = 0;
  // For a debugger: adds what is under way, with its instruction.
  virtual void list(std::vector<std::pair<std::string, const Instr*>>&) const {}
};
template <class T>
struct CopiedPart : CtaPart {
  std::unique_ptr<CtaPart> copy() const override { return std::make_unique<T>(static_cast<const T&>(*this)); }
};

// The memory of a block: registers, shared, local.
class CtaMemory {
 public:
  CtaMemory(uint64_t register_bytes, uint64_t shared_bytes, uint64_t local_bytes);
  std::byte* regs() const { return base_; }
  std::byte* shared() const { return base_ + shared_at_; }
  std::byte* local() const { return base_ + local_at_; }
  std::span<std::byte> all() const { return {base_, size_}; }

 private:
  struct Free {
    void operator()(std::byte* bytes) const { std::free(bytes); }
  };
  std::unique_ptr<std::byte[], Free> bytes_;
  std::byte* base_;
  uint64_t shared_at_, local_at_, size_;
};

// The state of a block that a debugger keeps as it is.
struct CtaState {
  std::vector<int8_t> alive;  // a thread: -1 until it ends
  uint32_t alive_count = 0;
  std::array<Barrier, 16> barriers{};
  std::vector<uint64_t> cluster_tickets;  // a thread, of its last arrival at the cluster's barrier
  bool was_refused = false;               // it has read that clusterlaunchcontrol gave it no work
  int32_t fuel = 1024;                    // backward jumps until the scheduler looks at the clock
  uint64_t turns = 0;                     // that were given to paths: Path::turn
  uint64_t spins = 0;                     // of Worker::global_spins, in that time
};

// A block of threads while it runs; Cta is PTX's word for it (%ctaid).
struct Cta : CtaState {
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
  std::vector<const Instr*> ended_at;  // a thread that has ended, of a checked launch
  std::unique_ptr<CtaMemory> memory;
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

// The state of a cluster that a debugger keeps as it is.
struct ClusterState {
  machine::AsyncQueue<std::shared_ptr<AsyncOp>> async;  // agents are the threads of its blocks
  uint64_t events = 0;              // something that a kPoll path may wait for has happened
  uint32_t timeouts = 0;            // of waits, since the last event
  uint64_t timeouts_since = 0;      // that event
  machine::ClusterBarrier barrier;  // of threads
  // The round in which each block has a turn: whose is next, and what was so when it began or was found since.
  struct Round {
    uint64_t events = 0;
    bool finished = true, spinning = false;
    size_t next = 0;
  } round;
};

struct Cluster : ClusterState {
  Worker* worker = nullptr;
  int64_t number = 0;  // in the grid's order
  std::vector<std::unique_ptr<Cta>> ctas;
  exec::Tally tally{};  // of a launch that counts, since the cluster began
  // Writes the operation down, and completes as many as the launch's timing says.
  void issue(std::unique_ptr<AsyncOp> op, uint32_t agent = machine::kNoAgent);
  bool complete_oldest();  // false: nothing is under way
  void complete(AsyncOp& op);
  // The mbarrier at the address is about to go: commits that have nothing left to wait for tell it.
  void tell_before_it_goes(uint32_t address);
  Cta* cta_of(uint32_t shared_address) {
    uint32_t rank = shared_address >> kRankShift;
    return rank < ctas.size() ? ctas[rank].get() : nullptr;
  }
};

}  // namespace triton_runner::simt
