// Counting counts what machine code executes, for an exec::CountObserver: one Counts a worker, whose sums are
// added up at the end. It is described in doc/reference/profile.md.
//
// The code of such a launch has instructions of its own (front/sass/counting.cpp): one in front of each stretch that threads
// execute together from its first instruction to its last, and one in front of each guarded instruction. What memory is
// asked for comes from Exec::global, shared and local, which all accesses go through where `Worker::each_access` is set.
#pragma once
#include <vector>

#include <triton_runner/exec/count_observer.h>

#include "check/trace.h"
#include "state/exec.h"

namespace triton_runner::simt {

// How accesses to memory by an instruction count.
enum class CountAs : uint8_t {
  kNothing,   // mbarriers, tensor maps, operands of products
  kRequests,  // of the threads of a warp
  kUpdates,   // atomic ones of the threads of a warp
  kCopyIn,    // bytes that the copy engine writes to shared memory
  kCopyOut,   // bytes that it reads there
};

// The lowering leaves this of the program for a launch that counts. Instructions are indices into the function's body.
struct CountPlan {
  std::vector<std::vector<uint32_t>> stretches;
  std::vector<uint32_t> unguarded;  // of each stretch, how many of its instructions have no guard
  std::vector<uint8_t> is_guarded;  // of each instruction
  std::vector<CountAs> as;
};

constexpr uint32_t kMostLanes = 64;  // of a warp

class Counting {
 public:
  Counting(const Launch& launch, exec::CountObserver& observer);
  ~Counting();
  Counting(const Counting&) = delete;
  Counting& operator=(const Counting&) = delete;

  void begin(Cluster& cluster) { cluster.tally = {}; }
  void end(Cluster& cluster);
  void stretch(const Exec& x, uint32_t number);
  void guard(const Exec& x, uint32_t instruction, const int8_t* predicate, uint8_t flip);
  // An access that is within bounds, by thread `lane` of the path; `at`: an address, or an offset in shared memory or in
  // a thread's local memory.
  void access(const Exec& x, const Operands& in, Space space, uint32_t lane, uint64_t at, uint32_t bytes,
              bool write);
  // Thread `lane` does something to the barrier `at`: events of barriers (exec::TraceEvent), where a trace is kept.
  void barrier(const Exec& x, const Operands& in, uint32_t lane, exec::TraceEvent::Kind kind, uint32_t at,
               uint64_t value);

 private:
  // The threads of a warp that ask one space for memory by one instruction.
  struct Request {
    const Operands* in = nullptr;  // null: there is none
    uint32_t instruction = 0, warp = 0, bytes = 0, count = 0;
    bool write = false;
    Cluster* cluster = nullptr;
    int64_t program = 0;
    std::array<uint64_t, kMostLanes> at{};
    std::array<uint8_t, kMostLanes> lanes{};
  };
  void add(Cluster& cluster, uint32_t instruction, exec::Count count, uint64_t n) {
    sums_.instructions[instruction][count] += n;
    cluster.tally[count] += n;
  }
  void finish(Request& request, Space space);
  void finish_all();
  void finish_shared(const Request& request);

  const CountPlan& plan_;
  exec::CountObserver& observer_;
  exec::Counts sums_;
  std::unique_ptr<Tracing> trace_;                         // null: it is not kept
  std::vector<uint64_t> stretch_warps_, stretch_threads_;  // by stretch (and warp of the block)
  std::array<Request, 3> requests_;                        // by Space: global, shared, local
};

// Handlers. Operands::small is the stretch; or the instruction, with its guard in a and its flip in b.
void count_stretch(Exec& x, const Operands& in);
void count_guard(Exec& x, const Operands& in);

}  // namespace triton_runner::simt
