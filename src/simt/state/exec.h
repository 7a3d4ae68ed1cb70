// Declares the launch, its workers, and the Exec that a handler sees.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <triton_runner/exec/memory.h>
#include <triton_runner/exec/timing.h>
#include <triton_runner/machine/grid.h>

#include "state/block.h"

namespace triton_runner::exec {
class UndoLog;
}

namespace triton_runner::simt {

class ArgumentPlan;
class Checks;
class Counting;

constexpr int32_t kFuel = 1024;  // backward jumps between looks at the clock

struct Doubt;
class OtherOrder;

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
  // For a launch without a trap: what Trap::warning is for, the first of the lowest program.
  std::optional<std::pair<int64_t, exec::Trap>> warning;
  std::mutex print_mutex;
  exec::Heap* heap = nullptr;
  // The words by which the blocks of a grid meet (cooperative groups), as the driver gives them: zeros when a launch begins.
  alignas(8) std::array<uint32_t, 16> workspace{};
  // For check="race": what an experiment has to tell, and the launch that is one.
  std::vector<Doubt>* doubts = nullptr;
  OtherOrder* other_order = nullptr;
  exec::UndoLog* log = nullptr;  // the checks tell it of writes to global memory; null: there is none
};

// One thread of ours.
struct Worker {
  explicit Worker(const exec::Memory& m) : memory(m) {}
  Launch* launch = nullptr;
  machine::Taker* clusters = nullptr;        // of the grid
  exec::MemoryView memory;                   // Exec::memory_for() is how instructions ask it
  std::vector<int8_t> guard_mask;            // scratch of guarded instructions
  std::vector<int8_t> checked_mask;          // the same of instructions that checks look at
  uint64_t global_spins = 0;                 // volatile, acquiring and atomic accesses to global memory
  int64_t steps = 0;                         // instructions, counted at backward jumps
  Checks* checks = nullptr;                  // of a checked launch
  Counting* counting = nullptr;              // of a launch that counts
  size_t only_spun = 0;                      // looks, one after the other, that found nothing but spins
  std::shared_ptr<exec::Snapshot> restored;  // the cluster resumes from there, for a debugger (snapshot.cpp)
  // After a restore this path continues, as far as its fuel and `limit` allow.
  struct Resume {
    size_t path;
    const Instr* limit;
    int32_t fuel;
    uint64_t spins;
  };
  std::optional<Resume> resume;
  bool each_access =
      false;  // either looks at what each thread accesses: nothing goes past Exec::global and shared
  // Invalid accesses are redirected here when the launch continues after a fault: loads read zeros, and stores
  // land in memory that nobody reads.
  std::unique_ptr<std::byte[]> zeros, sink;
};

// Lanes that are on, in ascending order, or (32) the first ones of warps whose first one is.
template <uint32_t kStep>
struct LanesOn {
  const int8_t* mask;
  uint32_t count, i = 0;
  LanesOn begin() const { return LanesOn(*this).skip(); }
  std::default_sentinel_t end() const { return {}; }
  bool operator==(std::default_sentinel_t) const { return i >= count; }
  uint32_t operator*() const { return i; }
  LanesOn& operator++() { return i += kStep, skip(); }
  LanesOn& skip() {
    while (mask && i < count && !mask[i]) i += kStep;
    return *this;
  }
};

// A run of native code accesses global memory: lane i `each` bytes at address + i * each, if its guard lets it. Or (0 bytes) all meet.
struct RowAccess {
  const Operands* in;
  uint32_t at;  // instructions of the run before it
  uint64_t address;
  uint32_t each;
  bool store;
  const int8_t* guard;  // a byte a lane, once the run has been made; null: it has none
  bool guard_flip;
};

// A handler sees this: Lanes, and everything around them. Handlers get a Lanes& that is an Exec.
struct Exec : Lanes {
  const Instr* pc = nullptr;     // the next instruction
  const Instr* limit = nullptr;  // the run loop leaves at or past it
  uint64_t spins_before = 0;     // Worker::global_spins when it began
  Path* path = nullptr;
  Cta* cta = nullptr;
  Worker* worker = nullptr;
  uint32_t beyond = 0;      // instructions that native code ran after those that the run loop called
  int32_t fuel = 0;         // backward jumps until the scheduler has a look
  bool whole_runs = false;  // nobody looks at instructions that access no memory: native code may run

  LanesOn<1> lanes() const { return {mask, count}; }
  LanesOn<32> warps() const { return {mask, count}; }  // of which all threads are on
  const int8_t* path_mask() const { return path->full ? nullptr : path->mask.data(); }
  const Launch& launch() const { return *worker->launch; }
  const Code& code() const { return *cta->code; }
  // The scheduler takes over after this instruction.
  void leave() { limit = nullptr; }

  // Tells of the threads that are on: is every warp whole, as far as `members` (a bit a lane) wants it? If
  // not, the path is set to wait (or split) and the handler returns at once; it will be called again.
  bool converged(const Instr& in, uint64_t members = ~uint64_t{0});
  // The same where each thread's own members are in a register of 32 bits; `same`: and these have the same members.
  bool converged_by(const Instr& in, uint32_t place, bool same = false);
  // Asks the checks of a checked launch whether none of `members` has exited; false after a trap.
  bool whole_warps(const Instr& in, uint64_t members);
  // Asks the checks of a checked launch whether native code may make these accesses, all of which are within bounds: they find
  // nothing in them, whatever their guards let through. False: its instructions run one by one. made_rows(): it has.
  bool may_make_rows(std::span<const RowAccess> rows);
  void made_rows(std::span<const RowAccess> rows);
  // The instruction is to be tried again after the cluster's next event.
  void retry_later(const Instr& in);

  // Ends the launch. `lane` is the thread's index in `first..`; kNoRegister: none in particular.
  void trap(const Operands& in, exec::Cause cause, std::string message, uint32_t lane = kNoRegister,
            uint64_t address = 0, uint32_t bytes = 0, std::vector<std::string> notes = {});

  void trap(exec::Trap made);

  // Notes a fault of which `by` keeps the results right on a GPU (Trap::warning); the launch goes on.
  void warn(const Operands& in, exec::Cause cause, std::string by, std::string message, uint32_t lane,
            uint64_t address, uint32_t bytes, std::vector<std::string> notes);

  // Checked memory. `global` gives the host pointer of [address, address + bytes) or null after a trap that
  // names lane and nearest tensor. A launch that goes on after faults gets memory of its own in that place.
  std::byte* global(const Operands& in, uint32_t lane, uint64_t address, uint32_t bytes, bool write);
  // The memory as this instruction may access it: under check="view" that of the argument whose pointer it goes by.
  exec::MemoryView& memory_for(const Operands& in) {
    if (worker->launch->options->checks & exec::kCheckView) [[unlikely]]
      keep_to_owner(in);
    return worker->memory;
  }
  void keep_to_owner(const Operands& in);
  // A 32-bit shared address of this block or of the cluster.
  std::byte* shared(const Operands& in, uint32_t lane, uint32_t address, uint32_t bytes, bool write);
  std::byte* local(const Operands& in, uint32_t lane, uint64_t offset, uint32_t bytes);
  // An access that may not be: noted, and memory in its place; or null after a trap.
  std::byte* fault(const Operands& in, exec::TrapKind kind, std::string message, uint32_t lane,
                   uint64_t address, uint32_t bytes, bool write);
  const void* site(const Operands& in) const;  // of the text, for exec::Faults
  int64_t program() const;                     // the block's number in the grid, x fastest
  bool goes_on() const { return launch().options->faults != nullptr; }
  exec::Trap made_trap(const Operands& in, exec::Cause cause, std::string message, uint32_t lane,
                       uint64_t address, uint32_t bytes, std::vector<std::string> notes) const;
  // Any of them.
  std::byte* generic(const Operands& in, uint32_t lane, uint64_t address, uint32_t bytes, bool write);
};

// The program in the grid; of a cluster's blocks the cluster's.
inline std::array<int64_t, 3> program_of(const Cta& cta) {
  std::array<int64_t, 3> program{};
  for (size_t d = 0; d < 3; ++d) program[d] = cta.id[d] / cta.code->cluster[d];
  return program;
}

// "file:line:column" of the instruction in the PTX text.
inline std::string instruction_location(const Code& code, const Source& source) {
  return code.listing->location(source).str();
}

// Bit i is lane i of the warp that begins at lane `first`, whether it is on (null: all are).
inline uint32_t mask_bits(const int8_t* mask, uint32_t first) {
  if (!mask) return ~uint32_t{0};
  uint32_t bits = 0;
  for (uint32_t i = 0; i < 32; i += 8) {  // a product puts a bit of each of eight bytes side by side
    uint64_t eight;
    std::memcpy(&eight, mask + first + i, sizeof eight);
    bits |= static_cast<uint32_t>((eight & 0x0101010101010101) * 0x0102040810204080 >> 56) << i;
  }
  return bits;
}
inline uint32_t warp_bits(const Lanes& x, uint32_t first) { return mask_bits(x.mask, first); }
// The same of a warp of Target::width lanes.
inline uint64_t mask_bits(const int8_t* mask, uint32_t first, uint32_t width) {
  const uint64_t low = mask_bits(mask, first);
  return width == 32 ? low : low | uint64_t{mask_bits(mask, first + 32)} << 32;
}

// The threads of a warp, a bit a lane: those that are on a path, and those that have not ended.
inline uint64_t lanes_of(const Path& path, uint32_t warp, uint32_t width) {
  const uint32_t first = warp * width;
  if (first < path.first || first >= path.first + path.count) return 0;
  return mask_bits(path.full ? nullptr : path.mask.data(), first - path.first, width);
}
inline uint64_t alive_of(const Cta& cta, uint32_t warp) {
  return mask_bits(cta.alive.data(), warp * cta.code->width, cta.code->width);
}
// Returns whether the two have threads of one warp.
inline bool share_warp(const Path& a, const Path& b, uint32_t width) {
  const uint32_t end = std::min(a.first + a.count, b.first + b.count) / width;
  for (uint32_t w = std::max(a.first, b.first) / width; w < end; ++w)
    if (lanes_of(a, w, width) && lanes_of(b, w, width)) return true;
  return false;
}
// Threads of the warp of `thread` that have given their turn away (turns.h), a bit a lane.
inline uint64_t yielded(const Cta& cta, uint32_t thread) {
  const uint32_t width = cta.code->width;
  uint64_t lanes = 0;
  for (const auto& path : cta.paths)
    if (path->state == PathState::kYield) lanes |= lanes_of(*path, thread / width, width);
  return lanes;
}
// Returns whether threads of the path's warps that live are on other paths.
inline bool is_parted(const Cta& cta, const Path& path) {
  if (path.full) return false;
  const uint32_t width = cta.code->width;
  for (uint32_t w = path.first / width; w < (path.first + path.count) / width; ++w)
    if (const uint64_t lanes = lanes_of(path, w, width); lanes != 0 && (alive_of(cta, w) & ~lanes) != 0)
      return true;
  return false;
}

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
  for (uint32_t i : x.lanes())
    if (!f(i)) return false;
  return true;
}

inline Exec& exec_of(Lanes& lanes) { return static_cast<Exec&>(lanes); }

// The host address of an address of .param that is at or above kParamBase.
inline uint64_t param_address(const Exec& x, uint64_t address) {
  return reinterpret_cast<uint64_t>(x.launch().params.data()) + (address - kParamBase);
}
inline const Instr& instr_of(const Operands& in) { return static_cast<const Instr&>(in); }

}  // namespace triton_runner::simt
