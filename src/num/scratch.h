// Scratch is memory that a thread keeps for packing operands, so that a dot does not allocate.
#pragma once
#include <cassert>
#include <cstdint>
#include <cstdlib>
#include <memory>

namespace triton_runner::num {

// Grown as needed; the parts of one product lie side by side.
class Scratch {
 public:
  // Room for `bytes` in all; then parts of it, each on a cache line of its own.
  void reserve(int64_t bytes) {
    used_ = 0;
    if (bytes <= size_) return;
    size_ = (bytes + 4095) / 4096 * 4096;
    memory_.reset(static_cast<char*>(std::aligned_alloc(64, static_cast<size_t>(size_))));
  }
  void* take(int64_t bytes) {
    void* part = memory_.get() + used_;
    used_ += rounded(bytes);
    assert(used_ <= size_);
    return part;
  }
  static int64_t rounded(int64_t bytes) { return (bytes + 63) / 64 * 64; }

 private:
  struct Free {
    void operator()(char* p) const { std::free(p); }
  };
  std::unique_ptr<char, Free> memory_;
  int64_t size_ = 0, used_ = 0;
};

}  // namespace triton_runner::num
