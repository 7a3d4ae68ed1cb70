// Declares what tests of the driver begin with: the context of the device, empty, and a module of two kernels.
#pragma once
#include <cstdlib>
#include <vector>

#include "symbols.h"
#include "test.h"

namespace triton_runner::driver {

// The primary context of a device that is an H100, current and without what earlier tests left.
struct Primary {
  Handle context = nullptr;
  Primary() {
    setenv("TRITON_RUNNER_CUDA_CHIP", "h100 90 132 1.98e9 3.35e12 52428800", 1);
    CHECK_EQ(cuInit(0), 0);
    CHECK_EQ(cuDevicePrimaryCtxRetain(&context, 0), 0);
    CHECK_EQ(cuCtxSetCurrent(context), 0);
    CHECK_EQ(cuDevicePrimaryCtxReset_v2(0), 0);
  }
  ~Primary() { cuDevicePrimaryCtxRelease_v2(0); }
  Primary(const Primary&) = delete;
  Primary& operator=(const Primary&) = delete;
};

// scale: x[i] *= 2 for i < n, and counts its threads in `counter`; shape: a structure by value.
inline const char kText[] = R"(
.version 8.0
.target sm_80
.address_size 64
.global .align 4 .u32 counter = 5;
.visible .entry scale(.param .u64 x, .param .u32 n)
{
 .reg .pred %p<2>; .reg .b32 %r<8>; .reg .b64 %rd<4>; .reg .f32 %f<3>;
 ld.param.u64 %rd1,[x]; ld.param.u32 %r1,[n];
 mov.u32 %r2,%ctaid.x; mov.u32 %r3,%ntid.x; mov.u32 %r4,%tid.x; mad.lo.s32 %r5,%r2,%r3,%r4;
 setp.ge.s32 %p1,%r5,%r1; @%p1 ret;
 mul.wide.s32 %rd2,%r5,4; add.s64 %rd3,%rd1,%rd2; ld.global.f32 %f1,[%rd3]; add.f32 %f2,%f1,%f1; st.global.f32 [%rd3],%f2;
 atom.global.add.u32 %r6, [counter], 1;
 ret;
}
.visible .entry shape(.param .align 4 .b8 s[12], .param .u64 out)
{
 .reg .b32 %r<4>; .reg .b64 %rd<3>;
 ld.param.u64 %rd1,[out]; ld.param.u32 %r1,[s]; ld.param.u32 %r2,[s+8]; add.u32 %r3,%r1,%r2; st.global.u32 [%rd1],%r3;
 ret;
}
)";

struct Fixture : Primary {
  Handle module = nullptr, scale = nullptr, shape = nullptr;
  Fixture() {
    CHECK_EQ(cuModuleLoadData(&module, kText), 0);
    CHECK_EQ(cuModuleGetFunction(&scale, module, "scale"), 0);
    CHECK_EQ(cuModuleGetFunction(&shape, module, "shape"), 0);
  }
  Address floats(const std::vector<float>& values) {
    Address out = 0;
    CHECK_EQ(cuMemAlloc_v2(&out, values.size() * 4), 0);
    CHECK_EQ(cuMemcpyHtoD_v2(out, values.data(), values.size() * 4), 0);
    return out;
  }
  std::vector<float> read(Address from, size_t n) {
    std::vector<float> out(n);
    CHECK_EQ(cuMemcpyDtoH_v2(out.data(), from, n * 4), 0);
    return out;
  }
  int launch(Address x, int n, Handle stream = nullptr, unsigned blocks = 1) {
    void* params[] = {&x, &n};
    return cuLaunchKernel(scale, blocks, 1, 1, 32, 1, 1, 0, stream, params, nullptr);
  }
};

}  // namespace triton_runner::driver
