// TensorMemory is the tensor memory of a block, allocated by columns. Its shape is machine/tensor_memory.h.
#pragma once
#include <array>
#include <cstdint>

#include <triton_runner/machine/tensor_memory.h>

#include "state/exec.h"

namespace triton_runner::simt {

using machine::kTensorColumns;
using machine::kTensorLanes;
using machine::kTensorUnit;

// An address: lane in the high half, column in the low one.
inline uint32_t tensor_lane(uint32_t address) { return address >> 16; }
inline uint32_t tensor_column(uint32_t address) { return address & 0xffff; }

struct TensorMemory : CopiedPart<TensorMemory> {
  // words[column * 128 + lane]
  std::vector<uint32_t> words = std::vector<uint32_t>(kTensorColumns * kTensorLanes);
  static constexpr uint32_t kUnits = kTensorColumns / kTensorUnit;
  std::array<uint16_t, kUnits> owner{};  // columns of the part that begins or goes on here; 0: free
  bool relinquished = false;
  void begin(Cta&) override {
    owner.fill(0);
    relinquished = false;
  }
  bool allocated(uint32_t column, uint32_t count) const {
    if (column + uint64_t{count} > kTensorColumns) return false;
    for (uint32_t u = column / kTensorUnit; u * kTensorUnit < column + count; ++u)
      if (owner[u] == 0) return false;
    return true;
  }
};
inline TensorMemory& tensor_memory(Cta& cta) { return cta.part<TensorMemory>(Cta::kTensorMemory); }

// Traps unless lanes and columns are there and allocated.
bool check_tensor(Exec& x, const Operands& in, Cta& cta, uint32_t lane, uint32_t address, uint32_t lanes,
                  uint32_t columns, const char* what);
// The other block of a pair (cta_group::2); null if the cluster has no such block.
Cta* pair_of(Cta& cta);

// Rows of 32 bytes go one lane down (to the lane before), in each 32 of the `lanes` from the address's on; the
// last of them stays.
void shift_rows(Cta& cta, uint32_t address, uint32_t lanes);

// [address + offset] of tensor memory: a register of 32 bits and a constant.
struct TensorAddress {
  uint32_t place = kNoRegister;
  uint32_t offset = 0;
  uint32_t at(const Exec& x, uint32_t lane) const {
    return (place == kNoRegister ? 0 : x.reg<uint32_t>(place)[lane]) + offset;
  }
};

}  // namespace triton_runner::simt
