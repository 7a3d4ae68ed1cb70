// Phases of a run. Native code goes through a run some lanes at a time; where an instruction needs what other lanes of the block
// have left, all lanes have to be through with what comes before it. A run is then several loops, one after the other, and what one
// leaves for the next is in the register file.
//
//   add.f32 %r22, %r20, %r21;                   for all lanes
//   ------------------------------------ a phase ends
//   shfl.sync.bfly.b32 %r23, %r22, 16, 31, -1;  for all lanes: what a lane reads is there
//
// Shared memory is between two phases (shared.h).
#pragma once
#include <span>
#include <vector>

#include "native/shared.h"

namespace triton_runner::simt {

// Instr::run of a part of a run that ends a phase; nobody calls it.
void phase_part(Lanes& lanes, const Operands& in);
inline bool ends_phase(const Instr& in) { return in.run == phase_part || shared_of(in); }
Instr end_of_phase();

inline constexpr uint32_t kAllLanes = ~uint32_t{0};

// Returns how many lanes, from the first on, each part of a run has to be made for: whole warps, the same ones in all of a phase. After
// a reduction, often one thread of a block stores the result, and no other needs one. `local` are the places that nobody else looks
// at, sorted.
std::vector<uint32_t> needed_lanes(std::span<const Instr> run, std::span<const uint32_t> local);

}  // namespace triton_runner::simt
