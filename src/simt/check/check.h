// Declares the checks of a launch at PTX (doc/reference/checks.md): uninitialised memory, races, NaNs,
// divisions by zero, overflow.
//
// A checked launch runs on one worker and examines every access, one thread at a time (Exec::shared and
// Exec::global call here). A launch without checks has no Checks. A warp counts as one agent, whose threads are
// ordered. Barriers, mbarriers and cluster barriers order warps (by vector clocks), and so do atomics. A copy
// or product in flight is represented by the bytes that it has yet to write or read. The async proxy
// may only read data for which a fence has been executed (proxy.cpp).
#pragma once
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include <triton_runner/machine/badness.h>
#include <triton_runner/machine/history.h>
#include <triton_runner/machine/released.h>
#include <triton_runner/machine/unwritten.h>

#include "check/records.h"
#include "state/exec.h"

namespace triton_runner::simt {

struct Access;

class Checks {
 public:
  explicit Checks(const Launch& launch);
  ~Checks();
  Checks(const Checks&) = delete;
  Checks& operator=(const Checks&) = delete;

  bool looks_for_races() const { return race_; }
  // Instructions that access no memory may run without a call of before() and after().
  bool asks_accesses_alone(const Exec& x) const;
  void ran(uint32_t instructions) { serial_ += instructions; }  // without them
  void begin(const Cluster& cluster);                           // call it when a cluster starts
  // Call these before and after each instruction, with the active threads. guarded(): before, with those that its guard
  // turns off too; false after a trap.
  bool guarded(Exec& x, const Instr& in);
  void before(Exec& x, const Instr& in) {
    ++serial_;
    if (publishes_ || !is_quiet(in)) before_other(x, in);
  }
  void after(Exec& x, const Instr& in) {
    if (!reads_.empty() || !written_.empty() || !borrowed_.empty()) after_accesses(x, in);
    if (!is_quiet(in)) after_other(x, in);
  }
  // Checks an access that is within bounds. Returns false after a trap.
  bool shared(Exec& x, const Operands& in, uint32_t lane, const Cta& owner, uint32_t offset, uint32_t bytes,
              bool write);
  bool global(Exec& x, const Operands& in, uint32_t lane, uint64_t address, uint32_t bytes, bool write);
  // The same of all threads that are on, each of which accesses `each` bytes at address[lane] + add: an address of global
  // memory, or an offset in the block's own shared memory. False: they are to be looked at one by one.
  struct Together {
    uint32_t each;
    bool in_a_row = false;          // each thread has the bytes after those of the thread before
    const Access* store = nullptr;  // none: a load
  };
  template <class T>
  bool at_once(Exec& x, const Operands& in, const T* address, T add, const Together& access);
  // The same of the accesses of a run of native code (Exec::may_make_rows).
  bool may_make_rows(Exec& x, std::span<const RowAccess> rows);
  void made_rows(Exec& x, std::span<const RowAccess> rows);
  // The same of copies to offsets `to` of the block's own shared memory, from global memory (null: zeros), and reading()
  // for each warp.
  bool copies_at_once(Exec& x, const Operands& in, const uint32_t* to, const uint64_t* from, uint32_t each,
                      std::vector<uint32_t>& reading);
  // The reads of global memory by the copy that was just issued, for those who tell of its end; 0: nothing.
  uint32_t reading() const;
  // An asynchronous copy has written bytes of shared memory. copied(): for `thread` of x's block, whose warp waits
  // for it (cp.async). landed(): by the copy engine, which signals the mbarrier at a shared address.
  void copied(Exec& x, const Operands& in, const Cta& to, uint32_t offset, uint32_t bytes, uint32_t thread,
              uint32_t reading);
  // The same of one copy by each of the threads from `first` on, and copies_at_once()'s `reading`.
  void copied_at_once(Exec& x, const Operands& in, std::span<const uint32_t> to, uint32_t each,
                      uint32_t first, std::span<const uint32_t> reading);
  void landed(Exec& x, const Operands& in, const Cta& to, uint32_t offset, uint32_t bytes, uint32_t barrier,
              uint32_t reading);
  // read_out(): a bulk store has finished reading its source; returns its sequence number. saw_reads(): thread
  // `lane` has waited for all bulk stores up to the sequence number `time`.
  uint32_t read_out(Exec& x, const Operands& in, const Cta& from, uint32_t offset, uint32_t bytes);
  void saw_reads(Exec& x, uint32_t lane, uint32_t time);
  // A range of memory that a product or a copy of the tensor core accesses after its instruction, until it has
  // finished. In tensor memory, `at` is column * 128 + lane, and `count` is a number of lanes.
  struct Range {
    const Cta* owner;
    uint32_t at, count;
    bool write = false, tensor = false;
    bool needs = false;  // of tensor memory: its contents are an operand
  };
  struct UnderWay {
    std::vector<Range> ranges;
    uint32_t record = 0, agent = 0;
    machine::Clock known;  // the clock of its warp when it was issued
  };
  bool issue(Exec& x, const Operands& in, uint32_t lane, UnderWay& op);  // false after a trap
  // `waited`: the threads that issued it waited for it; otherwise the tensor core signals a barrier.
  void finish(Exec& x, const Operands& in, const UnderWay& op, bool waited);
  // Checks a warp-wide instruction of the lanes `members`: a trap (false) if some of them have exited.
  bool whole_warps(Exec& x, const Instr& in, uint64_t members);
  // allocated(): tcgen05.alloc; the columns are uninitialised. tensor(): an access by tcgen05.ld or tcgen05.st.
  void allocated(Exec& x, Cta& cta, uint32_t column, uint32_t columns);
  bool tensor(Exec& x, const Operands& in, uint32_t lane, const Range& range);
  // release(): thread `lane` arrives at the mbarrier at a shared address. Threads that acquire() after the end of
  // the phase are ordered after what `lane` did so far; in a late_exec also after the copies that signal this
  // barrier; without a lane, after the tensor core's work instead.
  void release(Exec& x, uint32_t lane, uint32_t barrier);
  void acquire(Exec& x, uint32_t lane, uint32_t barrier);

 private:
  struct Cell;
  struct State;
  static constexpr uint64_t kWidest = 16, kWord = 4;  // bytes of a cell
  // A byte of shared memory, or a word of tensor memory.
  struct Place {
    uint32_t address;
    bool tensor = false;
    std::string text() const;
  };

  // Checks of numbers and of warps that part have nothing to do, and nobody meets anybody.
  bool is_quiet(const Instr& in) const {
    return !asks_numbers_ && (!race_ || in.is_alone || !in.source || in.source->is_alone());
  }
  void before_other(Exec& x, const Instr& in);
  void after_accesses(Exec& x, const Instr& in);
  void after_other(Exec& x, const Instr& in);
  // The NaN check. nan_before() keeps the operands, because the result may overwrite one of them.
  void nan_before(const Exec& x, const Instr& in);
  void nan_after(Exec& x, const Instr& in);
  machine::Badness badness(double value) const;
  // The same of machine code (parts.cpp): before and after each instruction, once the operands are looked at. part_uses():
  // it reads a marked number of another instruction of the program (a trap).
  struct Mark {
    const Instr* maker = nullptr;
    std::string message;
    exec::TrapKind kind = exec::TrapKind::kNan;
    machine::Badness badness = machine::Badness::kNotANumber;
    num::Type type{};
  };
  void part_before(const Exec& x, const Instr& in);
  bool part_uses(Exec& x, const Instr& in);
  void part_after(const Exec& x, const Instr& in);
  void part_writes(const Exec& x, const Instr& in, uint32_t lane, const Mark* mark);  // null: not marked
  const Mark* mark_of(const Exec& x, State& s, std::span<const uint32_t> places, uint32_t lane) const;
  machine::Badness worst_of(const Exec& x, std::span<const uint32_t> places, num::Type type,
                            uint32_t lane) const;
  // The instruction, or the call of the function that the assembler has put it into.
  const Instr* maker_of(const Exec& x, const Instr& in, uint32_t lane);
  // Records a report in an experiment with substituted values; false if this is not such a launch.
  bool substituted(Exec& x, const Operands& in, uint32_t lane, exec::TrapKind kind,
                   const std::string& message);
  void put_number(std::byte& at);
  // Races for a warp's uniform registers, at machine code (uniform.cpp).
  void uniform_before(Exec& x, const Instr& in);
  void uniform_after(const Exec& x, const Instr& in);
  void uniform_settle(const Exec& x);
  struct UniformWrite {
    uint32_t rank, place, bytes, warp, lanes;
    const std::byte* regs;
  };
  std::vector<UniformWrite> uniform_written_;
  const Part* uniform_part_ = nullptr;
  const Path* uniform_path_ = nullptr;
  // The check of integer divisions by zero. The result may overwrite the divisor.
  void division_before(const Exec& x, const Instr& in);
  void division_after(Exec& x, const Instr& in);

  // The check of integers that overflow (overflow.cpp). What an integer of a thread lacks, and where that was made; and
  // its surplus (machine::Integer).
  struct Missing {
    int64_t wraps = 0;
    __int128 surplus = 0;
    uint32_t origin = 0;
  };
  struct Origin {
    const Instr* in;
    std::string what;   // empty: it was computed from another
    uint32_t from = 0;  // its index
    uint32_t thread = 0;
  };
  const Exact& exact_of(const Instr& in);  // asked once of an instruction of the program
  void overflow_before(Exec& x, const Instr& in);
  void overflow_after(Exec& x, const Instr& in);
  // A missing part goes with the number. Before: where each thread's comes from or goes to; after: it is there.
  void moves_before(Exec& x, const Instr& in, const Exact& e);
  void moves_after(Exec& x, const Instr& in, const Exact& e);
  void combines_after(Exec& x, const Instr& in, const Exact& e);
  static void put_missing(const Exec& x, State& s, uint32_t place, uint32_t lane, const Missing* missing);
  // The same of all threads that are on; a register may be operand and result, so that all are known before any is put.
  static void put_missing(const Exec& x, State& s, uint32_t place,
                          const std::vector<std::optional<Missing>>& by_lane);
  // Bytes of shared memory are written: what was there does not count any more.
  void forget(const Exec& x, const Cta& owner, uint32_t offset, uint32_t bytes);
  machine::Integer integer(const Exec& x, State& s, uint32_t place, uint32_t width, uint32_t lane) const;
  // `from`: of the operand that lacks something already; none: `what` says what made it.
  uint32_t origin_of(State& s, const Instr& in, uint32_t thread, std::optional<uint32_t> from,
                     const std::string& what);
  // The result of an instruction that a rule is known of, and what it was made of.
  void put_result(const Exec& x, State& s, const Instr& in, uint32_t lane, const machine::Integer& out,
                  std::span<const machine::Integer> of);
  // Traps where `place` lacks something in a thread that is on.
  bool exact_where(Exec& x, const Instr& in, uint32_t place, const char* what);

  // Threads of one warp, one after the other, that access memory in order: `each` bytes each. Several warps may read the
  // same: a bit each, from that of `lane` on.
  struct Run {
    uint64_t address;
    uint32_t bytes, each, lane, warps = 1;
    auto operator<=>(const Run&) const = default;
    uint32_t lane_of(uint64_t at) const { return lane + static_cast<uint32_t>(at - address) / each; }
  };
  // Stores, whose values are examined after the instruction.
  struct Written {
    const Operands* in;
    const Cta* owner;  // null: global memory
    Run run;           // of it, or of offsets
    size_t before;     // where the bytes that were there are in old_
  };
  State& of(const Exec& x);
  bool looks_together(const Exec& x, const Operands& in, Source::Access access) const;
  // Makes runs_ of the threads that are on. False: two of them write the same bytes, and not the same values.
  template <class T>
  bool find_runs(const Exec& x, const T* address, T add, const Together& access);
  // The same where each thread has the bytes after those of the thread before. on(first thread of a warp): a bit a lane that is on.
  template <class F>
  void find_row(const Exec& x, uint64_t address, uint32_t each, F on);
  bool meet(uint32_t each);  // some of runs_
  void put_off(const Operands& in, const Cta* owner, const Run& run, const std::byte* at);
  // Adds an access to `records` and returns its number.
  uint32_t record(Records& records, const machine::Agent& agent, machine::Act act, const Operands& in,
                  uint32_t thread, uint64_t serial);
  // The last access to a cell of shared memory that races with none, and what it did to the cell's readers: one by the same warp in
  // the same instruction does so to each cell whose last accesses are of the same records (0: State::settled).
  struct Same {
    struct Key {
      uint64_t serial = 0;
      uint32_t access = 0;  // the record of `mine`, and whether it changes the value
      uint32_t writer = 0, changer = 0, readers[2] = {};
      bool operator==(const Key&) const = default;
    } key;
    enum class Reader : uint8_t { kStays, kGoes, kMine } readers[2];
  };
  // Returns the key of an access by record `mine` (me) to a cell, if is_plain(): each other cell is looked at by itself.
  Same::Key key_of(const State& s, const Cell& cell, const Record& me, uint32_t mine, bool changes) const;
  static bool is_plain(const State& s, const Cell& cell, const Record& me, uint32_t mine);
  static bool is_settled(const State& s, const Cell& cell);
  // Checks an access to a cell of shared memory. `changes`: it writes a value that differs from the old one.
  bool touch(Exec& x, State& s, const Operands& in, uint32_t lane, Cell& cell, uint32_t mine, bool changes,
             Place where);
  bool touch(Exec& x, State& s, const Operands& in, uint32_t lane, Cell& cell, const Record& me,
             uint32_t mine, bool changes, Place where);
  // Checks a load of shared memory by all threads that are on. False: they are to be looked at one by one.
  bool reads_shared(Exec& x, State& s, const Operands& in, const uint32_t* address, uint32_t add,
                    uint32_t each);
  // Notes it, if it loads quiet memory alone. False: each cell is to be looked at.
  bool notes_load(const Exec& x, State& s, const Operands& in, const uint32_t* address, uint32_t add,
                  uint32_t each);
  // Notes copies to memory that nobody has come to since a barrier of all warps. False: each cell is to be looked at.
  bool notes_copies(const Exec& x, State& s, const Operands& in, const uint32_t* to, uint32_t each);
  // The same of the stores of an instruction to shared memory, which have been made.
  bool notes_stores(const Exec& x, State& s, std::span<const Written> written);
  // Copies have landed; from now on each warp has its record of `records`. False: the cells know of the copies, and have to learn of it.
  static bool lands_noted(State& s, uint32_t rank, const Operands& in, std::span<const uint32_t> to,
                          uint32_t first, std::span<const uint32_t> records);
  // The same of one that is not known to be like the last; `key`: it may be like the next.
  bool touch_other(Exec& x, State& s, const Operands& in, uint32_t lane, Cell& cell, uint32_t mine,
                   const Same::Key* key, bool changes, Place where);
  machine::Agent& copier(State& s, uint32_t barrier);
  // ---- global memory (global.cpp)
  static bool reads_memory(const Operands& in, bool write);
  uint32_t global_record(const Exec& x, State& s, machine::Act act, const Operands& in, uint32_t lane,
                         uint32_t warps);
  bool touch_global(Exec& x, State& s, const Operands& in, uint32_t mine, const Run& run,
                    const std::byte* before);
  // How many runs, from the first one on, are of whole warps, each of which goes through memory where the one before ends.
  template <class T, class F>
  static size_t in_a_row(const Exec& x, std::span<const T> all, F run_of);
  // The same as touch_global() of what `warps` warps do so, of whom the first has run `run`, if nobody has accessed the memory
  // yet, or only they have, in a read like this. False: it is not so; nothing is changed.
  bool touch_together(const Exec& x, State& s, machine::Act act, const Operands& in, const Run& run,
                      uint32_t warps, const std::byte* before);
  // Returns whether a read of global memory is one more of memory that only blocks read, of which two are remembered: nothing
  // changes.
  bool is_one_more(const State& s, uint64_t address, uint64_t bytes, uint32_t each);
  exec::Trap global_race(const Exec& x, State& s, const Operands& in, uint32_t lane, const Record& me,
                         const Record& other, const std::string& what) const;
  // Returns which of the warps of an access are not ordered with an earlier one, a bit each; and of the
  // earlier one.
  std::pair<uint32_t, uint32_t> unordered_warps(State& s, const Record& me, const Record& other) const;
  // Some of them are, of a read and a write: the cell's bytes go into an experiment.
  void doubt(const Exec& x, State& s, const Operands& in, uint32_t lane, uint32_t mine, uint32_t other,
             uint64_t at, uint64_t bytes);
  void flush_reads(Exec& x, const Operands& in);
  template <class F>  // f(cell, its place) for the cells of a range
  static void each_cell(State& s, const Range& range, F f);
  template <class Cells, class F>
  static void each_of_thread(Cells& cells, uint32_t at, uint32_t bytes, F f);
  static void settle(Cell& cell, uint32_t mine);              // copy `mine` has written the byte
  static void has_read(State& s, Cell& cell, uint32_t mine);  // copy `mine` has read the byte
  // A thread reads bytes that were never written. Traps (false), or substitutes a number for them during the
  // instruction.
  bool reads_undefined(Exec& x, const Operands& in, uint32_t lane, const std::string& message,
                       std::span<std::byte* const> bytes);
  void undefined(Exec& x, const Operands& in, uint32_t lane, Place where);  // traps
  // Returns whether the last write to a byte is visible to the async proxy of `agent` through a fence; traps
  // if not.
  bool fenced(Exec& x, State& s, const Operands& in, uint32_t lane, const Cell& cell,
              const machine::Agent& agent, bool write, Place where);
  void proxy_fence(Exec& x);
  void memory_fence(Exec& x);
  void flush(Exec& x);
  void examine(Exec& x, std::span<const Written> written);
  std::string byte_text(uint64_t address) const;
  bool race(Exec& x, const Operands& in, uint32_t lane, const Record& other, bool write,
            const std::string& what);
  // Traps: two threads of one instruction store different values to one place.
  bool collision(Exec& x, const Operands& in, uint32_t lane, const Record& other, const std::string& what);
  bool in_flight(Exec& x, const Operands& in, uint32_t lane, const Record& copy, bool write, bool copy_writes,
                 const std::string& what);

  const Launch& launch_;
  const bool uninit_, race_, nan_, inf_, zero_division_, overflow_, asks_numbers_;
  const bool has_proxy_;                    // accesses of the async proxy, which ask who wrote something
  const bool has_narrow_;                   // atomics of another scope than the widest, for the race check
  std::vector<machine::Integer> integers_;  // operands of the current instruction, three a lane
  std::vector<uint64_t> places_;            // of what it moves, by lane
  machine::MeantToWrap meant_;
  std::unordered_map<const Source*, Exact> exact_;
  struct Operand3 {
    double values[3];
    uint32_t n = 0;
    machine::Badness worst{};
  };
  std::vector<Operand3> operands_;  // of the current instruction, by lane and element
  bool arithmetic_ = false;
  struct Inherited {  // what the operands of a lane are marked with, and how bad the other operands are
    Mark mark;
    uint32_t first = 0;  // 32 bits of what is marked
    machine::Badness outside{};
  };
  std::unordered_map<uint32_t, Inherited> inherited_;  // of the current instruction, by lane
  std::optional<std::pair<uint32_t, Mark>> used_;      // a mark that the program's next instruction reads
  const void* marked_at_ = nullptr;                    // the instruction whose results nan_after() has marked
  struct Division {
    uint32_t lane;
    exec::TrapKind kind;
    std::string message;
  };
  std::vector<Division> divided_;  // of the current instruction, those without a quotient
  // For LaunchOptions::substitution: whether a number is substituted at the last recorded place, and the memory
  // in which numbers are substituted during the current instruction.
  bool replaces_here_ = false;
  struct Borrowed {
    std::byte* at;
    std::vector<std::byte> before;
  };
  std::vector<Borrowed> borrowed_;
  void give_back();
  std::unordered_map<const Cluster*, std::unique_ptr<State>> states_;
  const Cluster* cluster_ = nullptr;  // of state_, that of the last instruction
  State* state_ = nullptr;
  std::vector<Run> runs_;         // of the current instruction
  std::vector<uint64_t> stored_;  // a bit for each place in shared memory, while find_runs() looks
  std::vector<Written> written_;
  std::vector<std::byte> old_;
  // An access to shared memory that comes before what a warp does in an instruction: the last that was found so.
  struct Before {
    uint64_t serial;
    uint32_t agent, record;
    bool operator==(const Before&) const = default;
  };
  Before before_{};
  Same same_{};
  // The reads of global memory by threads, which are examined after the instruction, too.
  std::vector<Run> reads_;
  uint64_t serial_ = 0;  // counts instructions
  uint32_t agents_ = 0;  // of all clusters
  // The state of global memory.
  Records global_records_;
  // Whether an access of record `mine` in this instruction is ordered with others: those that it was asked of last.
  struct Known {
    uint32_t record = 0;
    bool is_uncovered = false, is_doubtful = false;
  };
  std::array<Known, 16> known_;
  uint64_t known_serial_ = 0;
  uint32_t known_of_ = 0;
  uint32_t reading_ = 0;
  machine::History global_;
  // Tells the launch's log what is about to be written to global memory, of each stretch of it once.
  void tell(uint64_t address, uint64_t bytes);
  std::pair<uint64_t, uint64_t> told_;
  const machine::Unwritten unwritten_;
  bool publishes_ = false;      // an atomic has: a cluster's time may go on with its next instruction
  bool orders_ = false;         // an atomic may order clusters
  machine::Released released_;  // by atomics of the widest scope
  template <class F>  // calls f with what atomics of this scope have released, and of those that it lies in
  void each_released(const Exec& x, State& s, Source::Scope scope, F f);
};

}  // namespace triton_runner::simt
