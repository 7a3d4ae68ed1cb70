// Checked memory: which bytes a launch may touch, and what to say about an address outside of them.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <triton_runner/exec/kernel.h>

namespace triton_runner::exec {

// Bytes of memory that this process may use: the machine's, or less where its control group says so.
uint64_t usable_memory();

// The allocations of one launch, sorted; shared by all its workers.
class Memory {
 public:
  using Resolve = std::function<std::optional<Allocation>(uint64_t address)>;  // LaunchOptions::resolve
  Memory(std::span<const Allocation> allocations, const Resolve& resolve);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  // The allocation that holds all of [address, address + bytes); null if there is none. May ask `resolve`.
  const Allocation* find(uint64_t address, uint64_t bytes) const;
  // "4 bytes past the end of argument 'x' (f32[1024])"; empty where there is no allocation at all.
  std::string describe(uint64_t address, uint64_t bytes) const;

 private:
  std::vector<Allocation> allocations_;  // by address
  struct Found;                          // allocations that `resolve` gave
  std::unique_ptr<Found> found_;
  const Resolve& resolve_;
};

// One worker's way to Memory: remembers the last allocations it hit.
class MemoryView {
 public:
  explicit MemoryView(const Memory& memory) : memory_(&memory) {}
  bool readable(uint64_t address, uint64_t bytes) {
    return inside(last_[0], address, bytes) || inside(last_[1], address, bytes) || lookup(address, bytes);
  }
  bool writable(uint64_t address, uint64_t bytes) {
    return readable(address, bytes) && hit(address)->writable;
  }
  const Memory& memory() const { return *memory_; }

 private:
  static bool inside(const Allocation* a, uint64_t address, uint64_t bytes) {
    return a && address >= a->address && bytes <= a->bytes && address - a->address <= a->bytes - bytes;
  }
  const Allocation* hit(uint64_t address) const { return inside(last_[0], address, 0) ? last_[0] : last_[1]; }
  bool lookup(uint64_t address, uint64_t bytes) {
    const Allocation* a = memory_->find(address, bytes);
    if (!a) return false;
    last_[1] = last_[0];
    last_[0] = a;
    return true;
  }
  const Memory* memory_;
  const Allocation* last_[2] = {nullptr, nullptr};
};

}  // namespace triton_runner::exec
