// Finds the function that reads, modifies and writes elements: for atomics, and for the reductions of the
// copy engine.
#pragma once
#include <cstdint>
#include <string_view>

namespace triton_runner::machine {

enum class AtomicOp : uint8_t { kNone, kAdd, kMin, kMax, kInc, kDec, kAnd, kOr, kXor, kExch, kCas };
std::string_view text(AtomicOp operation);  // "add"
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

}  // namespace triton_runner::machine
