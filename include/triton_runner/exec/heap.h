// Declares the heap from which malloc and free of a kernel take their memory: of a launch, or of a context,
// where pointers live from one launch to the next (simt::LoadOptions::heap).
#pragma once
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace triton_runner::exec {

// Blocks lie in one range of addresses. What was freed is given again only after all that was never given, so that a use after
// free is seen for as long as possible.
class Heap {
 public:
  explicit Heap(uint64_t limit = uint64_t{8} << 20) : limit_(limit) {}
  ~Heap();
  Heap(const Heap&) = delete;
  Heap& operator=(const Heap&) = delete;

  // The address of a new block, a multiple of 16; 0 where there is no room, and for no bytes.
  uint64_t allocate(uint64_t bytes);
  // Returns whether a live block began there; it ends.
  bool release(uint64_t address);
  // False once the heap is in use: its range is taken then.
  bool set_limit(uint64_t bytes);
  uint64_t limit() const { return limit_; }
  size_t blocks() const;  // that live

  bool contains(uint64_t address) const {
    const uint64_t begin = begin_.load(std::memory_order_acquire);
    return begin != 0 && address - begin < limit_;
  }
  // Returns whether a live block holds all of [address, address + bytes).
  bool holds(uint64_t address, uint64_t bytes) const;
  // "4 bytes past the end of a block of 16 bytes of malloc's", of an address that the heap contains.
  std::string describe(uint64_t address, uint64_t bytes) const;

 private:
  struct Block {
    uint64_t bytes;  // that were asked for
    bool is_live;
  };
  std::optional<uint64_t> take(uint64_t room);

  uint64_t limit_;
  std::atomic<uint64_t> begin_{0};
  uint64_t fresh_ = 0;                 // nothing was ever given from here on
  std::map<uint64_t, Block> blocks_;   // by address, live and freed
  std::map<uint64_t, uint64_t> free_;  // ranges to be given again: address, bytes
  mutable std::mutex mutex_;
};

}  // namespace triton_runner::exec
