// Says how a video instruction's modifiers lie in Operands::small: ptx/alu.cpp writes them, lanes/video.cpp
// reads them.
#pragma once
#include <triton_runner/lanes/functions.h>

namespace triton_runner::lanes {

inline constexpr uint32_t kVideoASigned = 1u << 0, kVideoBSigned = 1u << 1, kVideoResultSigned = 1u << 2;
inline constexpr uint32_t kVideoSaturate = 1u << 3, kVideoClamp = 1u << 4, kVideoPlusOne = 1u << 5;
inline constexpr uint32_t kVideoShift7 = 1u << 6, kVideoShift15 = 1u << 7;
enum VideoSecondary : uint32_t { kVideoNoSecondary, kVideoAdd, kVideoMin, kVideoMax };
inline constexpr uint32_t kVideoSecondaryShift = 8;    // 2 bits
inline constexpr uint32_t kVideoComparisonShift = 10;  // 4 bits

}  // namespace triton_runner::lanes
