// Declares the part of HIP's interface that we use, so that building needs no ROCm and running needs only
// libamdhip64.so. Names, layouts and numbers are those of HIP 6's binary interface.
#pragma once
#include <cstddef>
#include <cstdint>

#include <triton_runner/base/result.h>

namespace triton_runner::device {
namespace hip {

using Error = int;      // hipError_t; 0 is success
using Handle = void*;   // hipModule_t, hipFunction_t, hipStream_t
using Address = void*;  // hipDeviceptr_t

struct PointerAttributes {  // hipPointerAttribute_t of HIP 6
  int type;
  int device;
  void* device_pointer;
  void* host_pointer;
  int is_managed;
  unsigned allocation_flags;
};
// hipDeviceProp_t as hipGetDevicePropertiesR0600 fills it: only the two texts in it have no attribute of
// their own.
struct DeviceProperties {
  char name[256];
  char unused[904];
  char gcn_arch_name[256];
  char rest[1024];  // 56 bytes in HIP 6; room for what later releases append
};
struct LaunchAttribute {  // hipLaunchAttribute
  uint32_t id;
  uint32_t unused;
  int32_t value[16];
};
struct LaunchConfig {  // HIP_LAUNCH_CONFIG
  uint32_t grid[3], block[3];
  uint32_t shared_bytes;
  Handle stream;
  LaunchAttribute* attributes;
  uint32_t num_attributes;
};
static_assert(sizeof(LaunchAttribute) == 72 && sizeof(LaunchConfig) == 56);
static_assert(sizeof(PointerAttributes) == 32 && offsetof(DeviceProperties, gcn_arch_name) == 1160);

constexpr Error kSuccess = 0, kInvalidValue = 1;
enum DeviceAttribute : int {
  kCooperativeLaunch = 10,
  kL2CacheSize = 19,
  kMaxThreadsPerBlock = 56,
  kMultiprocessorCount = 63,
  kMaxRegistersPerBlock = 71,
  kMaxSharedPerBlock = 74,
  kWarpSize = 87,
  kMaxSharedPerMultiprocessor = 10002,
};
enum FunctionAttribute : int {
  kFunctionMaxThreads = 0,
  kFunctionSharedBytes = 1,
  kFunctionLocalBytes = 3,
  kFunctionRegisters = 4,
};
enum MemoryType : int { kMemoryUnregistered = 0, kMemoryHost = 1, kMemoryDevice = 2, kMemoryManaged = 3 };
enum LaunchAttributeId : uint32_t { kLaunchCooperative = 2, kLaunchCluster = 4 };
enum JitOption : int { kJitErrorLog = 5, kJitErrorLogBytes = 6 };

}  // namespace hip

#define TRITON_RUNNER_HIP_API(X)                                                                      \
  X(hipInit, (unsigned))                                                                              \
  X(hipDriverGetVersion, (int*))                                                                      \
  X(hipGetDeviceCount, (int*))                                                                        \
  X(hipGetDevice, (int*))                                                                             \
  X(hipSetDevice, (int))                                                                              \
  X(hipDeviceGetAttribute, (int*, int, int))                                                          \
  X(hipGetDevicePropertiesR0600, (hip::DeviceProperties*, int))                                       \
  X(hipModuleLoadDataEx, (hip::Handle*, const void*, unsigned, int*, void**))                         \
  X(hipModuleUnload, (hip::Handle))                                                                   \
  X(hipModuleGetFunction, (hip::Handle*, hip::Handle, const char*))                                   \
  X(hipFuncGetAttribute, (int*, int, hip::Handle))                                                    \
  X(hipModuleOccupancyMaxActiveBlocksPerMultiprocessor, (int*, hip::Handle, int, size_t))             \
  X(hipModuleLaunchKernel, (hip::Handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,  \
                            unsigned, hip::Handle, void**, void**))                                   \
  X(hipModuleLaunchCooperativeKernel, (hip::Handle, unsigned, unsigned, unsigned, unsigned, unsigned, \
                                       unsigned, unsigned, hip::Handle, void**))                      \
  X(hipMallocAsync, (void**, size_t, hip::Handle))                                                    \
  X(hipFreeAsync, (void*, hip::Handle))                                                               \
  X(hipMemsetAsync, (void*, int, size_t, hip::Handle))                                                \
  X(hipMemcpyHtoD, (void*, void*, size_t))                                                            \
  X(hipMemcpyDtoH, (void*, void*, size_t))                                                            \
  X(hipStreamSynchronize, (hip::Handle))                                                              \
  X(hipPointerGetAttributes, (hip::PointerAttributes*, const void*))

// The entry points, one that may be missing, and the two that return texts.
struct HipApi {
#define X(name, params) hip::Error(*name) params = nullptr;
  TRITON_RUNNER_HIP_API(X)
#undef X
  // Functions of later releases; null where there is none.
  hip::Error (*hipDrvLaunchKernelEx)(const hip::LaunchConfig*, hip::Handle, void**, void**) = nullptr;
  const char* (*hipGetErrorName)(hip::Error) = nullptr;
  const char* (*hipGetErrorString)(hip::Error) = nullptr;
};

// Opens the library (kept open for the life of the process) and fills the table.
base::Result<HipApi> load_hip_api(const std::string& library = "libamdhip64.so");

}  // namespace triton_runner::device
