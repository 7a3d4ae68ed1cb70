// The checks of a launch (doc/reference/checks.md): what was never written, and accesses that nothing orders.
//
// A checked launch looks up every access one thread at a time (Exec::shared and Exec::global call here), on
// one worker; a launch without checks has no Checks. A warp counts as one agent: its threads are in order.
// Warps are ordered by barriers, mbarriers and cluster barriers (vector clocks), blocks by atomics. Copies
// and products that are under way are known by the bytes that they are still to write or to read, and what the
// async proxy reads has to be behind a fence (proxy.cpp).
#pragma once
#include <memory>
#include <unordered_map>
#include <vector>

#include <triton_runner/machine/history.h>
#include <triton_runner/machine/unwritten.h>

#include "exec.h"

namespace triton_runner::simt {

class Checks {
 public:
  explicit Checks(const Launch& launch);
  ~Checks();
  Checks(const Checks&) = delete;
  Checks& operator=(const Checks&) = delete;

  bool looks_for_races() const { return race_; }
  void begin(const Cluster& cluster);  // it starts
  // Around each instruction, with the threads that run it on.
  void before(Exec& x, const Instr& in);
  void after(Exec& x, const Instr& in);
  // An access that is inside of its memory; false: it trapped.
  bool shared(Exec& x, const Operands& in, uint32_t lane, const Cta& owner, uint32_t offset, uint32_t bytes,
              bool write);
  bool global(Exec& x, const Operands& in, uint32_t lane, uint64_t address, uint32_t bytes, bool write);
  // An asynchronous copy has written bytes of shared memory: by `thread` of x's block (cp.async, which its
  // warp waits for), or by the copy engine, of which an mbarrier at a shared address will tell.
  void copied(Exec& x, const Operands& in, const Cta& to, uint32_t offset, uint32_t bytes, uint32_t thread);
  void landed(Exec& x, const Operands& in, const Cta& to, uint32_t offset, uint32_t bytes, uint32_t barrier);
  // A bulk store has read them: how many there had been by then; and thread `lane` waited for so many.
  uint32_t read_out(Exec& x, const Operands& in, const Cta& from, uint32_t offset, uint32_t bytes);
  void saw_reads(Exec& x, uint32_t lane, uint32_t time);
  // A product, or a copy of the tensor core, that goes on after its instruction: what it accesses until it has
  // ended. Of tensor memory `at` is column * 128 + lane, and `count` lanes.
  struct Range {
    const Cta* owner;
    uint32_t at, count;
    bool write = false, tensor = false;
    bool needs = false;  // of tensor memory: what it holds goes into the result
  };
  struct UnderWay {
    std::vector<Range> ranges;
    uint32_t record = 0, agent = 0;
    machine::Clock known;  // what its warp had seen when it issued it
  };
  bool issue(Exec& x, const Operands& in, uint32_t lane, UnderWay& op);  // false: it trapped
  // `waited`: by the threads that issued it; else the tensor core tells a barrier.
  void finish(Exec& x, const Operands& in, const UnderWay& op, bool waited);
  // A warp-wide instruction of `members` of each warp: false, a trap, where some of them had ended.
  bool whole_warps(Exec& x, const Instr& in, uint32_t members);
  // tcgen05.alloc: nothing is stored there yet. tcgen05.ld and tcgen05.st.
  void allocated(Exec& x, uint32_t column, uint32_t columns);
  bool tensor(Exec& x, const Operands& in, uint32_t lane, const Range& range);
  // An mbarrier at a shared address: what thread `lane` did so far (in a late_exec also the copies that this
  // barrier tells of; with no lane the tensor core instead) is known to those that see the phase end.
  void release(Exec& x, uint32_t lane, uint32_t barrier);
  void acquire(Exec& x, uint32_t lane, uint32_t barrier);

 private:
  struct Cell;
  struct Record;
  struct State;
  // A byte of shared memory, or a word of tensor memory.
  struct Place {
    uint32_t address;
    bool tensor = false;
    std::string text() const;
  };

  // NaNs: what the operands were, since a result may be one of them.
  void nan_before(const Exec& x, const Instr& in);
  void nan_after(Exec& x, const Instr& in);
  bool bad(double value) const;
  // Notes what a check reports of a thread; false where the launch makes no such experiment.
  bool substituted(Exec& x, const Operands& in, uint32_t lane, exec::TrapKind kind,
                   const std::string& message);
  void put_number(std::byte* at, uint32_t bytes);
  // Integers that are divided by 0: the divisor may be the result, too.
  void division_before(const Exec& x, const Instr& in);
  void division_after(Exec& x, const Instr& in);

  State& of(const Exec& x);
  // The number of an access among `records`.
  static uint32_t record(std::vector<Record>& records, const machine::Agent& agent, machine::Act act,
                         const Operands& in, uint32_t thread, uint64_t serial);
  // `changes`: another value is written than was there.
  bool touch(Exec& x, State& s, const Operands& in, uint32_t lane, Cell& cell, uint32_t mine, bool changes,
             Place where);
  bool touch_global(Exec& x, State& s, const Operands& in, uint32_t lane, uint32_t mine, uint64_t address,
                    uint32_t bytes, const std::byte* before);
  Cell* cells_of(State& s, const Range& range);
  static void settle(Cell& cell, uint32_t mine);              // a copy has written it
  static void has_read(State& s, Cell& cell, uint32_t mine);  // one has read it
  // A thread reads `bytes` at `at` of which some were never written: a trap (false), or a number is there for
  // the time of the instruction.
  bool reads_undefined(Exec& x, const Operands& in, uint32_t lane, const std::string& message, std::byte* at,
                       uint32_t bytes);
  void undefined(Exec& x, const Operands& in, uint32_t lane, Place where);  // traps
  // A write of threads that no fence has made known to the async proxy of `agent`.
  bool fenced(Exec& x, State& s, const Operands& in, uint32_t lane, const Cell& cell,
              const machine::Agent& agent, bool write, Place where);
  void proxy_fence(Exec& x);
  void flush(Exec& x);
  std::string byte_text(uint64_t address) const;
  bool race(Exec& x, const Operands& in, uint32_t lane, const Record& other, bool write,
            const std::string& what, bool between_blocks);
  // Two threads of one instruction store different values to one place.
  bool collision(Exec& x, const Operands& in, uint32_t lane, const Record& other, const std::string& what);
  bool in_flight(Exec& x, const Operands& in, uint32_t lane, const Record& copy, bool write, bool copy_writes,
                 Place where);

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
  std::vector<uint32_t> divided_;  // lanes with a divisor of 0
  int64_t dividend_ = 0;           // of the first
  // LaunchOptions::substitution: whether the place that was noted last is one where a number is put, and
  // memory that has one for the time of an instruction.
  bool replaces_here_ = false;
  struct Borrowed {
    std::byte* at;
    std::vector<std::byte> before;
  };
  std::vector<Borrowed> borrowed_;
  void give_back();
  std::unordered_map<const Cluster*, std::unique_ptr<State>> states_;
  std::vector<Written> written_;
  uint64_t serial_ = 0;  // instructions
  // Global memory: agents are clusters.
  std::vector<Record> global_records_;
  machine::History global_;
  const machine::Unwritten unwritten_;
  std::unordered_map<uint64_t, machine::Clock> released_;  // by address of an atomic
};

}  // namespace triton_runner::simt
