// Declares how an instruction meets the threads that run it: a register is an array with one value a thread,
// and an instruction is one call over many threads.
//
//   lanes::Handler add = lanes::find(lanes::Operation::kAdd, lanes::Type::kF32);
//   add(lanes, {.d = 0, .a = 512, .b = 1024});      // of 128 threads: arrays at bytes 0, 512 and 1024 of lanes.regs
//
// The SIMT engine and inline assembly in the tile engine run the same functions. They are compiled once an
// instruction set, so nothing in this header may be emitted out of line.
#pragma once
#include <cstddef>
#include <cstdint>

#define LANES_INLINE [[gnu::always_inline]] inline

namespace triton_runner::lanes {

inline constexpr uint32_t kNoRegister = ~uint32_t{0};

// The threads that an instruction runs for, and where their registers are.
struct Lanes {
  std::byte* regs = nullptr;  // the register file; 64-byte aligned
  uint32_t first = 0;         // threads [first, first + count); both multiples of 32
  uint32_t count = 0;
  const int8_t* mask = nullptr;  // null: all of them; else mask[i] of thread first + i: -1 on, 0 off

  // The register whose array begins at byte `offset`: element 0 is thread `first`. Values are of their own
  // size: 1 byte for predicates (0 or -1) and 8-bit types, 2, 4, 8 or 16 bytes for the others.
  template <class T>
  LANES_INLINE T* reg(uint32_t offset) const {
    return reinterpret_cast<T*>(regs + offset) + first;
  }
  LANES_INLINE bool on(uint32_t i) const { return !mask || mask[i]; }
};

// Byte offsets of operands in the register file (immediates are registers that nobody writes), and whatever
// else the function was told when it was chosen.
struct Operands {
  uint32_t d = kNoRegister;  // result
  uint32_t a = kNoRegister, b = kNoRegister, c = kNoRegister;
  uint32_t e = kNoRegister;  // second result or fourth operand: the function's own matter
  uint32_t small = 0;        // the function's own: a table, a byte count, a comparison
  union {
    int64_t imm = 0;   // the function's own
    const void* data;  // the function's own; lives as long as the code
  };
};

// Lanes that are off keep their results. Operands may be the same registers as results.
using Handler = void (*)(Lanes&, const Operands&);

}  // namespace triton_runner::lanes
