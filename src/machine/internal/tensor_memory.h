// States the shape of a block's tensor memory: columns of 128 lanes of 32 bits. See PTX ISA 9.7.16.1. The
// SIMT engine has a machine's 512 and its allocations; the tile engine lays out as many as a program names.
#pragma once
#include <cstdint>

namespace triton_runner::machine {

inline constexpr uint32_t kTensorColumns = 512, kTensorLanes = 128;
inline constexpr uint32_t kTensorUnit = 32;  // columns of the smallest part that is allocated
inline constexpr uint32_t kTensorScaleLanes =
    32;  // block scales lie in these, and once more in each other warp's

}  // namespace triton_runner::machine
