// Declares the state spaces and how an address of each looks in 64 bits.
#pragma once
#include <cstdint>

namespace triton_runner::simt {

// Generic addresses: global memory is the host's own addresses; shared and local memory lie in windows that
// no host address reaches.
inline constexpr uint64_t kSharedWindow = uint64_t{0x70} << 56;  // | 32-bit shared address
inline constexpr uint64_t kLocalWindow = uint64_t{0x71} << 56;   // | offset in the thread's local memory
enum class Space : uint8_t { kGlobal, kShared, kLocal, kParam, kGeneric };
inline constexpr uint64_t kWindowMask = uint64_t{0xff} << 56;
inline constexpr bool in_window(uint64_t address) {
  return (address & kWindowMask) == kSharedWindow || (address & kWindowMask) == kLocalWindow;
}
// An address of .param: kParamBase + offset in the parameters of the kernel (code keeps it in 32 bits too;
// cvta.param makes a host address of it), or an offset in local memory, where parameters of calls are.
inline constexpr uint64_t kParamBase = uint64_t{1} << 30;
// A 32-bit shared address: the block's rank in its cluster, and the offset in its shared memory.
inline constexpr uint32_t kRankShift = 24;
inline constexpr uint32_t kOffsetMask = (1u << kRankShift) - 1;

}  // namespace triton_runner::simt
