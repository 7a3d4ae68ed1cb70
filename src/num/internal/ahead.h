// Ahead names memory that will be read soon, for kernels that have room to fetch it. It is a bare struct,
// because files of num/simd include it.
#pragma once
#include <stdint.h>

namespace triton_runner::num {

// Rows of memory, which may not exist.
struct Ahead {
  uint64_t address = 0;
  int64_t rows = 0, stride = 0;  // bytes from row to row
  int64_t bytes = 0;             // of a row
};

}  // namespace triton_runner::num
