// Implements advice about managed memory. It changes nothing here, where the device is this machine, and is kept for
// programs that ask for it; for a whole block.
#include <algorithm>
#include <cstring>
#include <vector>

#include "calls.h"

namespace triton_runner::driver {
namespace {

constexpr int kOnDevice = 1, kOnHost = 2;   // types of a Location
constexpr int kNobody = -2, kTheHost = -1;  // in place of a device's number

Block* managed_block(Address address, size_t bytes) {
  Block* block = bytes ? state().blocks.find(address, bytes) : nullptr;
  return block && block->kind == Kind::kManaged ? block : nullptr;
}

Location place_of(int device) {
  return device == kTheHost ? Location{kOnHost, 0} : Location{kOnDevice, device};
}
int device_of(const Location& at) { return at.type == 0 ? kNobody : at.type == kOnDevice ? at.id : kTheHost; }

// Checks the pieces of managed memory that a batch names.
Error check_batch(const Address* at, const size_t* bytes, size_t count, uint64_t flags, Handle stream) {
  if (!stream_of(stream)) return kInvalidHandle;
  if (!at || !bytes || count == 0 || flags) return kInvalidValue;
  for (size_t i = 0; i < count; ++i)
    if (!managed_block(at[i], bytes[i])) return kInvalidValue;
  return kSuccess;
}

}  // namespace

namespace call {

Error cuMemAdvise_v2(Address address, size_t bytes, int advice, Location at) {
  constexpr int kReadMostly = 1, kNotReadMostly = 2, kPreferred = 3, kNotPreferred = 4, kAccessed = 5,
                kNotAccessed = 6;
  if (advice < kReadMostly || advice > kNotAccessed) return kInvalidValue;
  Block* block = managed_block(address, bytes);
  if (!block) return kInvalidValue;
  if (advice == kReadMostly || advice == kNotReadMostly)
    return block->advice.is_read_mostly = advice == kReadMostly, kSuccess;
  if (advice == kNotPreferred) return block->advice.preferred = {}, kSuccess;
  if (at.type == kOnDevice && at.id != 0) return kInvalidDevice;
  if (at.type < 1 || at.type > 4) return kInvalidValue;
  if (advice == kPreferred) return block->advice.preferred = at, kSuccess;
  (at.type == kOnDevice ? block->advice.by_device : block->advice.by_host) = advice == kAccessed;
  return kSuccess;
}
Error cuMemAdvise(Address address, size_t bytes, int advice, int device) {
  return cuMemAdvise_v2(address, bytes, advice, place_of(device));
}

Error cuMemPrefetchAsync_v2(Address address, size_t bytes, Location at, unsigned, Handle stream) {
  if (!stream_of(stream)) return kInvalidHandle;
  if (at.type == kOnDevice && at.id != 0) return kInvalidDevice;
  Block* block = managed_block(address, bytes);
  if (!block) return kInvalidValue;
  block->advice.fetched = at;
  return kSuccess;
}
Error cuMemPrefetchAsync(Address address, size_t bytes, int device, Handle stream) {
  return cuMemPrefetchAsync_v2(address, bytes, place_of(device), 0, stream);
}

// Place k is that of the pieces from first[k] to first[k + 1].
Error cuMemPrefetchBatchAsync(Address* at, size_t* bytes, size_t count, Location* places, size_t* first,
                              size_t places_count, uint64_t flags, Handle stream) {
  if (const Error error = check_batch(at, bytes, count, flags, stream)) return error;
  if (!places || !first || places_count == 0 || places_count > count || first[0] != 0) return kInvalidValue;
  for (size_t k = 0; k < places_count; ++k) {
    if (first[k] >= count || (k && first[k] <= first[k - 1])) return kInvalidValue;
    const size_t end = k + 1 < places_count ? std::min(first[k + 1], count) : count;
    for (size_t i = first[k]; i < end; ++i)
      if (const Error error = cuMemPrefetchAsync_v2(at[i], bytes[i], places[k], 0, stream)) return error;
  }
  return kSuccess;
}
// Discarded memory keeps its bytes, which is allowed: nobody may read them before they are written.
Error cuMemDiscardBatchAsync(Address* at, size_t* bytes, size_t count, uint64_t flags, Handle stream) {
  return check_batch(at, bytes, count, flags, stream);
}
Error cuMemDiscardAndPrefetchBatchAsync(Address* at, size_t* bytes, size_t count, Location* places,
                                        size_t* first, size_t places_count, uint64_t flags, Handle stream) {
  return cuMemPrefetchBatchAsync(at, bytes, count, places, first, places_count, flags, stream);
}

Error cuMemRangeGetAttribute(void* out, size_t out_bytes, int attribute, Address address, size_t bytes) {
  const Block* block = managed_block(address, bytes);
  if (!out || out_bytes == 0 || out_bytes % sizeof(int) || !block || attribute < 1) return kInvalidValue;
  const auto& a = block->advice;
  constexpr int kAccessed = 3;
  const int single[] = {0,
                        int{a.is_read_mostly},
                        device_of(a.preferred),
                        0,
                        device_of(a.fetched),
                        a.preferred.type,
                        a.preferred.id,
                        a.fetched.type,
                        a.fetched.id};
  if (attribute >= static_cast<int>(std::size(single))) return kNotSupported;
  std::vector<int> values{single[attribute]};
  if (attribute == kAccessed) {
    values.clear();
    if (a.by_device) values.push_back(0);
    if (a.by_host) values.push_back(kTheHost);
    values.resize(out_bytes / sizeof(int), kNobody);
  }
  if (values.size() * sizeof(int) != out_bytes) return kInvalidValue;
  std::memcpy(out, values.data(), out_bytes);
  return kSuccess;
}
Error cuMemRangeGetAttributes(void** out, size_t* out_bytes, int* attributes, size_t count, Address address,
                              size_t bytes) {
  if (!out || !out_bytes || !attributes || count == 0) return kInvalidValue;
  for (size_t i = 0; i < count; ++i)
    if (const Error error = cuMemRangeGetAttribute(out[i], out_bytes[i], attributes[i], address, bytes))
      return error;
  return kSuccess;
}

}  // namespace call
}  // namespace triton_runner::driver
