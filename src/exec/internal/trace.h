// A Trace is what the warps of a launch of machine code did, in order: which stretches of instructions, what
// each request asked of memory, what became of barriers. A CountObserver keeps it where it is asked to; the
// replay (src/replay) reads it.
#pragma once
#include <cstdint>
#include <map>
#include <vector>

namespace triton_runner::exec {

struct TraceEvent {
  enum Kind : uint8_t {
    kOff,       // the guard held for no thread of the warp
    kGlobal,    // a request, or what the copy engine reads or writes: `lines`, `value` bytes asked for
    kShared,    // a request: `wavefronts`; a copy: `value` bytes
    kLocal,     // a request: `lines`
    kInit,      // an mbarrier: of `value` arrivals
    kArrive,    // `value` arrivals
    kExpect,    // `value` bytes are to come
    kComplete,  // `value` bytes come when the copy ends
    kWait,      // for the end of phase `value`
    kBarrier,   // `at` of the block's, for `value` threads (0: all)
  };
  uint32_t instruction = 0;  // as the function's body has them
  Kind kind = kOff;
  uint8_t wavefronts = 0;
  uint16_t lines = 0;
  uint32_t first = 0;  // of WarpTrace::lines
  uint32_t value = 0;
  uint32_t at = 0;  // an mbarrier's shared address; a barrier's number
};

// The warp executed all instructions of the stretch; its events are those from the end of the step before on.
struct TraceStep {
  uint32_t stretch = 0, events = 0;
};

struct WarpTrace {
  std::vector<TraceStep> steps;
  std::vector<TraceEvent> events;  // of a step by instruction
  // 128 bytes each: the number of the line, shifted by 4, and a bit for each sector of it that is touched.
  std::vector<uint64_t> lines;
};
inline constexpr uint64_t kLineBytes = 128;

struct Trace {
  std::vector<std::vector<uint32_t>> stretches;      // their instructions in order
  std::map<int64_t, std::vector<WarpTrace>> blocks;  // by program
  uint64_t most = 0;    // how many steps, events and lines all warps together may have
  uint64_t size = 0;    // how many they have
  bool is_cut = false;  // there were more
};

}  // namespace triton_runner::exec
