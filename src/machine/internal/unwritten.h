// Unwritten holds, for check="uninit", the bytes of global memory that nothing was ever written to
// (Allocation::undefined). There is a bit for each byte of a block, 1 where nothing was written:
//
//   torch.empty(3) at 0x7f00, of whose elements a kernel has written the second: bits 1111 0000 1111
#pragma once
#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

#include <triton_runner/exec/memory.h>

namespace triton_runner::machine {

class Unwritten {
 public:
  explicit Unwritten(const exec::Memory& memory) {
    for (const exec::Allocation& a : memory.allocations())
      if (a.undefined) blocks_.push_back(a);
  }
  bool any() const { return !blocks_.empty(); }  // when the launch began
  // The address of the first of them in [address, address + bytes), if there is one.
  std::optional<uint64_t> first(uint64_t address, uint64_t bytes) const {
    const exec::Allocation* a = block_of(address);
    for (const uint64_t end = a ? end_in(*a, address, bytes) : address; address < end;) {
      const uint64_t n = std::min(8 - address % 8, end - address);
      const unsigned set = byte_of(*a, address) >> address % 8 & ((1u << n) - 1);
      if (set) return address + static_cast<uint64_t>(std::countr_zero(set));
      address += n;
    }
    return std::nullopt;
  }
  // The bytes hold an undefined value from now on. One thread does so.
  void forget(uint64_t address, uint64_t bytes) const {
    const exec::Allocation* a = block_of(address);
    for (const uint64_t end = a ? end_in(*a, address, bytes) : address; address < end; ++address)
      byte_of(*a, address) |= static_cast<uint8_t>(1u << address % 8);
  }
  // Several programs may do so at the same time.
  void write(uint64_t address, uint64_t bytes) const {
    const exec::Allocation* a = block_of(address);
    for (const uint64_t end = a ? end_in(*a, address, bytes) : address; address < end;) {
      uint64_t n = std::min(8 - address % 8, end - address);
      if (n < 8)
        std::atomic_ref(byte_of(*a, address))
            .fetch_and(static_cast<uint8_t>(~(((1u << n) - 1) << address % 8)), std::memory_order_relaxed);
      else
        std::memset(&byte_of(*a, address), 0, (n = (end - address) / 8 * 8) / 8);
      address += n;
    }
  }

 private:
  const exec::Allocation* block_of(uint64_t address) const {
    for (const exec::Allocation& a : blocks_)
      if (address >= a.address && address - a.address < a.bytes) return &a;
    return nullptr;
  }
  static uint64_t end_in(const exec::Allocation& a, uint64_t address, uint64_t bytes) {
    return address + std::min(bytes, a.bytes - (address - a.address));
  }
  static uint8_t& byte_of(const exec::Allocation& a, uint64_t address) {
    return a.undefined[address / 8 - a.address / 8];
  }
  std::vector<exec::Allocation> blocks_;
};

}  // namespace triton_runner::machine
