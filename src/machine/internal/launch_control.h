// Cluster launch control: a running block asks for the work of a cluster that has not started, and gets the number of
// one that then never starts, or learns that there is none. PTX ISA 9.7.13.17.
//
// The number is taken off the launch's counter when the block asks, so that nobody starts that cluster any more.
#pragma once
#include <array>
#include <cstdint>

namespace triton_runner::machine {

// The 16 bytes of an answer in shared memory: %ctaid of the first block, and a word that nothing else is taken for.
struct LaunchAnswer {
  static constexpr uint32_t kRefused = 0xc1c00000, kCancelled = 0xc1c00001;

  std::array<uint32_t, 3> block{};
  uint32_t mark = kRefused;

  static LaunchAnswer of(const std::array<int64_t, 3>& block) {
    return {
        {static_cast<uint32_t>(block[0]), static_cast<uint32_t>(block[1]), static_cast<uint32_t>(block[2])},
        kCancelled};
  }
  bool is_one() const { return mark == kCancelled || mark == kRefused; }
  bool is_cancelled() const { return mark == kCancelled; }
};
inline constexpr uint32_t kAnswerBytes = 16;
static_assert(sizeof(LaunchAnswer) == kAnswerBytes);

inline constexpr const char* kAsksAgain =
    " asks for work again after it has read that there is none: what happens then is undefined";

}  // namespace triton_runner::machine
