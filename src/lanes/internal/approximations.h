// special_function() gives the tables of the special function unit, which approx.cpp computes .approx functions of f32 by.
#pragma once
#include <cstdint>
#include <span>

#include <triton_runner/lanes/functions.h>

namespace triton_runner::lanes {

// c0 of 26 bits, and c1 * 4096 + c2 (c2 of 12 bits with its sign).
struct ApproxEntry {
  int32_t c0, c12;
};

// The entries of kEx2 and kRcp, one after the other.
std::span<const ApproxEntry> special_function(Operation operation);

}  // namespace triton_runner::lanes
