// Foresees what a thread will read when it runs an instruction again, for its next program: brought into the
// caches bit by bit, while it computes. A kernel that waits for each row, then computes on it, is slower by a
// fifth (layer norm). A wrong guess, even an address that does not exist, does no harm.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

namespace triton_runner::tile {

class Foreseen {
 public:
  // `load`, of its kernel's the one with that number, reads from `address`: next time probably as far from
  // here as this is from the last time.
  void reads(const void* load, size_t number, uint64_t address, uint64_t bytes) {
    Last& last = last_[number % last_.size()];
    if (last.load == load && last.address != address) {
      const uint64_t begin = address + (address - last.address);
      if (begin != begin_) begin_ = next_ = begin, end_ = begin + bytes;
    }
    last = {load, address};
  }
  bool pending() const { return next_ < end_; }
  int64_t lines() const { return static_cast<int64_t>(end_ - next_ + 63) / 64; }
  // Into the second-level cache; where all of it fits there, the first.
  template <bool near = false>
  void fetch(int64_t lines) {
    for (; lines > 0 && next_ < end_; --lines, next_ += 64)
      __builtin_prefetch(reinterpret_cast<const void*>(next_), 0, near ? 3 : 2);
  }

 private:
  struct Last {
    const void* load = nullptr;
    uint64_t address = 0;
  };
  uint64_t begin_ = 0, next_ = 0, end_ = 0;
  std::array<Last, 32> last_;  // by the load's number: where it read last
};

Foreseen& foreseen();  // of this thread

}  // namespace triton_runner::tile
