// Shuffles of a warp in native code, which has half of a warp at a time (or a quarter): the other half is in the register file. What a shuffle
// reads there has to be what the instruction would read, so that a phase of the run (phases.h) ends before it where that is not so
// (HalvesRead).
#pragma once
#include <optional>
#include <vector>

#include "native/rows.h"

namespace triton_runner::simt {

// The part of a run that an instruction is which moves lanes up (shfl.up by a power of 2), or swaps the halves; none: it does neither.
std::optional<Instr> shuffle_part(const Instr& in);
bool moves_up(const Instr& part);
// The rows of these parts; null: the handler is none of theirs.
const NativeRow* shuffle_row(Handler run);

// Says whether a phase can go on with a part.
class HalvesRead {
 public:
  bool fits(const Instr& part);
  // Writes that have no parts of their own.
  bool fits_write(uint32_t place);

 private:
  std::vector<uint32_t> written_, read_;  // places: by any part; of the other half
};

// The place that a part reads of the other half, or none.
uint32_t read_of_other_half(const Instr& in);

}  // namespace triton_runner::simt
