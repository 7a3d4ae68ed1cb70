// Declares the part of the driver's binary interface that this library answers: numbers, structures and handles
// as programs pass them. What device/cuda_api.h, which calls a driver, declares already is taken from there.
#pragma once
#include <cstddef>
#include <cstdint>

#include <triton_runner/device/cuda_api.h>

namespace triton_runner::driver {

using Address = device::cuda::Address;
using Handle = device::cuda::Handle;
using device::cuda::LaunchAttribute;
using device::cuda::LaunchConfig;

enum Error : int {
#define ERROR(enumerator, number, name, text) enumerator = number,
#define OTHER(number, name, text)
#include "errors.def"
#undef ERROR
#undef OTHER
};

constexpr int kDriverVersion = 13050;  // CUDA 13.5

enum MemoryType : unsigned { kHostMemory = 1, kDeviceMemory = 2, kArrayMemory = 3, kUnifiedMemory = 4 };

struct Copy2D {
  size_t from_x, from_y;
  unsigned from_type;
  const void* from_host;
  Address from_device;
  Handle from_array;
  size_t from_pitch;
  size_t to_x, to_y;
  unsigned to_type;
  void* to_host;
  Address to_device;
  Handle to_array;
  size_t to_pitch;
  size_t width, height;
};
static_assert(sizeof(Copy2D) == 128);

struct Copy3D {
  size_t from_x, from_y, from_z, from_lod;
  unsigned from_type;
  const void* from_host;
  Address from_device;
  Handle from_array;
  void* from_context;
  size_t from_pitch, from_height;
  size_t to_x, to_y, to_z, to_lod;
  unsigned to_type;
  void* to_host;
  Address to_device;
  Handle to_array;
  void* to_context;
  size_t to_pitch, to_height;
  size_t width, height, depth;
};
static_assert(sizeof(Copy3D) == 200);

struct FillParams {
  Address to;
  size_t pitch;
  unsigned value, element_bytes;
  size_t width, height;
};

struct KernelParams {  // of a graph's node
  Handle function;
  unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes;
  void** params;
  void** extra;
  Handle kernel, context;
};

using HostFunction = void (*)(void* data);
using StreamCallback = void (*)(Handle stream, int status, void* data);
struct HostParams {
  HostFunction function;
  void* data;
};

struct Location {
  int type;  // 0: none, 1: a device, 2: the host, 3: a NUMA node of it, 4: the thread's
  int id;
};
struct PoolProperties {
  int allocation_type, handle_types;
  Location location;
  void* security;
  size_t max_size;
  unsigned short usage;
  unsigned char rest[54];
};
struct AccessDescription {
  Location location;
  int flags;
};
struct AllocParams {  // of a graph's node
  PoolProperties pool;
  const AccessDescription* access;
  size_t access_count, bytes;
  Address address;
};
static_assert(sizeof(AllocParams) == 120);

struct ConditionalParams {  // of a graph's node
  Address handle;
  unsigned type, size;  // 0: if, 1: while, 2: switch; how many bodies
  void** bodies;        // the driver gives it
  Handle context;
};
struct NodeParams {  // of a node of any kind
  int type, unused[3];
  union {
    KernelParams kernel;
    struct {
      int flags, unused;
      Handle context;
      Copy3D copy;
    } copy;
    FillParams fill;
    HostParams host;
    Handle handle;  // of a graph, of an event
    AllocParams allocation;
    Address address;
    ConditionalParams conditional;
    int64_t words[29];
  };
  int64_t last;
};
static_assert(sizeof(NodeParams) == 256);

struct Uuid {
  unsigned char bytes[16];
};
struct DeviceProperties {  // of cuDeviceGetProperties
  int max_threads, max_block[3], max_grid[3], shared_bytes, constant_bytes, warp_size, max_pitch, registers,
      clock_khz, texture_alignment;
};

}  // namespace triton_runner::driver
