// Declares which way marks go through an instruction, and what depends on its operands beside its results
// (doc/internals/tile-engine.md#how-checks-follow-values).
#pragma once
#include <vector>

#include "check/check.h"

namespace triton_runner::tile {

enum class Family : uint8_t {
  kOther,        // any operand: all of every result
  kMoves,        // the same elements elsewhere: run on the shadows
  kElementwise,  // the same element of any operand
  kCopies,       // result i is operand i
  kFork,
  kAccess,       // through pointers
  kDescriptor,   // through a tensor descriptor
  kSharedMoves,  // elements between tiles and shared memory: run on the shadows
  kAsyncCopy,    // global to shared memory, on its way until a wait
  kCopyWait,     // what makes copies arrive: run on the shadows
  kBarrierCopy,  // the same, until a barrier has counted its bytes
  kHandOver,     // copies that arrive at a barrier
  kBarrier,      // mbarriers: their bytes are not followed
  kSend,         // elements to a buffer of a block of the cluster
  kMatrix,       // products with operands in memory
};
Family family_of(const Instr& in);

// An operand that must not be marked where the mask leaves it on.
struct Sink {
  Slot slot;
  int64_t mask;  // kNoSlot: everywhere
  const char* what;
  bool is_value = false;  // stored or compared; the others say where, how often and whether
};
std::vector<Sink> sinks_of(const Instr& in, Family family, const Code& code);

}  // namespace triton_runner::tile
