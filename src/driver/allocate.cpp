// Implements the memory of the driver: what programs allocate, pin, register and free, and what they ask
// about pointers. Managed and pinned memory is memory like any other, as the device is this machine.
#include <cstring>
#include <new>

#include "calls.h"

namespace triton_runner::driver {
namespace {

Handle current() { return current_context() ? current_context()->handle : nullptr; }

Error allocate(Address* out, size_t bytes, Kind kind, const char* call, unsigned flags = 0) {
  if (!out || bytes == 0) return kInvalidValue;
  *out = 0;
  Block* block = state().blocks.allocate(bytes, kind, call);
  if (!block) return kOutOfMemory;
  block->context = current();
  block->flags = flags;
  *out = block->address;
  return kSuccess;
}

Address address_of(const void* pointer) { return reinterpret_cast<Address>(pointer); }

// --- pools

Pool* pool_of(Handle handle) { return state().pools.find(handle); }

constexpr int kPinnedMemory = 1, kManagedMemory = 2;  // types of allocations
constexpr Location kDevice{1, 0};

bool is_place(const Location& at, int allocation_type) {
  if (at.type == kDevice.type) return at.id == 0;
  return at.type >= (allocation_type == kManagedMemory ? 0 : 1) && at.type <= 4;
}

State::Pools& default_pools(const Location& at, int allocation_type) {
  State::Pools& out = state().default_pools[{allocation_type, at.type, at.type == kDevice.type ? at.id : 0}];
  if (!out.made) {
    auto pool = std::make_shared<Pool>();
    pool->is_default = true;
    pool->properties.allocation_type = allocation_type, pool->properties.location = at;
    out.made = state().pools.add(std::move(pool));
  }
  return out;
}
Handle current_pool(const Location& at, int allocation_type) {
  const State::Pools& pools = default_pools(at, allocation_type);
  return pools.now ? pools.now : pools.made;
}

Error choose_pool(Handle* out, const Location* at, int allocation_type, bool is_default) {
  if (!out || !at || (allocation_type != kPinnedMemory && allocation_type != kManagedMemory))
    return kInvalidValue;
  if (!is_place(*at, allocation_type)) return at->type == kDevice.type ? kInvalidDevice : kInvalidValue;
  *out = is_default ? default_pools(*at, allocation_type).made : current_pool(*at, allocation_type);
  return kSuccess;
}

Kind kind_of(const Pool& pool) {
  if (pool.properties.allocation_type == kManagedMemory) return Kind::kManaged;
  return pool.properties.location.type == kDevice.type ? Kind::kDevice : Kind::kPinned;
}

Error allocate_from(Address* out, size_t bytes, Handle pool_handle, Handle stream) {
  Pool* pool = pool_of(pool_handle);
  Stream* s = stream_of(stream);
  if (!pool || !s) return kInvalidHandle;
  if (!out) return kInvalidValue;
  *out = 0;
  if (bytes == 0) return kSuccess;
  if (s->capture) {
    auto memory = graph_memory(bytes);
    if (!memory) return kOutOfMemory;
    *out = memory->address;
    return submit(stream, AllocateBlock{std::move(memory)});
  }
  if (pool->properties.max_size && pool->used + bytes > pool->properties.max_size) return kOutOfMemory;
  if (const Error error = allocate(out, bytes, kind_of(*pool), "cuMemAllocAsync")) return error;
  state().blocks.starting_at(*out)->pool = pool_handle;
  pool->used += bytes;
  pool->most = std::max(pool->most, pool->used);
  if (Races* races = state().races.get()) races->begin(*s), races->allocated(*out);
  return kSuccess;
}

// Memory is given back when nothing uses it any more, unless by cuMemFreeAsync.
void wait_for_all() {
  const Context* context = current_context();
  if (Races* races = state().races.get(); races && context) races->host_saw_all(context->handle);
}

constexpr int kReservedCurrent = 5, kReservedMost = 6, kUsedCurrent = 7, kUsedMost = 8;
bool is_word(int attribute) { return attribute >= 1 && attribute <= 3; }  // an int; others are 64 bits

// --- what is asked about pointers

constexpr int kContextOf = 1, kMemoryTypeOf = 2, kDevicePointer = 3, kHostPointer = 4, kSyncOf = 6,
              kBufferId = 7, kIsManaged = 8, kOrdinal = 9, kIsIpc = 10, kRangeStart = 11, kRangeBytes = 12,
              kMapped = 13, kHandleTypes = 14, kIsRdma = 15, kAccess = 16, kPoolOf = 17, kLastAttribute = 22;

template <class T>
void put(void* out, T value) {
  std::memcpy(out, &value, sizeof value);
}

// false: there is no such attribute. A pointer that no block holds has the values of no memory.
bool put_attribute(void* out, int attribute, Block* block, Address pointer) {
  switch (attribute) {
    case kContextOf:
      return put(out, block ? block->context : nullptr), true;
    case kMemoryTypeOf:
      return put(out, block ? unsigned{block->is_host() ? kHostMemory : kDeviceMemory} : 0u), true;
    case kDevicePointer:
    case kRangeStart:
      return put(out, !block ? Address{0} : attribute == kRangeStart ? block->address : pointer), true;
    case kHostPointer:
      return put(out, block && (block->is_host() || block->kind == Kind::kManaged) ? pointer : Address{0}),
             true;
    case kRangeBytes:
      return put(out, block ? size_t{block->bytes} : size_t{0}), true;
    case kBufferId:
      return put(out, block ? block->number : uint64_t{0}), true;
    case kIsManaged:
      return put(out, unsigned{block && block->kind == Kind::kManaged}), true;
    case kOrdinal:
      return put(out, block ? 0 : -2), true;
    case kMapped:
      return put(out, unsigned{block != nullptr}), true;
    case kAccess:
      return put(out, block ? 3u : 0u), true;
    case kPoolOf:
      return put(out, block ? block->pool : nullptr), true;
    case kSyncOf:
    case kIsIpc:
    case kIsRdma:
      return put(out, 0u), true;
    case kHandleTypes:
      return put(out, uint64_t{0}), true;
    default:
      return false;
  }
}

}  // namespace

GraphMemory::~GraphMemory() {
  Block* block = state().blocks.starting_at(address);
  if (!block) return;
  block->is_of_graph = false;
  if (block->is_away) state().blocks.release(address);
}

std::shared_ptr<GraphMemory> graph_memory(size_t bytes) {
  Block* block = state().blocks.allocate(bytes, Kind::kDevice, "of a graph");
  if (!block) return nullptr;
  block->context = current();
  block->is_of_graph = block->is_away = true;
  return std::make_shared<GraphMemory>(block->address);
}

Error run_allocation(const AllocateBlock& allocation) {
  Block* block = state().blocks.starting_at(allocation.memory->address);
  if (!block) return kInvalidValue;
  if (!block->is_away)
    return refuse(kInvalidValue, "a graph allocates " + block->label + " before it was freed");
  block->is_away = false;
  if (Races* races = state().races.get()) races->allocated(block->address);
  return kSuccess;
}

Error release_block(Address address) {
  Block* block = state().blocks.starting_at(address);
  const bool is_own = block && !block->is_away && block->kind != Kind::kRegistered &&
                      block->kind != Kind::kVariable && (block->kind != Kind::kPinned || block->pool);
  if (!is_own) {
    const std::string was = state().blocks.freed(address);
    return was.empty() ? kInvalidValue : refuse(kInvalidValue, "cuMemFree: " + was + " was freed before");
  }
  if (Pool* pool = pool_of(block->pool)) pool->used -= block->bytes;
  if (block->is_of_graph) return state().blocks.set_aside(*block), kSuccess;
  state().blocks.release(address);
  return kSuccess;
}

namespace call {

Error cuMemGetInfo_v2(size_t* free, size_t* total) {
  if (!free || !total) return kInvalidValue;
  const Blocks& blocks = state().blocks;
  *total = blocks.total(), *free = blocks.total() - blocks.used();
  return kSuccess;
}

Error cuMemAlloc_v2(Address* out, size_t bytes) { return allocate(out, bytes, Kind::kDevice, "cuMemAlloc"); }

Error cuMemAllocPitch_v2(Address* out, size_t* pitch, size_t width, size_t height, unsigned element) {
  if (!pitch || width == 0 || height == 0) return kInvalidValue;
  if (element != 4 && element != 8 && element != 16) return kInvalidValue;
  if (width > state().blocks.total()) return kOutOfMemory;
  const size_t row = (width + 511) / 512 * 512;
  if (height > state().blocks.total() / row) return kOutOfMemory;
  *pitch = row;
  return allocate(out, row * height, Kind::kDevice, "cuMemAllocPitch");
}

Error cuMemAllocManaged(Address* out, size_t bytes, unsigned flags) {
  if (flags != 1 && flags != 2) return kInvalidValue;
  return allocate(out, bytes, Kind::kManaged, "cuMemAllocManaged", flags);
}

Error cuMemFree_v2(Address address) {
  if (address == 0) return kSuccess;
  wait_for_all();
  return release_block(address);
}

Error cuMemGetAddressRange_v2(Address* base, size_t* bytes, Address address) {
  const Block* block = state().blocks.find(address);
  if (!block) return kNotFound;
  if (base) *base = block->address;
  if (bytes) *bytes = block->bytes;
  return kSuccess;
}

Error cuMemHostAlloc(void** out, size_t bytes, unsigned flags) {
  if (!out || flags > 7) return kInvalidValue;
  Address address = 0;
  const Error error = allocate(&address, bytes, Kind::kPinned, "cuMemHostAlloc", flags);
  *out = reinterpret_cast<void*>(address);
  return error;
}
Error cuMemAllocHost_v2(void** out, size_t bytes) { return cuMemHostAlloc(out, bytes, 0); }

Error cuMemFreeHost(void* pointer) {
  if (!pointer) return kSuccess;
  const Block* block = state().blocks.starting_at(address_of(pointer));
  if (!block || block->kind != Kind::kPinned || block->pool) return kInvalidValue;
  wait_for_all();
  state().blocks.release(block->address);
  return kSuccess;
}

Error cuMemHostGetDevicePointer_v2(Address* out, void* pointer, unsigned flags) {
  if (!out || flags) return kInvalidValue;
  *out = 0;
  const Block* block = state().blocks.find(address_of(pointer));
  if (!block || !block->is_host()) return kInvalidValue;
  *out = address_of(pointer);
  return kSuccess;
}

Error cuMemHostGetFlags(unsigned* out, void* pointer) {
  const Block* block = state().blocks.find(address_of(pointer));
  if (!out || !block || block->kind != Kind::kPinned) return kInvalidValue;
  *out = block->flags;
  return kSuccess;
}

Error cuMemHostRegister_v2(void* pointer, size_t bytes, unsigned flags) {
  if (!pointer || bytes == 0 || flags > 15) return kInvalidValue;
  const Address address = address_of(pointer);
  if (bytes > ~address) return kInvalidValue;
  Blocks& blocks = state().blocks;
  if (blocks.find(address) || blocks.find(address + bytes - 1)) return kHostMemoryAlreadyRegistered;
  Block* block = blocks.add(address, bytes, Kind::kRegistered, "");
  block->label =
      "block " + std::to_string(block->number) + " (cuMemHostRegister, " + std::to_string(bytes) + " bytes)";
  block->context = current(), block->flags = flags;
  constexpr unsigned kReadOnly = 8;
  block->is_writable = !(flags & kReadOnly);
  return kSuccess;
}
Error cuMemHostRegister(void* pointer, size_t bytes, unsigned flags) {
  return cuMemHostRegister_v2(pointer, bytes, flags);
}

Error cuMemHostUnregister(void* pointer) {
  const Block* block = state().blocks.starting_at(address_of(pointer));
  if (!block || block->kind != Kind::kRegistered) return kHostMemoryNotRegistered;
  state().blocks.release(block->address);
  return kSuccess;
}

Error cuPointerGetAttribute(void* out, int attribute, Address pointer) {
  if (!out || attribute < 1 || attribute > kLastAttribute) return kInvalidValue;
  Block* block = state().blocks.find(pointer);
  if (!block) return kInvalidValue;
  return put_attribute(out, attribute, block, pointer) ? kSuccess : kNotSupported;
}

Error cuPointerGetAttributes(unsigned count, int* attributes, void** out, Address pointer) {
  if (!attributes || !out || count == 0) return kInvalidValue;
  Block* block = state().blocks.find(pointer);
  for (unsigned i = 0; i < count; ++i) {
    if (!out[i] || attributes[i] < 1 || attributes[i] > kLastAttribute) return kInvalidValue;
    if (!put_attribute(out[i], attributes[i], block, pointer)) return kNotSupported;
  }
  return kSuccess;
}

Error cuPointerSetAttribute(const void* value, int attribute, Address pointer) {
  if (!value || attribute != kSyncOf) return kInvalidValue;
  return state().blocks.find(pointer) ? kSuccess : kInvalidValue;
}

Error cuMemAllocAsync(Address* out, size_t bytes, Handle stream) {
  Handle pool = nullptr;
  cuDeviceGetMemPool(&pool, 0);
  return allocate_from(out, bytes, pool, stream);
}
Error cuMemAllocFromPoolAsync(Address* out, size_t bytes, Handle pool, Handle stream) {
  return allocate_from(out, bytes, pool, stream);
}
Error cuMemFreeAsync(Address address, Handle stream) {
  if (!stream_of(stream)) return kInvalidHandle;
  if (address == 0) return kSuccess;  // what an allocation of no bytes gives
  if (!state().blocks.starting_at(address)) return kInvalidValue;
  return submit(stream, ReleaseBlock{address});
}

Error cuDeviceGetDefaultMemPool(Handle* out, int device) {
  if (device != 0) return kInvalidDevice;
  return choose_pool(out, &kDevice, kPinnedMemory, true);
}
Error cuDeviceGetMemPool(Handle* out, int device) {
  if (device != 0) return kInvalidDevice;
  return choose_pool(out, &kDevice, kPinnedMemory, false);
}
Error cuDeviceSetMemPool(int device, Handle pool) {
  if (device != 0) return kInvalidDevice;
  return cuMemSetMemPool(&kDevice, kPinnedMemory, pool);
}
Error cuMemGetDefaultMemPool(Handle* out, const Location* at, int allocation_type) {
  return choose_pool(out, at, allocation_type, true);
}
Error cuMemGetMemPool(Handle* out, const Location* at, int allocation_type) {
  return choose_pool(out, at, allocation_type, false);
}
Error cuMemSetMemPool(const Location* at, int allocation_type, Handle handle) {
  Handle now = nullptr;
  if (const Error error = choose_pool(&now, at, allocation_type, false)) return error;
  const Pool* pool = pool_of(handle);
  if (!pool || pool->properties.allocation_type != allocation_type) return kInvalidValue;
  default_pools(*at, allocation_type).now = handle;
  return kSuccess;
}

Error cuMemPoolCreate(Handle* out, const PoolProperties* properties) {
  if (!out || !properties) return kInvalidValue;
  const int type = properties->allocation_type;
  if (type != kPinnedMemory && type != kManagedMemory) return kInvalidValue;
  if (properties->handle_types != 0) return kNotSupported;  // pools that processes share
  const Location& at = properties->location;
  if (!is_place(at, type)) return at.type == kDevice.type ? kInvalidDevice : kInvalidValue;
  auto pool = std::make_shared<Pool>();
  pool->properties = *properties;
  *out = state().pools.add(std::move(pool));
  return kSuccess;
}

Error cuMemPoolDestroy(Handle handle) {
  const Pool* pool = pool_of(handle);
  if (!pool || pool->is_default) return kInvalidValue;
  for (auto& [place, pools] : state().default_pools)
    if (pools.now == handle) pools.now = nullptr;
  state().pools.remove(handle);
  return kSuccess;
}

Error cuMemPoolSetAttribute(Handle handle, int attribute, void* value) {
  Pool* pool = pool_of(handle);
  if (!pool || !value || attribute < 1 || attribute > 8) return kInvalidValue;
  uint64_t given = 0;
  std::memcpy(&given, value, is_word(attribute) ? 4 : 8);
  if (attribute == kReservedMost || attribute == kUsedMost) {
    if (given != 0) return kInvalidValue;
    pool->most = pool->used;
    return kSuccess;
  }
  if (attribute >= kReservedCurrent) return kInvalidValue;
  pool->attributes[attribute] = given;
  return kSuccess;
}

Error cuMemPoolGetAttribute(Handle handle, int attribute, void* out) {
  Pool* pool = pool_of(handle);
  if (!pool || !out) return kInvalidValue;
  if (is_word(attribute)) {
    auto it = pool->attributes.find(attribute);
    put(out, it == pool->attributes.end() ? 1 : static_cast<int>(it->second));
    return kSuccess;
  }
  switch (attribute) {
    case 4:
      return put(out, pool->attributes[4]), kSuccess;
    case kReservedCurrent:
    case kUsedCurrent:
      return put(out, pool->used), kSuccess;
    case kReservedMost:
    case kUsedMost:
      return put(out, pool->most), kSuccess;
    case 9:
      return put(out, pool->properties.allocation_type), kSuccess;
    case 10:
      return put(out, pool->properties.handle_types), kSuccess;
    case 11:
      return put(out, pool->properties.location.id), kSuccess;
    case 12:
      return put(out, pool->properties.location.type), kSuccess;
    case 13:
      return put(out, uint64_t{pool->properties.max_size}), kSuccess;
    default:
      return kInvalidValue;
  }
}

Error cuMemPoolTrimTo(Handle handle, size_t) { return pool_of(handle) ? kSuccess : kInvalidValue; }
Error cuMemPoolSetAccess(Handle handle, const AccessDescription* map, size_t count) {
  if (!pool_of(handle) || (count && !map)) return kInvalidValue;
  for (size_t i = 0; i < count; ++i)
    if (map[i].location.type == 1 && map[i].location.id != 0) return kInvalidDevice;
  return kSuccess;
}
Error cuMemPoolGetAccess(int* out, Handle handle, const Location* location) {
  if (!out || !pool_of(handle) || !location) return kInvalidValue;
  if (location->type == 1 && location->id != 0) return kInvalidDevice;
  *out = 3;  // read and write
  return kSuccess;
}

}  // namespace call
}  // namespace triton_runner::driver
