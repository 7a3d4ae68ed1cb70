// Declares calls of functions that keep their frames on a stack: in the thread's local memory, one above the other.
//
//   enter_routine: saves the caller's registers in its frame, passes the arguments, and moves the frame register up
//   leave_routine: moves it down, puts the registers back, and takes the results
#pragma once
#include <vector>

#include "state/exec.h"

namespace triton_runner::simt {

// Bytes of local memory that a thread has for the frames of functions that call themselves. A GPU has 1,024 unless the
// program asks for more, and keeps less in a frame.
inline constexpr uint32_t kStackBytes = 64u << 10;

// A register that a frame keeps while its function is called again, and where.
struct SavedRegister {
  uint32_t place, bytes;
  uint32_t offset;  // in the frame
};

// The frame of a function, known when all of it is lowered.
struct Activation {
  uint32_t bytes = 0;
  std::vector<SavedRegister> saved;
};

// A value that a call passes: from a register or from memory to a register or to memory. Offsets are those of the
// frame that it is in.
struct PassedValue {
  struct Spot {
    bool in_memory;
    uint32_t at;  // an offset in the frame, or a place
  };
  Spot caller, callee;
  uint32_t bytes;
};

struct StackCall {
  const Activation *caller, *callee;
  std::string name;     // of the callee
  uint32_t frame;       // the place of each thread's frame: an offset in its local memory
  uint32_t link;        // the place that says which call the callee returns to
  uint32_t number = 0;  // of this call
  bool saves = false;   // the callee may call the caller
  std::vector<PassedValue> arguments, results;
};
void enter_routine(Exec& x, const Operands& in, const StackCall& call);
void leave_routine(Exec& x, const Operands& in, const StackCall& call);

// d = the frame of each thread (a) + imm; d has 4 or 8 bytes.
Handler address_in_frame(uint32_t bytes);

}  // namespace triton_runner::simt
