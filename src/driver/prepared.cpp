// Launches through the first interface, which PyCUDA uses: a function keeps its block, its shared memory and the bytes
// of its parameters.
#include <algorithm>

#include "calls.h"

namespace triton_runner::driver {
namespace {

constexpr size_t kMostBytes = 32764;  // of parameters

Error set_bytes(Handle handle, int offset, const void* from, size_t bytes) {
  Function* f = function_of(handle);
  if (!f) return kInvalidHandle;
  if (offset < 0 || bytes > kMostBytes || static_cast<size_t>(offset) + bytes > kMostBytes)
    return kInvalidValue;
  std::vector<std::byte> value(bytes);
  const auto to = reinterpret_cast<Address>(value.data());
  if (bytes && !copy_memory(to, reinterpret_cast<Address>(from), bytes, true)) return kInvalidValue;
  std::vector<std::byte>& all = f->prepared.params;
  const auto begin = static_cast<size_t>(offset);
  if (all.size() < begin + bytes) all.resize(begin + bytes);
  std::copy(value.begin(), value.end(), all.begin() + offset);
  return kSuccess;
}

}  // namespace

namespace call {

Error cuFuncSetBlockShape(Handle handle, int x, int y, int z) {
  Function* f = function_of(handle);
  if (!f) return kInvalidHandle;
  if (x < 1 || y < 1 || z < 1) return kInvalidValue;
  f->prepared.block = {static_cast<unsigned>(x), static_cast<unsigned>(y), static_cast<unsigned>(z)};
  return kSuccess;
}

Error cuFuncSetSharedSize(Handle handle, unsigned bytes) {
  Function* f = function_of(handle);
  if (!f) return kInvalidHandle;
  f->prepared.shared_bytes = bytes;
  return kSuccess;
}

Error cuParamSetSize(Handle handle, unsigned bytes) {
  Function* f = function_of(handle);
  if (!f) return kInvalidHandle;
  if (bytes > kMostBytes) return kInvalidValue;
  f->prepared.params.resize(bytes);
  return kSuccess;
}
Error cuParamSeti(Handle handle, int offset, unsigned value) {
  return set_bytes(handle, offset, &value, sizeof value);
}
Error cuParamSetf(Handle handle, int offset, float value) {
  return set_bytes(handle, offset, &value, sizeof value);
}
Error cuParamSetv(Handle handle, int offset, void* from, unsigned bytes) {
  return set_bytes(handle, offset, from, bytes);
}

Error cuLaunchGridAsync(Handle handle, int width, int height, Handle stream) {
  Function* f = function_of(handle);
  if (!f) return kInvalidHandle;
  if (width < 1 || height < 1) return kInvalidValue;
  const auto& [block, shared, params] = f->prepared;
  std::byte none{};
  size_t bytes = params.size();
  void* extra[] = {to_handle(1), bytes ? const_cast<std::byte*>(params.data()) : &none, to_handle(2), &bytes,
                   nullptr};
  return cuLaunchKernel(handle, static_cast<unsigned>(width), static_cast<unsigned>(height), 1, block[0],
                        block[1], block[2], shared, stream, nullptr, extra);
}
Error cuLaunchGrid(Handle handle, int width, int height) {
  return cuLaunchGridAsync(handle, width, height, nullptr);
}
Error cuLaunch(Handle handle) { return cuLaunchGrid(handle, 1, 1); }

}  // namespace call
}  // namespace triton_runner::driver
