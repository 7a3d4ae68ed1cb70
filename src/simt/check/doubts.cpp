// Implements OtherOrder: when a write comes that a doubtful read was not ordered with, keeps what it leaves,
// which is what the other order would have given to the read.
#include "check/doubts.h"

#include <cstring>

namespace triton_runner::simt {

OtherOrder::OtherOrder(Doubt& doubt) {
  for (DoubtfulRead& r : doubt.reads) {
    reads_.emplace(r.serial, &r);
    if (r.written) writes_.emplace(r.written, &r);
  }
}

void OtherOrder::writes(uint64_t serial, uint64_t address, uint32_t bytes) {
  const auto [begin, end] = writes_.equal_range(serial);
  for (auto it = begin; it != end; ++it) {
    DoubtfulRead& r = *it->second;
    if (r.address < address || r.address + r.bytes > address + bytes) continue;
    std::memcpy(r.value.data(), reinterpret_cast<const void*>(r.address), r.bytes);
  }
}

}  // namespace triton_runner::simt
