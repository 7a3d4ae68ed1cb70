// Declares the part of CUDA's driver interface that we use, so that building needs no CUDA and running needs
// only libcuda.so.1. Names, layouts and numbers are those of the driver's binary interface.
#pragma once
#include <cstddef>
#include <cstdint>

#include <triton_runner/base/result.h>

namespace triton_runner::device {
namespace cuda {

using Error = int;                   // CUresult; 0 is success
using Handle = void*;                // CUcontext, CUmodule, CUfunction, CUstream
using Address = unsigned long long;  // CUdeviceptr

struct LaunchAttribute {  // CUlaunchAttribute
  uint32_t id;
  uint32_t pad;
  union {
    uint32_t words[16];
    int32_t number;
    struct {
      uint32_t x, y, z;
    } dim;
  } value;
};
struct LaunchConfig {  // CUlaunchConfig
  uint32_t grid_x, grid_y, grid_z;
  uint32_t block_x, block_y, block_z;
  uint32_t shared_bytes;
  Handle stream;
  LaunchAttribute* attributes;
  uint32_t num_attributes;
};
static_assert(sizeof(LaunchAttribute) == 72 && sizeof(LaunchConfig) == 56);

constexpr Error kSuccess = 0, kInvalidValue = 1;
enum DeviceAttribute : int {
  kMaxThreadsPerBlock = 1,
  kMaxSharedPerBlock = 8,
  kWarpSize = 10,
  kMaxRegistersPerBlock = 12,
  kMultiprocessorCount = 16,
  kL2CacheSize = 38,
  kCapabilityMajor = 75,
  kCapabilityMinor = 76,
  kMaxSharedPerMultiprocessor = 81,
  kCooperativeLaunch = 95,
  kMaxSharedPerBlockOptin = 97,
  kMemoryPoolsSupported = 115,
  kClusterLaunch = 120,
};
enum FunctionAttribute : int {
  kFunctionMaxThreads = 0,
  kFunctionSharedBytes = 1,
  kFunctionLocalBytes = 3,
  kFunctionRegisters = 4,
  kFunctionMaxDynamicShared = 8,
  kFunctionNonPortableCluster = 14,
};
enum PointerAttribute : int { kPointerDevicePointer = 3, kPointerMemoryType = 2, kPointerDeviceOrdinal = 9 };
enum MemoryType : uint32_t { kMemoryHost = 1, kMemoryDevice = 2 };
enum JitOption : int { kJitErrorLog = 5, kJitErrorLogBytes = 6 };
enum LaunchAttributeId : uint32_t {
  kLaunchCooperative = 2,
  kLaunchClusterDimension = 4,
  kLaunchClusterPolicy = 5,
  kLaunchProgrammaticSerialization = 6,
};
constexpr int32_t kClusterPolicySpread = 1;
constexpr int kCachePreferShared = 1;

}  // namespace cuda

// Name in the library, parameters, needed: what a driver of CUDA 11 lacks is optional.
#define TRITON_RUNNER_CUDA_API(X)                                                                          \
  X(cuInit, (unsigned), true)                                                                              \
  X(cuDriverGetVersion, (int*), true)                                                                      \
  X(cuGetErrorName, (cuda::Error, const char**), true)                                                     \
  X(cuGetErrorString, (cuda::Error, const char**), true)                                                   \
  X(cuDeviceGetCount, (int*), true)                                                                        \
  X(cuDeviceGet, (int*, int), true)                                                                        \
  X(cuDeviceGetName, (char*, int, int), true)                                                              \
  X(cuDeviceGetAttribute, (int*, int, int), true)                                                          \
  X(cuDevicePrimaryCtxRetain, (cuda::Handle*, int), true)                                                  \
  X(cuCtxGetCurrent, (cuda::Handle*), true)                                                                \
  X(cuCtxSetCurrent, (cuda::Handle), true)                                                                 \
  X(cuCtxGetDevice, (int*), true)                                                                          \
  X(cuModuleLoadDataEx, (cuda::Handle*, const void*, unsigned, int*, void**), true)                        \
  X(cuModuleUnload, (cuda::Handle), true)                                                                  \
  X(cuModuleGetFunction, (cuda::Handle*, cuda::Handle, const char*), true)                                 \
  X(cuFuncGetAttribute, (int*, int, cuda::Handle), true)                                                   \
  X(cuFuncSetAttribute, (cuda::Handle, int, int), true)                                                    \
  X(cuFuncSetCacheConfig, (cuda::Handle, int), true)                                                       \
  X(cuOccupancyMaxActiveBlocksPerMultiprocessor, (int*, cuda::Handle, int, size_t), true)                  \
  X(cuLaunchKernel,                                                                                        \
    (cuda::Handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, cuda::Handle,     \
     void**, void**),                                                                                      \
    true)                                                                                                  \
  X(cuMemAllocAsync, (cuda::Address*, size_t, cuda::Handle), true)                                         \
  X(cuMemFreeAsync, (cuda::Address, cuda::Handle), true)                                                   \
  X(cuMemsetD8Async, (cuda::Address, unsigned char, size_t, cuda::Handle), true)                           \
  X(cuMemcpyHtoD_v2, (cuda::Address, const void*, size_t), true)                                           \
  X(cuMemcpyDtoH_v2, (void*, cuda::Address, size_t), true)                                                 \
  X(cuStreamSynchronize, (cuda::Handle), true)                                                             \
  X(cuPointerGetAttributes, (unsigned, int*, void**, cuda::Address), true)                                 \
  X(cuLaunchKernelEx, (const cuda::LaunchConfig*, cuda::Handle, void**, void**), false)                    \
  X(cuOccupancyMaxActiveClusters, (int*, cuda::Handle, const cuda::LaunchConfig*), false)                  \
  X(cuTensorMapEncodeTiled,                                                                                \
    (void*, int, uint32_t, void*, const uint64_t*, const uint64_t*, const uint32_t*, const uint32_t*, int, \
     int, int, int),                                                                                       \
    false)                                                                                                 \
  X(cuTensorMapEncodeIm2col,                                                                               \
    (void*, int, uint32_t, void*, const uint64_t*, const uint64_t*, const int*, const int*, uint32_t,      \
     uint32_t, const uint32_t*, int, int, int, int),                                                       \
    false)

// The entry points; null where the library lacks an optional one.
struct CudaApi {
#define X(name, params, needed) cuda::Error(*name) params = nullptr;
  TRITON_RUNNER_CUDA_API(X)
#undef X
};

// Opens the library (kept open for the life of the process) and fills the table.
base::Result<CudaApi> load_cuda_api(const std::string& library = "libcuda.so.1");

}  // namespace triton_runner::device
