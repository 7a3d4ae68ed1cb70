// Tests reductions of TMA by type and operation, and which of them are refused.
#include <triton_runner/machine/update.h>

#include <cstring>

#include "test.h"

namespace triton_runner::machine {
namespace {

TEST(atomics_combine) {
  auto both = [](AtomicOp op, AtomicType type, uint64_t old, uint64_t value, uint64_t want, size_t bytes) {
    const Updates u = find_update(op, type);
    for (Update f : {u.shared, u.global}) {
      uint64_t at = old;
      CHECK_EQ(f(&at, value, 0), old);
      uint64_t got = 0;
      std::memcpy(&got, &at, bytes);
      CHECK_EQ(got, want);
    }
  };
  both(AtomicOp::kInc, AtomicType::kU32, 5, 5, 0, 4);
  both(AtomicOp::kInc, AtomicType::kU32, 4, 5, 5, 4);
  both(AtomicOp::kDec, AtomicType::kU32, 0, 5, 5, 4);
  both(AtomicOp::kDec, AtomicType::kU32, 6, 5, 5, 4);
  both(AtomicOp::kDec, AtomicType::kU32, 3, 5, 2, 4);
  both(AtomicOp::kMin, AtomicType::kS32, 5, 0xffffffff, 0xffffffff, 4);
  both(AtomicOp::kMin, AtomicType::kU32, 5, 0xffffffff, 5, 4);
  both(AtomicOp::kMax, AtomicType::kS64, 5, ~uint64_t{0}, 5, 8);
  both(AtomicOp::kAdd, AtomicType::kF16, 0x3c00, 0x3c00, 0x4000, 2);  // 1 + 1
  both(AtomicOp::kAdd, AtomicType::kF16x2, 0x3c003c00, 0x40003c00, 0x42004000, 4);
  both(AtomicOp::kAdd, AtomicType::kBf16, 0x3f80, 0x3b80, 0x3f80, 2);  // 1 + 2^-8: half an ulp, to even
  both(AtomicOp::kAdd, AtomicType::kF64, 0x3ff0000000000000, 0x3ff0000000000000, 0x4000000000000000, 8);
  both(AtomicOp::kExch, AtomicType::kB16, 7, 9, 9, 2);
  // Subnormals: kept in shared memory, zeros in global memory.
  const Updates add = find_update(AtomicOp::kAdd, AtomicType::kF32);
  uint32_t at = 1;
  add.shared(&at, 1, 0);
  CHECK_EQ(at, 2u);
  add.global(&at, 1, 0);
  CHECK_EQ(at, 0u);
  const Updates cas = find_update(AtomicOp::kCas, AtomicType::kU32);
  at = 3;
  CHECK_EQ(cas.global(&at, 8, 4), uint64_t{3});
  CHECK_EQ(at, 3u);
  CHECK_EQ(cas.global(&at, 8, 3), uint64_t{3});
  CHECK_EQ(at, 8u);
}

}  // namespace
}  // namespace triton_runner::machine
