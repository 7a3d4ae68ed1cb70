// Bulk copies: made by the copy engine, of any size, to shared memory with bytes counted by an mbarrier, or
// to global memory in bulk groups of a thread.
#pragma once
#include <vector>

#include "atomic.h"

namespace triton_runner::simt {

// A copy that reads shared memory and belongs to a thread's bulk group. In Cluster::pending until it is made.
struct BulkStore : AsyncOp {
  Cta* cta = nullptr;
  const Instr* in = nullptr;
  uint32_t thread = 0;  // of the block
  uint32_t group = 0;   // groups that the thread had committed before
  void complete(Cluster& cluster) final;
  virtual void store(Exec& x) = 0;
  uint32_t made = 0;  // of a checked launch: what Checks::read_out gave
};

class BulkGroups : public CtaPart {
 public:
  void begin(Cta& cta) override;
  void forget(const BulkStore* store) { std::erase(stores, store); }
  std::vector<uint32_t> commits;   // groups committed, by thread
  std::vector<BulkStore*> stores;  // not yet made, in order
  struct Made {
    uint32_t thread, group, time;
  };
  std::vector<Made> made;  // and not waited for; of a checked launch
};

// Puts the store into the thread's open group.
void issue_store(Exec& x, const Operands& in, uint32_t lane, std::unique_ptr<BulkStore> store);

struct BulkPlan {
  AddressPlace to, from, barrier;
  uint32_t size = kNoRegister;       // .u32
  uint32_t cta_mask = kNoRegister;   // .b16: copies to these blocks
  uint32_t byte_mask = kNoRegister;  // .b16: bytes of every 16 that are written
  Update update = nullptr;           // reductions
  uint32_t element = 1;              // bytes
  bool from_shared = false;
};
void run_bulk_load(Lanes& l, const Operands& in);   // Operands::data: a BulkPlan with a barrier
void run_bulk_store(Lanes& l, const Operands& in);  // one without
void run_bulk_commit(Lanes& l, const Operands& in);
void run_bulk_wait(Lanes& l, const Operands& in);  // small: groups that may stay

}  // namespace triton_runner::simt
