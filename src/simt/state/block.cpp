// Implements the memory of a block: registers, shared and local memory in one allocation, of which pages exist once they are
// touched: few frames of a stack are.
#include "state/block.h"

#include <new>

namespace triton_runner::simt {
namespace {

constexpr uint64_t kGuard = 256;  // bytes around each part, so that whole vectors may be read at its end

uint64_t rounded(uint64_t bytes) { return (bytes + 63) / 64 * 64 + kGuard; }

}  // namespace

CtaMemory::CtaMemory(uint64_t register_bytes, uint64_t shared_bytes, uint64_t local_bytes)
    : bytes_(static_cast<std::byte*>(
          std::calloc(rounded(register_bytes) + rounded(shared_bytes) + rounded(local_bytes) + 64, 1))),
      base_(reinterpret_cast<std::byte*>((reinterpret_cast<uintptr_t>(bytes_.get()) + 63) & ~uintptr_t{63})),
      shared_at_(rounded(register_bytes)),
      local_at_(shared_at_ + rounded(shared_bytes)),
      size_(local_at_ + rounded(local_bytes)) {
  if (!bytes_) throw std::bad_alloc();
}

}  // namespace triton_runner::simt
