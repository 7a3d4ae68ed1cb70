// The checks of a launch (doc/reference/checks.md): what was never written, and accesses that nothing orders.
//
// A checked launch looks up every access one thread at a time (Exec::shared and Exec::global call here), on
// one worker; a launch without checks has no Checks. A warp counts as one agent: its threads are in order.
// Warps are ordered by barriers, mbarriers and cluster barriers (vector clocks), blocks by atomics. Copies
// that are under way are known by the bytes that they are still to write or to read.
#pragma once
#include <memory>
#include <unordered_map>
#include <vector>

#include "exec.h"

namespace triton_runner::simt {

class Checks {
 public:
  explicit Checks(const Launch& launch);
  ~Checks();
  Checks(const Checks&) = delete;
  Checks& operator=(const Checks&) = delete;

  // A cluster starts, the linear-th of the grid.
  void begin(const Cluster& cluster, uint64_t linear);
  // Around each instruction, with the threads that run it on.
  void before(Exec& x, const Instr& in);
  void after(Exec& x, const Instr& in);
  // An access that is inside of its memory; false: it trapped.
  bool shared(Exec& x, const Operands& in, uint32_t lane, const Cta& owner, uint32_t offset, uint32_t bytes,
              bool write);
  bool global(Exec& x, const Operands& in, uint32_t lane, uint64_t address, uint32_t bytes, bool write);
  // An asynchronous copy has written bytes of shared memory: by `thread` of x's block (cp.async, which its
  // warp waits for), or by the copy engine (kNoRegister).
  void copied(Exec& x, const Operands& in, const Cta& to, uint32_t offset, uint32_t bytes, uint32_t thread);
  // One has read them.
  void read_out(const Cta& from, uint32_t offset, uint32_t bytes);
  // An mbarrier at a shared address: what thread `lane` (or the copy engine, in a late_exec) did so far is
  // known to those that see the phase end.
  void release(Exec& x, uint32_t lane, uint32_t barrier);
  void acquire(Exec& x, uint32_t lane, uint32_t barrier);

 private:
  struct Cell;
  struct Record;
  struct State;
  struct GlobalCell;
  struct GlobalPage;
  using Clock = std::vector<uint32_t>;
  using BlockClock = std::unordered_map<uint32_t, uint32_t>;

  // NaNs: what the operands were, since a result may be one of them.
  void nan_before(const Exec& x, const Instr& in);
  void nan_after(Exec& x, const Instr& in);
  bool bad(double value) const;
  // Integers that are divided by 0: the divisor may be the result, too.
  void division_before(const Exec& x, const Instr& in);
  void division_after(Exec& x, const Instr& in);

  State& of(const Exec& x);
  uint32_t record(State& s, uint32_t agent, const Operands& in, uint32_t thread, bool atomic);
  static bool ordered(const State& s, uint32_t record, uint32_t agent);
  bool touch(Exec& x, State& s, const Operands& in, uint32_t lane, Cell& cell, uint32_t mine, bool write,
             uint32_t address);
  void flush(Exec& x);
  std::string byte_text(uint64_t address) const;
  bool race(Exec& x, const Operands& in, uint32_t lane, const Record& other, bool write, bool other_writes,
            const std::string& what, bool between_blocks);
  // Two threads of one instruction store different values to one place.
  bool collision(Exec& x, const Operands& in, uint32_t lane, const Record& other, const std::string& what);
  bool in_flight(Exec& x, const Operands& in, uint32_t lane, const Record& copy, bool write, bool copy_writes,
                 uint32_t address);

  // A store whose value is looked at once it is there.
  struct Written {
    const Operands* in;
    uint32_t lane;
    const Cta* owner;  // null: global memory
    uint64_t address;  // or offset
    uint32_t bytes;
    std::vector<std::byte> before;
  };

  const Launch& launch_;
  const bool uninit_, race_, nan_, inf_, zero_division_;
  struct Operand3 {
    double values[3];
    uint32_t n = 0;
    bool bad = false;
  };
  std::vector<Operand3> operands_;  // of the instruction under way, by lane and element
  bool arithmetic_ = false;
  uint32_t divided_ = kNoRegister;  // the first lane with a divisor of 0
  int64_t dividend_ = 0;            // of it
  std::unordered_map<const Cluster*, std::unique_ptr<State>> states_;
  std::vector<Written> written_;
  uint64_t serial_ = 0;  // instructions
  // Global memory: agents are clusters.
  std::vector<Record> global_records_;
  std::unordered_map<uint64_t, std::unique_ptr<GlobalPage>> pages_;
  std::unordered_map<uint64_t, BlockClock> released_;
  std::unordered_map<uint32_t, BlockClock> seen_;
};

}  // namespace triton_runner::simt
