// Read-modify-write of elements: as functions, for the reductions of the copy engine too, and as an instruction.
#pragma once
#include <cstdint>

#include "address.h"

namespace triton_runner::simt {

enum class AtomicOp : uint8_t { kNone, kAdd, kMin, kMax, kInc, kDec, kAnd, kOr, kXor, kExch, kCas };
// kB16 has kCas and kExch only; kOther has nothing.
enum class AtomicType : uint8_t {
  kOther,
  kB16,
  kU32,
  kS32,
  kU64,
  kS64,
  kF16,
  kF16x2,
  kBf16,
  kBf16x2,
  kF32,
  kF64
};

// Combines the element at `at` (aligned to its size) with `value` and gives what was there. `compare` is for
// kCas only.
using Update = uint64_t (*)(void* at, uint64_t value, uint64_t compare);

struct Updates {
  Update shared = nullptr;  // nobody else is running
  Update global = nullptr;  // atomic among our worker threads
};
// Nulls: there is none.
Updates find_update(AtomicOp operation, AtomicType type);

struct AtomicPlan {
  AddressPlace address;
  Space where = Space::kGeneric;
  uint32_t bytes = 0;  // of an element
  uint32_t n = 1;      // elements
  Updates updates;     // none for 128 bits, which are exchanged, or swapped if equal
  uint32_t values[8] = {};
  uint32_t results[8] = {};      // kNoRegister: not wanted
  uint32_t other = kNoRegister;  // kCas: what replaces the element
};
// Operands::data is the AtomicPlan; wide: of 128 bits.
Handler atomic_handler(bool wide);

}  // namespace triton_runner::simt
