// Memory finds the allocation that an address lies in: among the sorted ones of a launch, else by its resolve
// function.
#include <triton_runner/exec/memory.h>

#include <algorithm>
#include <list>
#include <mutex>

#include <triton_runner/exec/beside.h>

namespace triton_runner::exec {
namespace {

bool holds(const Allocation& a, uint64_t address, uint64_t bytes) {
  return address >= a.address && bytes <= a.bytes && address - a.address <= a.bytes - bytes;
}

}  // namespace

struct Memory::Found {
  std::mutex mutex;
  std::list<Allocation> list;  // they stay where they are: views remember them
  bool has_whole = false;
  const Allocation* holding(uint64_t address, uint64_t bytes) const {
    for (const Allocation& a : list)
      if (holds(a, address, bytes)) return &a;
    return nullptr;
  }
};

const Memory::Whole Memory::kNoWhole;

Memory::Memory(std::span<const Allocation> allocations, const Resolve& resolve, const Whole& whole)
    : allocations_(allocations.begin(), allocations.end()),
      found_(std::make_unique<Found>()),
      resolve_(resolve),
      whole_(whole) {
  std::sort(allocations_.begin(), allocations_.end(), [](const Allocation& a, const Allocation& b) {
    return a.address != b.address ? a.address < b.address : a.bytes > b.bytes;
  });
}

Memory::~Memory() = default;

const Allocation* Memory::known(uint64_t address, uint64_t bytes, uint32_t owner) const {
  auto after = std::upper_bound(allocations_.begin(), allocations_.end(), address,
                                [](uint64_t a, const Allocation& b) { return a < b.address; });
  // Views of one storage overlap, so that the nearest start may not be the one that reaches far enough.
  for (auto it = after; it != allocations_.begin();)
    if (--it; holds(*it, address, bytes) && (!owner || it->owner == owner)) return &*it;
  if (owner || hides(address)) return nullptr;
  std::lock_guard lock(found_->mutex);
  return found_->holding(address, bytes);
}

const Allocation* Memory::find(uint64_t address, uint64_t bytes, uint32_t owner) const {
  if (const Allocation* a = known(address, bytes, owner); a || owner || hides(address)) return a;
  std::lock_guard lock(found_->mutex);
  if (whole_ && !found_->has_whole) {
    found_->has_whole = true;
    for (Allocation& a : whole_()) found_->list.push_back(std::move(a));
  }
  if (const Allocation* a = found_->holding(address, bytes)) return a;
  if (!resolve_) return nullptr;
  std::optional<Allocation> a = resolve_(address);
  if (!a || !holds(*a, address, bytes)) return nullptr;
  return &found_->list.emplace_back(std::move(*a));
}

bool Memory::hides(uint64_t address, uint32_t owner) const {
  return std::ranges::any_of(allocations_, [=](const Allocation& a) {
    return address - a.storage < a.storage_bytes && (!owner || a.owner == owner);
  });
}

bool Memory::has_owner(uint32_t owner) const {
  return std::ranges::any_of(allocations_, [=](const Allocation& a) { return a.owner == owner; });
}

std::string Memory::describe(uint64_t address, uint64_t bytes, uint64_t from, uint32_t owner) const {
  const Allocation* best = nullptr;
  uint64_t distance = ~uint64_t{0};
  bool after = false;
  if (from) find(from, 1);  // so that it is in the list
  auto consider = [&](const Allocation& a) {
    if (from && (!holds(a, from, 1) || (owner && a.owner != owner))) return;
    uint64_t end = a.address + a.bytes;
    bool past = address >= a.address;
    uint64_t d = !past ? a.address - address : address >= end ? address - end : 0;
    if (d < distance || !best) best = &a, distance = d, after = past;
  };
  std::unique_lock lock(found_->mutex);
  if (!found_->has_whole)
    for (const Allocation& a : allocations_) consider(a);
  for (const Allocation& a : found_->list) consider(a);
  lock.unlock();  // what is in the list stays where it is
  if (best && address - best->storage < best->storage_bytes)
    return "which lies in the storage of " + best->label + " and is no element of it";
  if (!best) return from ? describe(address, bytes) : "";
  constexpr uint64_t kFar = uint64_t{1}
                            << 40;  // more than a GPU has: what lies there says nothing of this address
  if (!from && distance >= kFar) return "";
  if (!after) return count_of_bytes(distance) + " before the start of " + best->label;
  if (distance == 0 && best->bytes == 0) return best->label;  // an empty block has no end to be past
  return beside(address, bytes, best->address + best->bytes, best->label);
}

}  // namespace triton_runner::exec
