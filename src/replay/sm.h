// Sm holds the warps of one SM while it is replayed, and what they wait for.
#pragma once
#include <array>
#include <limits>
#include <queue>
#include <span>
#include <unordered_map>
#include <vector>

#include "memory.h"
#include "program.h"

namespace triton_runner::replay {

inline constexpr double kNever = std::numeric_limits<double>::infinity();
inline constexpr size_t kParts = 4, kScoreboards = 6;

struct Scoreboard {
  double until = 0;
  Reason cause = Reason::k_short_scoreboard;
  std::vector<double> groups;  // ends of the groups that are counted by it; kNever never stands here
};

struct Object {  // an mbarrier
  int64_t wanted = 0, pending = 0, bytes = 0;
  uint32_t phase = 0;
  std::vector<uint32_t> waiting;  // warps
};

inline constexpr size_t kBarriers = 16 + 8;  // those with a number, and one a warp group

struct BlockBarrier {
  uint32_t arrived = 0;  // threads
  std::vector<uint32_t> waiting;
};

// The blocks that the SM holds, one a slot.
struct Slot {
  uint32_t block = 0;  // of Setup::programs
  uint32_t alive = 0;  // warps
  std::unordered_map<uint32_t, Object> objects;
  std::array<BlockBarrier, kBarriers> barriers;
};

struct Warp {
  const exec::WarpTrace* trace = nullptr;
  uint32_t slot = 0, number = 0, part = 0, repeat = 0;
  size_t step = 0, event = 0;
  const std::vector<uint32_t>* stretch = nullptr;
  size_t at = 0;  // in the stretch
  uint32_t instruction = 0;
  bool is_first = false;
  // When the next instruction may issue, and why not before: after its stall count, what it waits for, a pipe.
  double ready = kNever, issued = 0, after_stall = 0, after_wait = 0, after_pipe = 0;
  Reason stall = Reason::k_wait, cause = Reason::k_wait, pipe = Reason::k_math_pipe_throttle;
  // A barrier that holds the next instruction.
  double hold = 0;
  Reason held = Reason::k_barrier;
  std::array<Scoreboard, kScoreboards> scoreboards;
  double copies = 0;      // the end of its LDGSTS so far
  double bulk_reads = 0;  // the end of what its stores by the copy engine read
  double products = 0;    // of the warp group's products since the latest commit
  std::vector<double> product_groups;
  double stores = 0;
};

class Sm {
 public:
  Sm(const std::vector<Op>& ops, const exec::Trace& trace, const Parameters& chip, const Setup& setup,
     Result& result);
  void run();

 private:
  struct Arrival {  // bytes that come to an mbarrier
    double at;
    uint32_t slot, block, object;
    int64_t bytes, arrivals;
    bool operator>(const Arrival& other) const { return at > other.at; }
  };

  void launch(uint32_t slot, double at);
  void end_warp(Warp& warp, double at);
  uint32_t pick(size_t part, double* at);
  void issue(uint32_t index, double at);
  void account(Warp& warp, double at);
  void segment(const Warp& warp, Reason reason, double begin, double end);
  void execute(Warp& warp, const Op& op, double at);
  void request(Warp& warp, const Op& op, double at, const exec::TraceEvent& event);
  void thread_copy(Warp& warp, const Op& op, double at, std::span<const exec::TraceEvent> events);
  double access(Warp& warp, const Op& op, double at, const exec::TraceEvent& event);
  void bulk_copy(Warp& warp, const Op& op, double at, std::span<const exec::TraceEvent> events);
  void barrier(Warp& warp, const Op& op, double at, const exec::TraceEvent& event);
  void meet(Warp& warp, BlockBarrier& barrier, uint32_t wanted, double open, bool waits);
  void object(Warp& warp, double at, const exec::TraceEvent& event);
  void complete(const Arrival& arrival);
  void settle(Object& object, double at);
  void product(Warp& warp, const Op& op, double at);
  void set(Warp& warp, const Op& op, double at, double done);
  void hold(Warp& warp, double until, Reason why);
  void wake(std::vector<uint32_t>& warps, double at, Reason why);
  bool advance(Warp& warp, double at);
  void prepare(Warp& warp);
  void enter_step(Warp& warp);
  double code(uint32_t instruction, double at);
  double constant(const Op& op, double at);
  std::span<const exec::TraceEvent> events_of(Warp& warp);

  const std::vector<Op>& ops_;
  const exec::Trace& trace_;
  const Parameters& chip_;
  const Setup& setup_;
  Result& result_;
  Memory memory_;
  std::vector<Slot> slots_;
  std::vector<Warp> warps_;                          // by slot, then number
  std::array<std::vector<uint32_t>, kParts> parts_;  // which warps
  std::array<double, kParts> free_{};
  std::array<uint32_t, kParts> last_{};
  std::array<std::array<Queue, kNoPipe>, kParts> pipes_;
  Queue copy_engine_, barrier_unit_, launcher_;
  std::array<double, kParts> best_at_{};
  std::array<uint32_t, kParts> best_{};
  std::array<bool, kParts> stale_{};
  std::priority_queue<Arrival, std::vector<Arrival>, std::greater<>> arrivals_;
  std::vector<double> code_;                        // when each 128 bytes of code are there
  std::unordered_map<uint32_t, double> constants_;  // likewise of constant memory
  uint32_t warps_of_block_ = 0, next_ = 0, running_ = 0;
  std::unordered_map<int64_t, uint32_t> repeats_;
};

}  // namespace triton_runner::replay
