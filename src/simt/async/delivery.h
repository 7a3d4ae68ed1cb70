// Delivery brings bytes of the copy engine to shared memory, of one block or of several of the cluster, where
// an mbarrier of each block counts them. bulk.cpp, tma_ops.cpp and launch_control.cpp fill it.
#pragma once
#include <optional>
#include <vector>

#include "state/exec.h"

namespace triton_runner::simt {

class Delivery : public AsyncOp {
 public:
  // By lane `lane` of x.
  Delivery(Exec& x, const Operands& in, uint32_t lane)
      : AsyncOp(x, in), lane_(lane), thread_(x.first + lane) {}
  // `bytes` are to go to a shared address, and the mbarrier there counts `counted` of them. `blocks`: to the same
  // offsets in these blocks instead; pair: the barrier is in the block of each pair that has its own parity. False
  // after a trap.
  bool add(Exec& x, uint32_t address, uint32_t barrier, uint32_t bytes, uint32_t counted,
           std::optional<uint32_t> blocks = std::nullopt, bool pair = false);
  void complete(Cluster&) final;
  std::string text() const final;

 protected:
  virtual void write(std::byte* block, uint32_t offset) = 0;  // all bytes, into a block's shared memory

 private:
  struct Place {
    std::byte* at;
    const Cta* cta;
    uint32_t offset, barrier;
  };
  uint32_t lane_, thread_, bytes_ = 0, counted_ = 0, reading_ = 0;
  std::vector<Place> to_;
};

}  // namespace triton_runner::simt
