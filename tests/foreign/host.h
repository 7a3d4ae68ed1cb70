// Lets g++ compile the kernels of this folder for the CPU: one thread after the other, which the test chooses by set_thread().
#pragma once
#include <cmath>
#include <cstdlib>

#define __global__
#define __device__
#define __constant__
#define __noinline__ __attribute__((noinline))

struct Index {
  unsigned x, y, z;
};
inline Index threadIdx, blockIdx, blockDim{1, 1, 1}, gridDim{1, 1, 1};

extern "C" void set_thread(unsigned thread, unsigned threads) {
  threadIdx.x = thread;
  blockDim.x = threads;
}
