// Declares cp.async, the copies that threads make by themselves: from global to shared memory, 4 to 16 bytes
// each.
//
// A copy is written down when it is issued, with its addresses checked, and made when somebody waits for it:
// a kernel that does not wait reads what was there before.
#pragma once
#include <cstdint>
#include <deque>
#include <vector>

#include <triton_runner/base/spare.h>

#include "state/address.h"

namespace triton_runner::simt {

class CpAsync : public CopiedPart<CpAsync> {
 public:
  struct Copy {
    std::byte* to;
    const std::byte* from;
    uint16_t thread;
    uint8_t bytes, from_bytes;  // what `from` does not have is filled with zeros
    uint32_t reading = 0;       // Checks::reading
  };
  // Copies of one instruction by threads that are in the same group.
  struct Batch {
    uint64_t number = 0;  // batches before it
    uint32_t group = 0;   // groups that its threads had committed before
    uint32_t first = 0, count = 0;
    const Instr* in = nullptr;
    std::vector<Copy> copies;  // those that were not made yet
    // The usual batch instead: every thread copies so many bytes in full (or, `zeros`, fills them).
    uint32_t each = 0;
    bool zeros = false;
    std::vector<uint64_t> from;
    std::vector<uint32_t> to;       // offsets in the block's shared memory
    std::vector<uint32_t> reading;  // of each warp, Checks::reading; of a checked launch
    uint32_t reading_of(uint32_t i, const Cta& cta) const {
      return reading.empty() ? 0 : reading[i / cta.code->width];
    }
  };

  void begin(Cta& cta) override;
  void list(std::vector<std::pair<std::string, const Instr*>>& out) const override;
  // Gets the threads' copies, all of them with commits[thread] == group.
  Batch& add(uint32_t group);
  void take_back() { recycle(batches_.size() - 1), --next_; }  // the last one
  void commit(const Lanes& threads);
  // Makes the threads' copies of all but the last `keep` groups that they committed; of all, committed or
  // not, that were issued before batch number `before`.
  void finish_groups(Exec& threads, uint32_t keep);
  void finish_all(Exec& threads, uint64_t before);

  const std::deque<Batch>& pending() const { return batches_; }
  uint64_t issued() const { return next_; }

  std::vector<uint32_t> commits;  // groups committed, by thread
  bool are_same(uint32_t first, uint32_t count) const;

 private:
  template <class Wanted>
  void finish(Exec& threads, Wanted wanted);
  static void expand(Exec& threads, Batch& batch);
  void recycle(size_t i);

  std::deque<Batch> batches_;
  base::Spare<Batch> spare_;
  uint64_t next_ = 0;
  bool is_same_ = true;  // all threads committed together so far
};

struct CopyPlan {
  AddressPlace to, from;
  uint32_t bytes = 0, aligned = 0;    // aligned: both places, to so many bytes; 0: to `bytes`
  uint32_t from_bytes = kNoRegister;  // a .u32; none: all of them
  uint32_t ignore = kNoRegister;      // a predicate: copy nothing, fill with zeros
  const Tables* tables = &simd_tables(num::current_isa());
  uint32_t alignment() const { return aligned ? aligned : bytes; }
};
void run_copy(Exec& x, const Operands& in, const CopyPlan& plan);
void run_copy_commit(Exec& x, const Operands& in);
void run_copy_wait(Exec& x, const Operands& in);  // small: groups that may stay
void run_copy_wait_all(Exec& x, const Operands& in);
// The copies so far tell the mbarrier at `address`; small: 1 if it counts on that.
void run_copy_arrive(Exec& x, const Operands& in, const AddressPlace& address);

}  // namespace triton_runner::simt
