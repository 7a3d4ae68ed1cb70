// Implements contexts: the device's primary one, those that programs make, and which is current on a thread.
#include <utility>

#include "calls.h"

namespace triton_runner::driver {
namespace {

constexpr unsigned kFlags = 0xff;

Handle make_context(unsigned flags, bool is_primary) {
  State& s = state();
  auto context = std::make_shared<Context>();
  context->flags = flags, context->is_primary = is_primary, context->id = ++s.ids;
  context->limits = {{0, 1024}, {1, 1 << 20}, {2, 8 << 20}, {3, 2}, {4, 2048}, {5, 64}, {6, 0}};
  Context& c = *context;
  c.handle = s.contexts.add(std::move(context));
  for (Stream* stream : {&c.legacy, &c.per_thread}) stream->context = c.handle, stream->id = ++s.ids;
  return c.handle;
}

// All that lives in a context.
void clear(Handle handle) {
  State& s = state();
  s.streams.remove_all([&](const Stream& x) { return x.context == handle; });
  s.events.remove_all([&](const Event& x) { return x.context == handle; });
  const auto is_of_context = [&](const Module& x) { return x.context == handle && !x.library; };
  for (const auto& [of, module] : s.modules)
    if (is_of_context(*module)) forget(*module);
  s.modules.remove_all(is_of_context);
  s.blocks.release_all([&](const Block& b) { return b.context == handle && b.kind != Kind::kVariable; });
}

void destroy(Handle handle) {
  clear(handle);
  state().contexts.remove(handle);
}

bool is_primary_alive() { return state().primary != nullptr; }

}  // namespace

namespace call {

Error cuDevicePrimaryCtxRetain(Handle* out, int device) {
  if (!out) return kInvalidValue;
  if (device != 0) return kInvalidDevice;
  State& s = state();
  if (!is_primary_alive()) s.primary = make_context(s.primary_flags, true);
  ++s.primary_uses;
  *out = s.primary;
  return kSuccess;
}

Error cuDevicePrimaryCtxRelease_v2(int device) {
  if (device != 0) return kInvalidDevice;
  State& s = state();
  if (s.primary_uses == 0) return kInvalidContext;
  if (--s.primary_uses == 0) destroy(std::exchange(s.primary, nullptr));
  return kSuccess;
}
Error cuDevicePrimaryCtxRelease(int device) { return cuDevicePrimaryCtxRelease_v2(device); }

// The handle stays what it was, for those who retained it.
Error cuDevicePrimaryCtxReset_v2(int device) {
  if (device != 0) return kInvalidDevice;
  State& s = state();
  if (!is_primary_alive()) return kSuccess;
  clear(s.primary);
  Context& context = *s.contexts.find(s.primary);
  context.fault = kSuccess;
  for (Stream* stream : {&context.legacy, &context.per_thread})
    stream->capture = nullptr, stream->last.clear();
  return kSuccess;
}
Error cuDevicePrimaryCtxReset(int device) { return cuDevicePrimaryCtxReset_v2(device); }

Error cuDevicePrimaryCtxGetState(int device, unsigned* flags, int* is_active) {
  if (!flags || !is_active) return kInvalidValue;
  if (device != 0) return kInvalidDevice;
  *flags = state().primary_flags, *is_active = is_primary_alive();
  return kSuccess;
}

Error cuDevicePrimaryCtxSetFlags_v2(int device, unsigned flags) {
  if (device != 0) return kInvalidDevice;
  if (flags > kFlags) return kInvalidValue;
  State& s = state();
  s.primary_flags = flags;
  if (Context* context = s.contexts.find(s.primary)) context->flags = flags;
  return kSuccess;
}
Error cuDevicePrimaryCtxSetFlags(int device, unsigned flags) {
  return cuDevicePrimaryCtxSetFlags_v2(device, flags);
}

Error cuCtxCreate_v4(Handle* out, void*, unsigned flags, int device) {
  if (!out || flags > kFlags) return kInvalidValue;
  if (device != 0) return kInvalidDevice;
  *out = make_context(flags, false);
  context_stack().push_back(*out);
  return kSuccess;
}
Error cuCtxCreate_v2(Handle* out, unsigned flags, int device) {
  return cuCtxCreate_v4(out, nullptr, flags, device);
}
Error cuCtxCreate(Handle* out, unsigned flags, int device) { return cuCtxCreate_v2(out, flags, device); }
Error cuCtxCreate_v3(Handle* out, void* affinity, int count, unsigned flags, int device) {
  if (affinity || count) return kNotSupported;
  return cuCtxCreate_v4(out, nullptr, flags, device);
}

Error cuCtxDestroy_v2(Handle handle) {
  Context* context = state().contexts.find(handle);
  if (!context || context->is_primary) return kInvalidContext;
  std::vector<Handle>& stack = context_stack();
  if (!stack.empty() && stack.back() == handle) stack.pop_back();
  destroy(handle);
  return kSuccess;
}
Error cuCtxDestroy(Handle handle) { return cuCtxDestroy_v2(handle); }

Error cuCtxAttach(Handle* out, unsigned flags) {
  if (!out || flags) return kInvalidValue;
  Context& context = *current_context();
  if (context.is_primary) return kInvalidContext;
  ++context.uses;
  *out = context.handle;
  return kSuccess;
}
Error cuCtxDetach(Handle handle) {
  Context* context = state().contexts.find(handle);
  if (!context || context->is_primary || context != current_context()) return kInvalidContext;
  return --context->uses ? kSuccess : cuCtxDestroy_v2(handle);
}

Error cuCtxPushCurrent_v2(Handle handle) {
  if (!state().contexts.find(handle)) return kInvalidContext;
  context_stack().push_back(handle);
  return kSuccess;
}
Error cuCtxPushCurrent(Handle handle) { return cuCtxPushCurrent_v2(handle); }

Error cuCtxPopCurrent_v2(Handle* out) {
  std::vector<Handle>& stack = context_stack();
  if (stack.empty()) return kInvalidContext;
  if (out) *out = stack.back();
  stack.pop_back();
  return kSuccess;
}
Error cuCtxPopCurrent(Handle* out) { return cuCtxPopCurrent_v2(out); }

Error cuCtxSetCurrent(Handle handle) {
  if (handle && !state().contexts.find(handle)) return kInvalidContext;
  std::vector<Handle>& stack = context_stack();
  if (!stack.empty()) stack.pop_back();
  if (handle) stack.push_back(handle);
  return kSuccess;
}

Error cuCtxGetCurrent(Handle* out) {
  return give(out, context_stack().empty() ? nullptr : context_stack().back());
}

Error cuCtxGetDevice(int* out) { return give(out, 0); }
Error cuCtxGetDevice_v2(int* out, Handle handle) {
  if (!out) return kInvalidValue;
  if (handle ? !state().contexts.find(handle) : !current_context()) return kInvalidContext;
  *out = 0;
  return kSuccess;
}

Error cuCtxGetFlags(unsigned* out) { return give(out, current_context()->flags); }

Error cuCtxSetFlags(unsigned flags) {
  if (flags > kFlags) return kInvalidValue;
  current_context()->flags = flags;
  return kSuccess;
}

Error cuCtxGetId(Handle handle, uint64_t* out) {
  if (!out) return kInvalidValue;
  const Context* context = handle ? state().contexts.find(handle) : current_context();
  if (!context) return kInvalidContext;
  *out = context->id;
  return kSuccess;
}

Error cuCtxSynchronize() {
  State& s = state();
  for (const auto& [handle, stream] : s.streams)
    if (stream->capture && stream->context == current_context()->handle) return kStreamCaptureUnsupported;
  if (s.races) s.races->host_saw_all(current_context()->handle);
  return kSuccess;  // everything was executed when it was asked for
}
Error cuCtxSynchronize_v2(Handle handle) {
  const Context* context = handle ? state().contexts.find(handle) : current_context();
  if (!context) return kInvalidContext;
  if (Races* races = state().races.get()) races->host_saw_all(context->handle);
  return context->fault;
}

constexpr int kMallocHeapSize = 2;  // CU_LIMIT_MALLOC_HEAP_SIZE: refused once a kernel has asked for memory

Error cuCtxSetLimit(int limit, size_t value) {
  auto& limits = current_context()->limits;
  if (limit < 0 || limit > 10) return kInvalidValue;
  auto it = limits.find(limit);
  if (it == limits.end()) return kUnsupportedLimit;
  if (limit == kMallocHeapSize && !current_context()->heap->set_limit(value)) return kInvalidValue;
  it->second = value;
  return kSuccess;
}

Error cuCtxGetLimit(size_t* out, int limit) {
  if (!out || limit < 0 || limit > 10) return kInvalidValue;
  const auto& limits = current_context()->limits;
  auto it = limits.find(limit);
  if (it == limits.end()) return kUnsupportedLimit;
  *out = it->second;
  return kSuccess;
}

Error cuCtxGetCacheConfig(int* out) { return give(out, 0); }
Error cuCtxSetCacheConfig(int config) { return config >= 0 && config <= 3 ? kSuccess : kInvalidValue; }
Error cuCtxGetSharedMemConfig(int* out) {
  return give(out, 1);  // banks of four bytes
}
Error cuCtxSetSharedMemConfig(int config) { return config >= 0 && config <= 2 ? kSuccess : kInvalidValue; }

Error cuCtxGetApiVersion(Handle handle, unsigned* out) {
  if (!out) return kInvalidValue;
  const Context* context = handle ? state().contexts.find(handle) : current_context();
  if (!context) return kInvalidContext;
  *out = context->version;
  return kSuccess;
}

Error cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  if (least) *least = 0;
  if (greatest) *greatest = -5;
  return kSuccess;
}

Error cuCtxResetPersistingL2Cache() { return kSuccess; }
Error cuCtxEnablePeerAccess(Handle, unsigned) { return kPeerAccessUnsupported; }
Error cuCtxDisablePeerAccess(Handle) { return kPeerAccessNotEnabled; }

}  // namespace call
}  // namespace triton_runner::driver
