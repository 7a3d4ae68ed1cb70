// Declares what Operands::data holds of loads, stores and shuffles, and which byte or thread each thread
// means by it.
#pragma once
#include <algorithm>
#include <array>
#include <bit>

#include <triton_runner/num/type.h>

#include "state/exec.h"

namespace triton_runner::simt {

inline constexpr uint32_t kMaxWords = 8;

struct Access {
  uint32_t regs[kMaxWords];  // kNoRegister: not wanted
  uint32_t words = 1, word_bytes = 4, reg_bytes = 4;
  bool is_signed = false;  // a narrow value fills a wide register with its sign
  bool anywhere = false;   // its address need not be a multiple of its bytes
  bool strong = false;     // other blocks are looked at: volatile, relaxed, ...
  Space space = Space::kGeneric;
  uint32_t address_bytes = 8;
  uint32_t used =
      ~0u;  // a bit a byte: the others are loaded because the load is wide, and nobody looks at them
  int64_t offset = 0;
  const Tables* tables = nullptr;
  uint32_t bytes() const { return words * word_bytes; }
  // The bytes up to the last that is used; 0: none is.
  uint32_t extent() const {
    return used == ~0u ? bytes() : std::min<uint32_t>(bytes(), static_cast<uint32_t>(std::bit_width(used)));
  }
};

// The place where thread `lane` of the path accesses memory.
inline uint64_t accessed_address(const Exec& x, const Operands& in, const Access& a, uint32_t lane) {
  if (a.address_bytes == 4)
    return static_cast<uint32_t>(x.reg<uint32_t>(in.a)[lane] + static_cast<uint32_t>(a.offset));
  return x.reg<uint64_t>(in.a)[lane] + static_cast<uint64_t>(a.offset);
}

enum class ShuffleKind : uint8_t { kUp, kDown, kBfly, kIdx };
struct ShuffleSource {
  uint32_t lane;
  bool valid;
};

// The place that `lane` reads from: PTX ISA 9.7.9.6.
LANES_INLINE ShuffleSource shuffle_from(ShuffleKind kind, uint32_t lane, uint32_t b, uint32_t c) {
  const uint32_t by = b & 31, clamp = c & 31, segment = c >> 8 & 31;
  const int32_t first = static_cast<int32_t>(lane & segment);
  const int32_t last = first | static_cast<int32_t>(clamp & ~segment);
  const int32_t at = static_cast<int32_t>(lane);
  int32_t from = 0;
  bool valid = false;
  switch (kind) {
    case ShuffleKind::kUp:
      from = at - static_cast<int32_t>(by);
      valid = from >= last;
      break;
    case ShuffleKind::kDown:
      from = at + static_cast<int32_t>(by);
      valid = from <= last;
      break;
    case ShuffleKind::kBfly:
      from = at ^ static_cast<int32_t>(by);
      valid = from <= last;
      break;
    case ShuffleKind::kIdx:
      from = first | static_cast<int32_t>(by & ~segment);
      valid = from <= last;
      break;
  }
  return {valid ? static_cast<uint32_t>(from) : lane, valid};
}

// Constant lane operands: who reads from whom is known.
struct ShuffleTable {
  std::array<uint8_t, 32> from;
  std::array<int8_t, 32> valid;
  const Tables* tables = nullptr;
};

// The thread of the path whose number a shuffle gives thread `lane`. Without a place c it has a table.
inline uint32_t shuffle_source(const Exec& x, const Operands& in, uint32_t lane) {
  const uint32_t warp = lane & ~31u;
  if (in.c == kNoRegister) return warp + static_cast<const ShuffleTable*>(in.data)->from[lane - warp];
  const auto kind = static_cast<ShuffleKind>(in.small);
  return warp +
         shuffle_from(kind, lane - warp, x.reg<uint32_t>(in.b)[lane], x.reg<uint32_t>(in.c)[lane]).lane;
}

}  // namespace triton_runner::simt
