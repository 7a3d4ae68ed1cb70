// Declares a fault of the kernel itself: a result, not an error of ours. Both engines report the same
// structure.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <triton_runner/base/diagnostic.h>

namespace triton_runner::exec {

enum class TrapKind : uint8_t {
  kOutOfBounds,
  kMisaligned,
  kDivisionByZero,
  kAssert,
  kDeadlock,
  kTimeout,
  kOutOfMemory,
  kInterrupted,
  kUnsupported,
  kUninitialized,
  kNan,
  kRace,
  kHint,
  kOverflow,
  kHazard,
  kView,
  kInvalid,
};
const char* trap_name(TrapKind kind);  // "out of bounds", ...

// A data race is of one kind: it decides whose fault a race below the language can be. A kernel of the Triton
// language has no shared memory and no asynchronous operations: those are of its compiler.
enum class Race : uint8_t {
  kNone,
  kGlobal,    // accesses of global memory that nothing orders: by programs, warps or elements of one store
  kShared,    // the same in shared or tensor memory
  kInFlight,  // an asynchronous copy or product that nobody has waited for
  kCopies,    // the threads that hold copies of one value store different ones
  kFence,     // the accesses are ordered, and only a fence between threads and the async proxy is missing
  kOrder,     // threads of a warp share a register, and nothing says which group of them runs first
};
const char* race_name(Race race);  // "", "global", ...

// The clause that says what to do about a fault that a check reports: "mask the access ...". Empty for other traps.
const char* advice_on(TrapKind kind, Race race);

// The reason of a trap.
struct Cause {
  TrapKind kind;
  Race race = Race::kNone;
  Cause(TrapKind kind) : kind(kind) {}                     // NOLINT(google-explicit-constructor)
  Cause(Race race) : kind(TrapKind::kRace), race(race) {}  // NOLINT(google-explicit-constructor)
};

struct Trap {
  TrapKind kind;
  Race race = Race::kNone;
  std::string kernel;
  std::string op;           // "tt.load"
  base::Location location;  // the Python source line where known, else the line of the artifact
  // At PTX and in machine code: the instruction's text, its line in the listing, and the line of the PTX that
  // machine code was made from; 0 where it is not known.
  std::string instruction{};
  uint32_t artifact_line = 0, ptx_line = 0;
  std::string message;  // what happened, in a sentence
  std::array<int64_t, 3> program{-1, -1, -1};
  std::vector<int64_t> element;               // index in the tile; empty for scalars
  std::vector<int64_t> iterations;            // of the loops around the op, outermost first
  std::array<int64_t, 3> thread{-1, -1, -1};  // of its block, at level PTX
  uint64_t address = 0;
  uint32_t access_bytes = 0;
  std::string nearest;   // "4 bytes past the end of argument 'x' (f32[1024])"
  std::string argument;  // the parameter that the address was made from; empty where it is not known
  std::string place;     // in elements from there: "x_ptr + 4096"
  std::vector<std::string> notes;
  // Empty: a fault, which ends the launch. Else what keeps the program's results right on a GPU: "ptxas", which
  // repairs it, or "hardware", whose surplus stays in the allocation's own padding; or "assembler", where only
  // the machine code is at fault. Such a trap is the result of a launch that ran to its end without a fault.
  std::string warning{};
  // kernel 'k': out of bounds in tt.load at file.py:12:3, program (1, 0, 0), element [7]: ...
  std::string str() const;
};

}  // namespace triton_runner::exec
