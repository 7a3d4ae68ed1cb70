// Declares a kernel's instructions (Op) as the replay needs them.
#pragma once
#include <vector>

#include <triton_runner/replay/replay.h>

namespace triton_runner::replay {

enum class Kind : uint8_t {
  kFixed,       // the assembler knows when its result is there
  kVariable,    // a scoreboard says so, after a time that does not depend on others
  kConstant,    // LDC, ULDC
  kRequest,     // to memory, by threads
  kThreadCopy,  // LDGSTS
  kBulkCopy,    // the copy engine
  kCommit,      // copies so far are a group: LDGDEPBAR, UTMACMDFLUSH
  kGroups,      // DEPBAR.LE
  kBarrier,
  kObject,        // SYNCS
  kProduct,       // HMMA, DMMA: registers
  kGroupProduct,  // HGMMA
  kGroupArrive,   // WARPGROUP.ARRIVE: the four warps meet
  kGroupWait,     // WARPGROUP.DEPBAR
  kFence,
};

enum Pipe : uint8_t { kFma, kFmaHeavy, kAlu, kFp16, kFp64, kXu, kUniform, kTensor, kLsu, kNoPipe };

struct Op {
  Kind kind = Kind::kFixed;
  Pipe pipe = kNoPipe;
  Reason cause = Reason::k_short_scoreboard;  // of those that wait for its result
  uint8_t stall = 1, write = 7, read = 7, wait = 0;
  bool stores = false, updates = false, commits = false, arrives_only = false, bypasses = false;
  uint8_t groups = 0, group_barrier = 7;  // of a wait that leaves so many
  double interval = 0, latency = 0;
  uint32_t constant = 0;  // of kConstant: which 64 bytes
};

std::vector<Op> program_of(const sass::Function& function, const Parameters& chip);

}  // namespace triton_runner::replay
