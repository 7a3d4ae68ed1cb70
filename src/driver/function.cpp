// Answers what programs ask about functions, and how many blocks of one an SM holds.
#include <algorithm>

#include <triton_runner/artifact/occupancy.h>
#include <triton_runner/ptx/liveness.h>
#include <triton_runner/simt/simt.h>

#include "calls.h"

namespace triton_runner::driver {
namespace {

enum Attribute : int {
  kMaxThreads,
  kSharedBytes,
  kConstantBytes,
  kLocalBytes,
  kRegisters,
  kPtxVersion,
  kBinaryVersion,
  kCacheModeCa,
  kMaxDynamicShared,
  kCarveout,
  kClusterMustBeSet,
  kClusterWidth,
  kClusterHeight,
  kClusterDepth,
  kNonPortable,
  kClusterPolicy,
};

// Registers of a thread: a cubin says them. Of PTX, most of what is alive at once; ptxas gives a number of its own.
int registers_of(Function& f) {
  if (f.registers == 0 && f.module->ptx) {
    const ptx::Function* entry = f.module->ptx->find_function(f.name);
    const auto words = static_cast<int>(ptx::pressure(*entry).words);
    f.registers = std::clamp(words, 16, entry->maxnreg ? static_cast<int>(entry->maxnreg) : 255);
  }
  return f.registers;
}

int capability_of(const Function& f) {
  return std::atoi(f.module->target.c_str() + std::min<size_t>(5, f.module->target.size()));
}

Error get(int* out, int attribute, Function& f) {
  auto set = f.settings.find(attribute);
  switch (attribute) {
    case kMaxThreads:
      return *out = f.max_threads, kSuccess;
    case kSharedBytes:
      return *out = static_cast<int>(f.static_shared), kSuccess;
    case kConstantBytes:
      return *out = f.constant_bytes, kSuccess;
    case kLocalBytes:
      return *out = f.local_bytes, kSuccess;
    case kRegisters:
      return *out = registers_of(f), kSuccess;
    case kPtxVersion:
      return *out = capability_of(f), kSuccess;
    case kBinaryVersion:
      return *out = state().chip.capability, kSuccess;
    case kMaxDynamicShared:
      return *out = set != f.settings.end() ? set->second : static_cast<int>((48 << 10) - f.static_shared),
             kSuccess;
    case kCarveout:
      return *out = set != f.settings.end() ? set->second : -1, kSuccess;
    case kClusterWidth:
    case kClusterHeight:
    case kClusterDepth:
      return *out = static_cast<int>(f.cluster[static_cast<size_t>(attribute - kClusterWidth)]), kSuccess;
    case kCacheModeCa:
    case kClusterMustBeSet:
    case kNonPortable:
    case kClusterPolicy:
      return *out = set != f.settings.end() ? set->second : 0, kSuccess;
    default:
      return kInvalidValue;
  }
}

Error set(Function& f, int attribute, int value) {
  const auto most = static_cast<int64_t>(simt::max_shared_bytes(state().chip.target()));
  switch (attribute) {
    case kMaxDynamicShared:
      if (value < 0 || value + f.static_shared > most) return kInvalidValue;
      break;
    case kCarveout:
      if (value < -1 || value > 100) return kInvalidValue;
      break;
    case kClusterMustBeSet:
    case kNonPortable:
    case kClusterPolicy:
      break;
    case kClusterWidth:
    case kClusterHeight:
    case kClusterDepth:
      if (value < 0 || value > 16) return kInvalidValue;
      f.cluster[static_cast<size_t>(attribute - kClusterWidth)] = static_cast<uint32_t>(value);
      break;
    default:
      return kInvalidValue;
  }
  f.settings[attribute] = value;
  return kSuccess;
}

Error info(Function* f, size_t index, size_t* offset, size_t* bytes) {
  if (!f) return kInvalidHandle;
  if (!offset || index >= f->params.size()) return kInvalidValue;
  *offset = f->params[index].offset;
  if (bytes) *bytes = f->params[index].bytes;
  return kSuccess;
}

int blocks_on_sm(Function& f, int threads, size_t shared) {
  const auto on_sm = artifact::occupancy(state().chip.target(), threads, registers_of(f),
                                         f.static_shared + static_cast<int64_t>(shared));
  return on_sm ? on_sm->blocks : 0;
}

}  // namespace

namespace call {

Error cuFuncGetAttribute(int* out, int attribute, Handle handle) {
  Function* f = function_of(handle);
  if (!f) return kInvalidHandle;
  return out ? get(out, attribute, *f) : kInvalidValue;
}
Error cuFuncSetAttribute(Handle handle, int attribute, int value) {
  Function* f = function_of(handle);
  return f ? set(*f, attribute, value) : kInvalidHandle;
}
Error cuFuncSetCacheConfig(Handle handle, int config) {
  if (!function_of(handle)) return kInvalidHandle;
  return config >= 0 && config <= 3 ? kSuccess : kInvalidValue;
}
Error cuFuncSetSharedMemConfig(Handle handle, int config) {
  if (!function_of(handle)) return kInvalidHandle;
  return config >= 0 && config <= 2 ? kSuccess : kInvalidValue;
}
Error cuFuncGetModule(Handle* out, Handle handle) {
  return give(function_of(handle), out, [](const Function& f) { return f.module->handle; });
}
Error cuFuncGetName(const char** out, Handle handle) {
  return give(function_of(handle), out, [](const Function& f) { return f.name.c_str(); });
}
Error cuFuncGetParamInfo(Handle handle, size_t index, size_t* offset, size_t* bytes) {
  return info(function_of(handle), index, offset, bytes);
}
Error cuFuncIsLoaded(int* out, Handle handle) {
  if (!function_of(handle)) return kInvalidHandle;
  return give(out, 1);
}
Error cuFuncLoad(Handle handle) { return function_of(handle) ? kSuccess : kInvalidHandle; }

Error cuKernelGetFunction(Handle* out, Handle handle) {
  return give(state().kernels.find(handle), out, &Function::handle);
}
Error cuKernelGetLibrary(Handle* out, Handle handle) {
  return give(state().kernels.find(handle), out, [](const Function& f) { return f.module->library; });
}
Error cuKernelGetAttribute(int* out, int attribute, Handle handle, int device) {
  if (device != 0) return kInvalidDevice;
  return cuFuncGetAttribute(out, attribute, handle);
}
Error cuKernelSetAttribute(int attribute, int value, Handle handle, int device) {
  if (device != 0) return kInvalidDevice;
  return cuFuncSetAttribute(handle, attribute, value);
}
Error cuKernelSetCacheConfig(Handle handle, int config, int device) {
  if (device != 0) return kInvalidDevice;
  return cuFuncSetCacheConfig(handle, config);
}
Error cuKernelGetName(const char** out, Handle handle) { return cuFuncGetName(out, handle); }
Error cuFuncGetParamCount(Handle handle, size_t* out) {
  return give(function_of(handle), out, [](const Function& f) { return f.params.size(); });
}
Error cuKernelGetParamCount(Handle handle, size_t* out) { return cuFuncGetParamCount(handle, out); }
Error cuKernelGetParamInfo(Handle handle, size_t index, size_t* offset, size_t* bytes) {
  return cuFuncGetParamInfo(handle, index, offset, bytes);
}

Error cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* out, Handle handle, int threads,
                                                           size_t shared, unsigned flags) {
  Function* f = function_of(handle);
  if (!f) return kInvalidHandle;
  if (!out || threads < 1 || flags > 1) return kInvalidValue;
  *out = threads > f->max_threads ? 0 : blocks_on_sm(*f, threads, shared);
  return kSuccess;
}
Error cuOccupancyMaxActiveBlocksPerMultiprocessor(int* out, Handle handle, int threads, size_t shared) {
  return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(out, handle, threads, shared, 0);
}

// The largest block of those with which an SM holds the most threads.
Error cuOccupancyMaxPotentialBlockSizeWithFlags(int* grid, int* block, Handle handle,
                                                size_t (*shared_of)(int), size_t shared, int limit,
                                                unsigned flags) {
  Function* f = function_of(handle);
  if (!f) return kInvalidHandle;
  if (!grid || !block || limit < 0 || flags > 1) return kInvalidValue;
  const int most = limit > 0 ? std::min(limit, f->max_threads) : f->max_threads;
  int best = 0, best_blocks = 0;
  for (int threads = (most + 31) / 32 * 32; threads > 0; threads -= 32) {
    const int asked = std::min(threads, most);
    size_t bytes = shared;
    if (shared_of) {
      Outside outside;
      bytes = shared_of(asked);
    }
    const int blocks = blocks_on_sm(*f, asked, bytes);
    if (blocks * asked > best * best_blocks) best = asked, best_blocks = blocks;
  }
  if (best == 0) return kInvalidValue;
  *block = best, *grid = best_blocks * state().chip.sms;
  return kSuccess;
}
Error cuOccupancyMaxPotentialBlockSize(int* grid, int* block, Handle handle, size_t (*shared_of)(int),
                                       size_t shared, int limit) {
  return cuOccupancyMaxPotentialBlockSizeWithFlags(grid, block, handle, shared_of, shared, limit, 0);
}

Error cuOccupancyAvailableDynamicSMemPerBlock(size_t* out, Handle handle, int blocks, int threads) {
  Function* f = function_of(handle);
  if (!f) return kInvalidHandle;
  if (!out || blocks < 1 || threads < 1 || threads > f->max_threads) return kInvalidValue;
  const int64_t most = most_dynamic_shared(*f);
  for (int64_t bytes = most / 128 * 128; bytes >= 0; bytes -= 128)
    if (blocks_on_sm(*f, threads, static_cast<size_t>(bytes)) >= blocks)
      return *out = static_cast<size_t>(bytes), kSuccess;
  return kInvalidValue;
}

Error cuOccupancyMaxPotentialClusterSize(int* out, Handle handle, const LaunchConfig* config) {
  const Function* f = function_of(handle);
  if (!f) return kInvalidHandle;
  if (!out || !config) return kInvalidValue;
  auto allowed = f->settings.find(kNonPortable);
  *out = state().chip.capability < 90 ? 1 : allowed != f->settings.end() && allowed->second ? 16 : 8;
  return kSuccess;
}

Error cuOccupancyMaxActiveClusters(int* out, Handle handle, const LaunchConfig* config) {
  Function* f = function_of(handle);
  if (!f) return kInvalidHandle;
  if (!out || !config) return kInvalidValue;
  const uint64_t threads = uint64_t{config->block_x} * config->block_y * config->block_z;
  if (threads == 0 || threads > 1024 || (config->num_attributes && !config->attributes)) return kInvalidValue;
  uint64_t cluster = 1;
  for (uint32_t axis : f->cluster) cluster *= std::max(axis, 1u);
  for (unsigned i = 0; i < config->num_attributes; ++i)
    if (const LaunchAttribute& a = config->attributes[i]; a.id == device::cuda::kLaunchClusterDimension)
      cluster = uint64_t{a.value.dim.x} * a.value.dim.y * a.value.dim.z;
  if (cluster == 0 || cluster > 16) return kInvalidClusterSize;
  const int blocks = blocks_on_sm(*f, static_cast<int>(threads), config->shared_bytes) * state().chip.sms;
  *out = static_cast<int>(static_cast<uint64_t>(blocks) / cluster);
  return kSuccess;
}

}  // namespace call
}  // namespace triton_runner::driver
