// Writer writes native code for one run: it keeps the values of registers in the processor's, and puts them into the register
// file when they are needed there or when the processor's are used up.
#pragma once
#include <span>
#include <vector>

#include "native/span.h"

namespace triton_runner::simt {

// PlaceFacts says of places in the register file whether all lanes have one value, and whether nothing outside of the run looks
// at them.
struct PlaceFacts {
  std::span<const uint32_t> uniform;  // sorted
  std::span<const uint32_t> local;    // of the run, sorted
};

// The bytes of `void run(std::byte* registers, uint32_t first, uint32_t end)` for lanes [first, end), whole warps; of a run with
// accesses, `void run(registers, first, end, 0, begins, SpanWriter::constants())`, begins being what begin_spans() finds.
std::vector<uint8_t> write_native(std::span<const Instr> run, const PlaceFacts& facts);

}  // namespace triton_runner::simt
