// Implements Heap: a range of addresses that is mapped when the first block is asked for, given from its start on, and then
// from what was freed (the first range that is large enough).
#include <triton_runner/exec/heap.h>

#include <sys/mman.h>

#include <algorithm>

#include <triton_runner/exec/beside.h>

namespace triton_runner::exec {
namespace {

constexpr uint64_t kAlign = 16;

uint64_t rounded(uint64_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

}  // namespace

Heap::~Heap() {
  if (const uint64_t begin = begin_.load()) munmap(reinterpret_cast<void*>(begin), limit_);
}

bool Heap::set_limit(uint64_t bytes) {
  std::lock_guard lock(mutex_);
  if (begin_.load() != 0) return bytes == limit_;
  limit_ = bytes;
  return true;
}

size_t Heap::blocks() const {
  std::lock_guard lock(mutex_);
  return static_cast<size_t>(
      std::count_if(blocks_.begin(), blocks_.end(), [](const auto& b) { return b.second.is_live; }));
}

// The start of so many bytes that nobody has.
std::optional<uint64_t> Heap::take(uint64_t room) {
  const uint64_t end = begin_.load() + limit_;
  if (room <= end - fresh_) {
    fresh_ += room;
    return fresh_ - room;
  }
  const auto range =
      std::find_if(free_.begin(), free_.end(), [&](const auto& r) { return r.second >= room; });
  if (range == free_.end()) return {};
  const auto [at, bytes] = *range;
  free_.erase(range);
  if (bytes > room) free_[at + room] = bytes - room;
  blocks_.erase(blocks_.lower_bound(at), blocks_.lower_bound(at + room));
  return at;
}

uint64_t Heap::allocate(uint64_t bytes) {
  std::lock_guard lock(mutex_);
  if (bytes == 0 || bytes > limit_) return 0;
  if (begin_.load() == 0) {
    // Nothing else lies here, under ASan either, so that a program prints the same addresses each time.
    void* range = mmap(reinterpret_cast<void*>(uint64_t{0x41} << 40), limit_, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (range == MAP_FAILED) return 0;
    fresh_ = reinterpret_cast<uint64_t>(range);
    begin_.store(fresh_, std::memory_order_release);
  }
  const std::optional<uint64_t> at = take(rounded(bytes));
  if (!at) return 0;
  blocks_[*at] = {bytes, true};
  return *at;
}

bool Heap::release(uint64_t address) {
  std::lock_guard lock(mutex_);
  const auto block = blocks_.find(address);
  if (block == blocks_.end() || !block->second.is_live) return false;
  block->second.is_live = false;
  auto range = free_.emplace(address, rounded(block->second.bytes)).first;
  const auto join = [&](std::map<uint64_t, uint64_t>::iterator low) {
    const auto high = std::next(low);
    if (high == free_.end() || low->first + low->second != high->first) return;
    low->second += high->second;
    free_.erase(high);
  };
  join(range);
  if (range != free_.begin()) join(std::prev(range));
  return true;
}

bool Heap::holds(uint64_t address, uint64_t bytes) const {
  std::lock_guard lock(mutex_);
  const auto after = blocks_.upper_bound(address);
  if (after == blocks_.begin()) return false;
  const auto& [at, block] = *std::prev(after);
  return block.is_live && bytes <= block.bytes && address - at <= block.bytes - bytes;
}

std::string Heap::describe(uint64_t address, uint64_t bytes) const {
  std::lock_guard lock(mutex_);
  auto after = blocks_.upper_bound(address);
  if (after == blocks_.begin()) return "in the heap, of which malloc has given nothing there";
  const auto& [at, block] = *std::prev(after);
  const std::string name = "a block of " + count_of_bytes(block.bytes) + " from malloc";
  // How far an access reaches does not matter of what was freed.
  return block.is_live ? beside(address, bytes, at + block.bytes, name)
                       : beside(address, 0, at + block.bytes, name + " that was freed");
}

}  // namespace triton_runner::exec
