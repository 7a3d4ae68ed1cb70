// Cluster launch control: a running block asks for the work of a cluster that has not started. It gets the
// number of a cluster, which then never starts, or learns that none is left. See PTX ISA 9.7.13.17.
//
// The number is taken off the launch's counter when the block asks, so that nobody starts that cluster any more.
#pragma once
#include <array>
#include <cstdint>

namespace triton_runner::machine {

// The 16 bytes of an answer in shared memory, as machine code reads them: %ctaid.x of the cluster's first block; y, with z in the
// upper half; the mark, whose low bit is set when a cluster was granted (memory with another mark holds no answer).
struct LaunchAnswer {
  static constexpr uint32_t kRefused = 0xc1c00000, kCancelled = 0xc1c00001;

  uint32_t x = 0, y_and_z = 0, mark = kRefused, unused = 0;

  template <class T>
  static LaunchAnswer of(const std::array<T, 3>& block) {
    return {static_cast<uint32_t>(block[0]), static_cast<uint32_t>(block[1] | block[2] << 16), kCancelled};
  }
  std::array<uint32_t, 3> block() const { return {x, y_and_z & 0xffff, y_and_z >> 16}; }
  bool is_one() const { return mark == kCancelled || mark == kRefused; }
  bool is_cancelled() const { return mark == kCancelled; }
};
inline constexpr uint32_t kAnswerBytes = 16;
static_assert(sizeof(LaunchAnswer) == kAnswerBytes);

inline constexpr const char* kAsksAgain =
    " asks for work again after it has read that there is none: what happens then is undefined";

}  // namespace triton_runner::machine
