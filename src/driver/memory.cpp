// Blocks lie in arenas, address space that the system gives memory to where it is touched.
#include "memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <utility>

#include <triton_runner/exec/memory.h>

namespace triton_runner::driver {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kArena = uint64_t{64} << 30;
constexpr size_t kRemembered = 4096;  // freed blocks

constexpr uint64_t rounded(uint64_t n, uint64_t unit) { return (n + unit - 1) / unit * unit; }

}  // namespace

uint64_t Blocks::total_memory() { return exec::usable_memory() / 4 * 3 / kPage * kPage; }

Blocks::~Blocks() {
  for (auto& [begin, arena] : arenas_) munmap(reinterpret_cast<void*>(begin), arena.end - begin);
}

Blocks::Arena* Blocks::arena_with(uint64_t bytes) {
  if (auto it = arenas_.find(current_); it != arenas_.end() && it->second.end - it->second.next >= bytes)
    return &it->second;
  for (uint64_t size = std::max(kArena, rounded(bytes, kPage));; size /= 2) {
    if (size < bytes) return nullptr;
    void* at =
        mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) continue;
    current_ = reinterpret_cast<Address>(at);
    return &(arenas_[current_] = {current_, current_, current_ + size, 0});
  }
}

Block* Blocks::allocate(uint64_t bytes, Kind kind, const char* call, uint64_t align) {
  if (bytes > total_ || used_ + bytes > total_) return nullptr;
  const uint64_t gap = std::max(uint64_t{64} << 10, std::min(rounded(bytes, kPage), uint64_t{16} << 20));
  Arena* arena = arena_with(rounded(bytes, kPage) + gap + align);
  if (!arena) return nullptr;
  const Address at = rounded(arena->next, std::max(align, kPage));
  arena->next = at + rounded(bytes, kPage) + gap;
  ++arena->live;
  used_ += bytes;
  Block* block = add(at, bytes, kind, "");
  block->label =
      "block " + std::to_string(block->number) + " (" + call + ", " + std::to_string(bytes) + " bytes)";
  if (follows_ && !block->is_host() && kind != Kind::kVariable) block->unwritten.assign(bytes / 8 + 2, 0xff);
  return block;
}

Block* Blocks::add(Address address, uint64_t bytes, Kind kind, std::string label) {
  auto block = std::make_unique<Block>();
  block->address = address, block->bytes = bytes, block->kind = kind;
  block->number = ++count_;
  block->label = std::move(label);
  return (blocks_[address] = std::move(block)).get();
}

void Blocks::release(Address address) {
  auto it = blocks_.find(address);
  if (it == blocks_.end()) return;
  const Block& block = *it->second;
  freed_.push_back({block.address, block.bytes, block.label});
  if (freed_.size() > kRemembered) freed_.pop_front();
  if (block.kind != Kind::kRegistered) {
    used_ -= block.bytes;
    madvise(reinterpret_cast<void*>(address), rounded(block.bytes, kPage), MADV_DONTNEED);
    auto arena = std::prev(arenas_.upper_bound(address));
    if (--arena->second.live == 0 && arena->first != current_) {
      munmap(reinterpret_cast<void*>(arena->first), arena->second.end - arena->first);
      arenas_.erase(arena);
    }
  }
  blocks_.erase(it);
}

void Blocks::set_aside(Block& block) {
  freed_.push_back({block.address, block.bytes, block.label});
  if (freed_.size() > kRemembered) freed_.pop_front();
  madvise(reinterpret_cast<void*>(block.address), rounded(block.bytes, kPage), MADV_DONTNEED);
  std::ranges::fill(block.unwritten, 0xff);
  block.is_away = true;
}

Block* Blocks::find(Address address) {
  auto it = blocks_.upper_bound(address);
  if (it == blocks_.begin()) return nullptr;
  Block* block = std::prev(it)->second.get();
  return address < block->end() || address == block->address ? block : nullptr;
}

Block* Blocks::find(Address address, uint64_t bytes) {
  Block* block = find(address);
  return block && bytes <= block->end() - address ? block : nullptr;
}

Block* Blocks::starting_at(Address address) {
  auto it = blocks_.find(address);
  return it == blocks_.end() ? nullptr : it->second.get();
}

std::string Blocks::freed(Address address) const {
  for (auto it = freed_.rbegin(); it != freed_.rend(); ++it)
    if (address >= it->address && address - it->address < it->bytes) return it->label;
  return "";
}

void Blocks::written(Address address, uint64_t bytes) {
  Block* block = find(address, bytes);
  if (!block || block->unwritten.empty()) return;
  for (Address at = address; at < address + bytes;) {
    uint8_t& bits = block->unwritten[at / 8 - block->address / 8];
    if (at % 8 == 0 && address + bytes - at >= 8)
      bits = 0, at += 8;
    else
      bits &= static_cast<uint8_t>(~(1u << at % 8)), ++at;
  }
}

void Blocks::copied(Address to, Address from, uint64_t bytes) {
  Block* source = find(from, bytes);
  Block* target = find(to, bytes);
  if (!target || target->unwritten.empty()) return;
  if (!source || source->unwritten.empty()) return written(to, bytes);
  const bool down = to > from;
  for (uint64_t n = 0; n < bytes; ++n) {
    const uint64_t i = down ? bytes - 1 - n : n;
    const bool is_unwritten = source->unwritten[(from + i) / 8 - source->address / 8] >> ((from + i) % 8) & 1;
    uint8_t& bits = target->unwritten[(to + i) / 8 - target->address / 8];
    const auto bit = static_cast<uint8_t>(1u << (to + i) % 8);
    bits = static_cast<uint8_t>(is_unwritten ? bits | bit : bits & ~bit);
  }
}

}  // namespace triton_runner::driver
