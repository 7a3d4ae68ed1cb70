// Declares checked memory: which bytes a launch may touch, and what to say about an address outside of them.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
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
  using Whole = std::function<std::vector<Allocation>()>;                      // LaunchOptions::whole
  // The functions outlive it.
  Memory(std::span<const Allocation> allocations, const Resolve& resolve, const Whole& whole = kNoWhole);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  // Those that it was made with.
  std::span<const Allocation> allocations() const { return allocations_; }
  // The allocation that holds all of [address, address + bytes); null if there is none. May ask `resolve`. owner: one of
  // those of that argument (Allocation::owner) and no other; 0: any.
  const Allocation* find(uint64_t address, uint64_t bytes, uint32_t owner = 0) const;
  // The same of those that are known, without asking: for a range that is taken to be in one allocation, and need not be.
  const Allocation* known(uint64_t address, uint64_t bytes, uint32_t owner = 0) const;
  // Whether an address lies in a storage of which only views may be touched (Allocation::storage), by that owner.
  bool hides(uint64_t address, uint32_t owner = 0) const;
  // Whether an argument has allocations of its own.
  bool has_owner(uint32_t owner) const;
  // "4 bytes past the end of argument 'x' (f32[1024])", seen from the nearest allocation, or from the one
  // that holds the address `from` and is the owner's. Empty without allocations.
  std::string describe(uint64_t address, uint64_t bytes, uint64_t from = 0, uint32_t owner = 0) const;

 private:
  static const Whole kNoWhole;
  std::vector<Allocation> allocations_;  // by address
  struct Found;                          // allocations that `whole` and `resolve` gave
  std::unique_ptr<Found> found_;
  const Resolve& resolve_;
  const Whole& whole_;
};

// One worker's way to Memory: remembers the last allocations it hit.
class MemoryView {
 public:
  explicit MemoryView(const Memory& memory) : memory_(&memory) {}
  // kCheckView: the pointer of what follows was made from this argument (0: nobody knows), whose memory alone it may touch.
  void keep_to(uint32_t owner) { owner_ = owner && memory_->has_owner(owner) ? owner : 0; }
  uint32_t owner() const { return owner_; }
  bool readable(uint64_t address, uint64_t bytes) { return find(address, bytes) != nullptr; }
  bool writable(uint64_t address, uint64_t bytes) {
    const Allocation* a = find(address, bytes);
    return a && a->writable;
  }
  // The allocation that holds all of it; null if there is none.
  const Allocation* find(uint64_t address, uint64_t bytes) {
    return remembered(address, bytes, &Memory::find);
  }
  // Memory::known().
  const Allocation* known(uint64_t address, uint64_t bytes) {
    return remembered(address, bytes, &Memory::known);
  }
  const Memory& memory() const { return *memory_; }

 private:
  const Allocation* remembered(uint64_t address, uint64_t bytes,
                               const Allocation* (Memory::*other)(uint64_t, uint64_t, uint32_t) const) {
    for (const Allocation* a : last_)
      if (inside(a, address, bytes)) return a;
    const Allocation* a = (memory_->*other)(address, bytes, owner_);
    if (a) last_[next_++ % 4] = a;
    return a;
  }
  bool inside(const Allocation* a, uint64_t address, uint64_t bytes) const {
    return a && address >= a->address && bytes <= a->bytes && address - a->address <= a->bytes - bytes &&
           (!owner_ || owner_ == a->owner);
  }
  const Memory* memory_;
  const Allocation* last_[4] = {};  // those that were hit, the oldest replaced first
  unsigned next_ = 0;
  uint32_t owner_ = 0;
};

}  // namespace triton_runner::exec
