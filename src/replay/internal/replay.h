// replay() turns what the warps of one SM did in order (exec::Trace) and when machine code may issue (its
// control words) into cycles.
//
// Warps issue on four schedulers. When an instruction issues, the time at which its result is there is computed at once, from the time
// at which each unit that it needs is free next; so time passes from issue to issue, and a pause costs nothing. Only
// what depends on other warps (barriers, mbarriers) wakes those that wait. Of other SMs the replay knows that they do the
// same: this one has its share of the bandwidth of L2 and memory.
#pragma once
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include <triton_runner/exec/trace.h>
#include <triton_runner/sass/text.h>

namespace triton_runner::replay {

struct Parameters {
#define PARAM(name, what) double name = 0;
#include <triton_runner/replay/parameters.def>
};

enum class Reason : uint8_t {
#define REASON(name, text) k_##name,
#include <triton_runner/replay/reasons.def>
};
inline constexpr size_t kReasons = 0
#define REASON(...) +1
#include <triton_runner/replay/reasons.def>
    ;

// Global memory of which programs share what they read: a line that is new to this SM is `share` SMs' and programs'.
struct Region {
  uint64_t begin = 0, end = 0;  // addresses
  double share = 1;
};

struct Setup {
  std::vector<int64_t> programs;  // of the trace, in the order in which the SM takes them; may repeat
  uint32_t resident = 1;          // blocks that the SM holds
  uint32_t active = 1;            // SMs that have work
  uint32_t shared = 0;            // bytes of shared memory of the resident blocks
  std::vector<Region> regions;
  uint32_t timeline = 0;  // of so many blocks, from the first on
};

// A stretch of a warp's time, and what the warp did then.
struct Segment {
  uint32_t block, warp;
  Reason reason;
  uint32_t instruction;
  double begin, end;
};

struct Result {
  double cycles = 0;                 // from the first block's launch to the end of the last one's stores
  std::vector<double> begins, ends;  // of each of Setup::programs
  uint64_t instructions = 0;         // of warps
  std::vector<std::array<double, kReasons>> stalls;  // of each instruction of the function: cycles of warps
  // Cycles for which each was at work, of one part of the SM where it has four of them.
  double issue = 0, tensor = 0, shared = 0, l2 = 0, dram = 0;
  double dram_bytes = 0, l1_sectors = 0, l1_hits = 0, l2_sectors = 0, l2_hits = 0;
  std::vector<Segment> segments;
  std::string_view fault;  // why there is no result; empty: there is one
};

// function: the one that the trace is of. Fails where warps wait for what never comes: blocks of another SM.
Result replay(const sass::Function& function, const exec::Trace& trace, const Parameters& chip,
              const Setup& setup);

}  // namespace triton_runner::replay
