// Mbarrier is the 64 bits in shared memory that count arrivals and bytes, phase by phase. See PTX ISA
// 9.7.13.15. AMD's barriers in LDS are the same idea.
//
// The encoding is ours: kernels may only use it through instructions. Memory that holds no barrier is told by its
// two highest bits.
#pragma once
#include <cstdint>
#include <string>

namespace triton_runner::machine {

struct Arrival {
  int64_t count = 1;
  int64_t expect_tx = 0;     // bytes announced before arriving
  bool drop = false;         // the next phases want `count` fewer
  bool no_complete = false;  // it must not be the last of its phase
};

struct Mbarrier {
  static constexpr uint32_t kMost = (1u << 20) - 1;  // arrivals, and bytes either way
  static constexpr uint64_t kMark = 2;

  uint64_t pending : 20 = 0;   // arrivals that the current phase still wants
  uint64_t expected : 20 = 0;  // arrivals that the next phase will want
  int64_t tx : 21 = 0;         // bytes announced and not yet there; negative where they came first
  uint64_t phase : 1 = 0;      // parity of the current phase
  uint64_t mark : 2 = 0;

  static Mbarrier of(uint64_t count) { return {count, count, 0, 0, kMark}; }
  bool is_there() const { return mark == kMark; }
  bool has_ended(bool parity) const { return (phase != 0) != parity; }
  // Ends the phase if nothing is missing: whether it did. To be asked after each of the following, which give what is
  // wrong with them, or an empty text.
  bool settle() {
    if (pending != 0 || tx != 0) return false;
    phase ^= 1;
    pending = expected;
    return true;
  }
  std::string arrive(const Arrival& arrival);
  std::string count_bytes(int64_t bytes);   // announced; negative: they are there
  std::string add_pending(uint32_t count);  // more arrivals in the current phase
  // "phase 0: 1 arrival and 512 bytes are missing"
  std::string text() const;
};
static_assert(sizeof(Mbarrier) == 8);

}  // namespace triton_runner::machine
