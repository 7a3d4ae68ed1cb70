// check="uninit": the bytes of global memory that nothing was ever written to (Allocation::undefined).
#pragma once
#include <algorithm>
#include <cstdint>
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
    const auto [begin, end] = marks(address, bytes);
    const uint8_t* at = std::find_if(begin, end, [](uint8_t byte) { return byte != 0; });
    return at == end ? std::nullopt : std::optional(address + static_cast<uint64_t>(at - begin));
  }
  void write(uint64_t address, uint64_t bytes) const {
    const auto [begin, end] = marks(address, bytes);
    std::fill(begin, end, uint8_t{0});
  }

 private:
  std::pair<uint8_t*, uint8_t*> marks(uint64_t address, uint64_t bytes) const {
    for (const exec::Allocation& a : blocks_)
      if (address >= a.address && address - a.address < a.bytes) {
        uint8_t* begin = a.undefined + (address - a.address);
        return {begin, begin + std::min(bytes, a.bytes - (address - a.address))};
      }
    return {};
  }
  std::vector<exec::Allocation> blocks_;
};

}  // namespace triton_runner::machine
