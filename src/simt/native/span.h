// Spans: loads and stores by native code. Where the lanes of an access come to memory one after the other, as they mostly do, it
// is one piece of memory, and one look says whether all of it may be touched. Native code then moves vectors straight between
// memory and the processor's registers.
//
//   add.s64 %rd1, %rd7, %rd10;              begin_spans(): %rd10 goes up by 16 a lane, so that %rd1 does: one piece of 2,048 bytes,
//   ld.global.v4.b32 {%r1, ...}, [%rd1];    which is in an argument
//
// SpanFinder finds out when a kernel is loaded which addresses are sums of what goes up evenly from lane to lane. What it cannot
// know (the numbers in registers that a run begins with, sums that go past their 32 bits) begin_spans() looks at before a run, as
// it looks at all that the run will access: if anything is not as it should be, nothing has happened yet, and the instructions run
// one by one.
#pragma once
#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "native/phases.h"
#include "native/shuffle.h"
#include "native/silent.h"
#include "ops/memory.h"

namespace triton_runner::simt {

inline constexpr uint32_t kSpanWords = 4;    // of a lane
inline constexpr size_t kMostAccesses = 64;  // of a run
inline constexpr size_t kMostPasses = 64;    // barriers of it
inline constexpr int kPatience = 256;

// Instr::data of the part of a run that is such an access. A lane that the guard does not have gets what is in `fill`.
struct SpanPart {
  bool store;
  uint32_t words;
  std::array<uint32_t, kSpanWords> regs, fill;
  uint32_t index;              // of the run's accesses
  uint32_t lanes = kAllLanes;  // those after them never make it
};
// Instr::run of that part; nobody calls it.
void span_part(Lanes& lanes, const Operands& in);
inline const SpanPart* span_of(const Instr& in) {
  return in.run == span_part ? static_cast<const SpanPart*>(in.data) : nullptr;
}

// f(place) for each place that a part of a run reads; what a guard leaves as it was is read, too.
template <class F>
void each_read(const Instr& in, const NativeRow* row, F f) {
  if (in.run == phase_part) return;
  if (in.guard != kNoRegister) f(in.guard);
  if (const SharedPart* shared = shared_of(in)) {
    for (uint32_t k = 0; k < shared->words; ++k)
      if (shared->store || shared->is_partial) f(shared->regs[k]);
    return;
  }
  if (const SpanPart* span = span_of(in)) {
    for (uint32_t k = 0; k < span->words; ++k) {
      if (span->regs[k] == kNoRegister) continue;
      if (span->store) f(span->regs[k]);
      if (!span->store && in.guard != kNoRegister) f(span->fill[k]);
    }
    return;
  }
  if (in.guard != kNoRegister) f(in.d);
  if (row->a != Element::kNone) f(in.a);
  if (row->b != Element::kNone) f(in.b);
  if (row->c != Element::kNone) f(in.c);
}
template <class F>
void each_write(const Instr& in, F f) {
  if (in.run == phase_part) return;
  if (const SharedPart* shared = shared_of(in)) {
    for (uint32_t k = 0; k < shared->words && !shared->store; ++k) f(shared->regs[k]);
    return;
  }
  const SpanPart* span = span_of(in);
  if (!span) return f(in.d);
  for (uint32_t k = 0; k < span->words && !span->store; ++k)
    if (span->regs[k] != kNoRegister) f(span->regs[k]);
}

// Spans says what begin_spans() looks at. Of a place that is not whole, the first 16 lanes are there.
struct Spans {
  struct Condition {
    enum Kind : uint8_t {
      kEven,      // all lanes: each is as much more than the one before
      kUniform,   // and this is nothing
      kSigned,    // lanes do not go past the ends of signed numbers of 32 bits
      kUnsigned,  // of unsigned ones
      kDisjoint   // no lane has a bit that one of `other` has
    } kind;
    uint32_t bytes, place, other = kNoRegister;
  };
  struct Access {
    uint32_t place;  // of the address
    uint64_t offset;
    uint32_t bytes;  // of a lane
    bool store;
    uint32_t at;                   // instructions of the run before it
    uint32_t guard = kNoRegister;  // the place of a copy of its guard, which only a checked run leaves there
    bool guard_flip = false;
    uint32_t first = 0, lanes = 0;  // that may make it
    // The last store that native code makes before this load and the instructions after it; 0: none.
    uint32_t passed = 0;
  };
  // Seen says where an access began the last time, and where it was taken to begin the next time; 0: there was none.
  struct Seen {
    uint64_t begin, next;
  };
  using Prepare = void (*)(std::byte* registers, uint32_t first, uint32_t end);
  std::vector<Condition> whole;  // of registers that the run begins with
  std::vector<Condition> conditions;
  std::vector<Access> accesses;
  std::vector<Instr> slice;  // what computes the places that are not whole
  std::vector<uint32_t> kept;
  // Returns those of the places that `slice` writes that nobody looks at, sorted.
  std::vector<uint32_t> local() const;
  Prepare prepare = nullptr;  // `slice` in native code
  uint32_t seen = 0;          // in the register file: a Seen for each access
  bool stores = false;
  // Block says more of a run for whole blocks (SpanFinder::kBlock).
  struct Block {
    bool is_needed = false;   // it has what runs of rows have not
    uint32_t shared_end = 0;  // of the shared memory that it accesses
    bool is_silent = false;   // it is for launches with checks
    struct Pass {
      uint32_t barrier, at;  // instructions of the run before it
    };
    std::vector<Pass> passes{};
  } block;
  // Goes down where a look finds that the run cannot go on; at 0 nobody looks any more.
  struct Patience {
    std::atomic<int> left{kPatience};
    bool is_gone() const { return left.load(std::memory_order_relaxed) <= 0; }
    bool tell(bool goes_on) {
      const int now = left.load(std::memory_order_relaxed);
      if (!goes_on || now < kPatience) left.store(now + (goes_on ? 1 : -1), std::memory_order_relaxed);
      return goes_on;
    }
  };
  mutable Patience patience, patience_of_checks;
};

// A run gets where each access begins, kMostAccesses further where it is taken to begin the next time, then where the block's
// shared memory is, and a place that is not null afterwards if lanes of a warp have stored different words to one place.
inline constexpr size_t kSharedBegin = 2 * kMostAccesses, kUnequal = kSharedBegin + 1, kBegins = kUnequal + 1;

// Finds that; false: the instructions have to run one by one.
bool begin_spans(Exec& x, const Spans& spans, std::byte** begins);

class SpanFinder {
 public:
  // A run for whole blocks has shared memory and barriers too, and stores of one thread. Checks do not look at these: it is for
  // launches without. A silent one is for launches with checks, which would find nothing in its shared memory (silent.h).
  enum Kind : uint8_t { kRows, kBlock, kSilent };
  SpanFinder(Code& code, Kind kind) : code_(code), kind_(kind) {}
  void begin(uint32_t at);  // the run's first instruction
  // The run goes on with these parts.
  void add(std::span<const Instr> parts);
  // The run goes on with the access that is instruction `at`, and moves before it (what its guard leaves out has their values).
  // False: it cannot. `ends`: an EXIT before it, of those threads that do not come to it.
  bool add_access(std::span<const Instr> moves, uint32_t at, HalvesRead& halves, const Instr* ends = nullptr);
  // The same of an access to shared memory, and of a barrier, in a run for blocks.
  bool add_shared(uint32_t at, const Instr* ends = nullptr);
  bool add_barrier(uint32_t at);
  void end_phase();
  bool has_accesses() const { return !accesses_.empty() || block_.is_needed; }
  bool is_silent() const { return !accesses_.empty() && block_.is_needed; }
  size_t size() const { return parts_.size(); }
  const std::vector<Instr>& body() const { return parts_; }
  std::shared_ptr<Spans> finish();

 private:
  static constexpr size_t kNoPart = ~size_t{0};
  // Fact says what is known of a place: all lanes' values, that lanes go up evenly, or nothing.
  struct Fact {
    enum Kind : uint8_t { kNothing, kEven, kKnown } kind = kNothing;
    bool uniform = false, even = false;
    bool whole = false;  // the register file has it when the run begins
    uint32_t place = kNoRegister, bytes = 0;
    std::shared_ptr<const std::vector<uint64_t>> known;
    size_t part = kNoPart;  // that computes it
  };
  struct Needs {  // of a part
    std::vector<Fact> operands;
    std::vector<std::pair<Spans::Condition::Kind, uint32_t>> conditions;  // of an operand
  };
  Fact fact(uint32_t place, Element e);
  static Fact known_fact(Fact fact);
  Fact result(const Instr& in, const NativeRow& row, std::span<const Fact> operands, Needs& needs);
  std::shared_ptr<const std::vector<uint64_t>> evaluate(const Instr& in, const NativeRow& row,
                                                        std::span<const Fact> operands) const;
  std::pair<uint32_t, uint32_t> lanes_on(const Instr& in);
  bool go_past(const Instr& ends, Instr& access);
  uint32_t place_of(const Fact& fact);
  uint32_t new_bytes(uint64_t bytes);
  void need(const Fact& fact);
  uint32_t keep(const Fact& fact);

  Code& code_;
  Kind kind_;
  size_t constants_seen_ = 0;
  std::unordered_map<uint32_t, size_t> constant_index_;
  std::unordered_map<uint32_t, Fact> facts_;
  std::vector<Instr> parts_;
  std::vector<Needs> needs_;
  struct Found {
    Fact address;
    Spans::Access access;  // without the place
  };
  std::vector<Found> accesses_;
  uint32_t begin_ = 0;
  bool is_past_exit_ = false;            // checks have to see who ends where
  std::map<uint32_t, uint32_t> copies_;  // of guards that have not changed since, by place
  Spans::Block block_;
  Silence silence_;
  // of finish()
  std::shared_ptr<Spans> spans_;
  std::vector<bool> needed_;
  std::map<size_t, uint32_t> names_;
};

}  // namespace triton_runner::simt
