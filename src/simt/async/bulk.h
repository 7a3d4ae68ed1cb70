// Bulk copies: made by the copy engine, of any size, to shared memory with bytes counted by an mbarrier, or
// to global memory in bulk groups of a thread.
#pragma once
#include <deque>
#include <vector>

#include "ptx/lower.h"

namespace triton_runner::simt {

class Lowering;

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

bool lower_bulk(Lowering& l, const ptx::Instruction& in);
bool lower_bulk_tensor(Lowering& l, const ptx::Instruction& in);

}  // namespace triton_runner::simt
