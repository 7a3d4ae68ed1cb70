// Declares bulk copies of plain memory: made by the copy engine, of any size, to shared memory with bytes
// counted by an mbarrier, or to global memory in bulk groups of a thread. Boxes of tensors are in tma.h,
// copies of threads in copy.h.
#pragma once
#include <vector>

#include "ops/atomic.h"

namespace triton_runner::simt {

// A copy that reads shared memory and belongs to a thread's bulk group.
class BulkStore : public AsyncOp {
 public:
  using AsyncOp::AsyncOp;
  // Puts it, of `bytes` at a shared address, into the open group of the thread `lane`; false after a trap.
  static bool issue(Exec& x, const Operands& in, uint32_t lane, uint32_t from, uint32_t bytes,
                    std::unique_ptr<BulkStore> store);
  void complete(Cluster& cluster) final;
  std::string text() const final;

 protected:
  virtual void write(const std::byte* block, uint32_t offset) = 0;  // all bytes, from a block's shared memory

 private:
  uint32_t agent_ = 0;  // of Cluster::async
  uint64_t group_ = 0;
  const std::byte* at_ = nullptr;
  const Cta* from_ = nullptr;  // whose memory that is
  uint32_t offset_ = 0, bytes_ = 0;
};

// For a checked launch: stores that were made and not waited for.
struct BulkRead {
  uint32_t agent;
  uint64_t group;
  uint32_t time;
};
struct BulkReads : CopiedPart<BulkReads>, std::vector<BulkRead> {
  void begin(Cta&) override { clear(); }
};

struct BulkPlan {
  AddressPlace to, from, barrier;
  uint32_t size = kNoRegister;       // .u32
  uint32_t cta_mask = kNoRegister;   // .b16: copies to these blocks
  uint32_t byte_mask = kNoRegister;  // .b16: bytes of every 16 that are written
  Update update = nullptr;           // reductions
  uint32_t element = 1;              // bytes
  bool from_shared = false;
};
void run_bulk_load(Exec& x, const Operands& in,
                   const BulkPlan& plan);                                // one with a barrier
void run_bulk_store(Exec& x, const Operands& in, const BulkPlan& plan);  // one without
void run_bulk_commit(Exec& x, const Operands& in);
void run_bulk_wait(Exec& x, const Operands& in);  // small: groups that may stay

}  // namespace triton_runner::simt
