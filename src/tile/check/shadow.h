// Declares Shadows, which holds a value of marks beside each value of a program, and runs instructions on the
// marks. uninit.h marks undefined elements, and overflow.h those that are not the exact value.
#pragma once
#include <algorithm>
#include <functional>

#include "check/family.h"
#include "ops/access.h"
#include "rules.h"

namespace triton_runner::tile {

// The place where a marked element was made.
struct Origin {
  const Instr* in;
  std::vector<int64_t> element;
  std::string what, iteration;
  uint32_t from = 0;                         // 1 + the index of the origin that it was computed from
  std::string text(const Code& code) const;  // its op, place, element and iteration
};

// Returns whether any of the marks is set. It has no early exit, which would cost the vector instructions.
template <typename T>
bool any_set(const std::vector<T>& marks) {
  T all{};
  for (T mark : marks) all |= mark;
  return all != T{};
}

class Shadows {
 public:
  Shadows(const Code& code, BufferPool& pool);
  ~Shadows();
  // Begins a program. `memory` is what each byte of the shadow of shared memory is at first.
  void begin(Program& program, std::byte memory);

  // Returns whether no element of the slot is marked.
  bool clean(Slot s) const { return values_[s].form == Form::kUniform && values_[s].bits == 0; }
  bool clean(std::span<const Slot> slots) const {
    return std::ranges::all_of(slots, [&](Slot s) { return clean(s); });
  }
  Lanes lanes(Task& t, Slot s);
  void set_clean(Slot s);
  void set_clean(std::span<const Slot> slots) {
    for (const Slot s : slots) set_clean(s);
  }
  void set_all(Slot s, uint32_t origin, int64_t bits = 1);
  int64_t bits(Slot s) const { return values_[s].form == Form::kUniform ? values_[s].bits : 0; }
  std::byte* new_lanes(Task& t, Slot s, uint32_t origin);  // dense; no element is marked yet
  void copy(Slot to, Slot from);
  void copy_operands(const Instr& in);  // result i becomes operand i, all at once
  // Marks the results whose elements are elements of operands, where the family says so; of kMoves the caller
  // sets the origins. Returns whether the family is one of these.
  bool move(Task& t, const Instr& in, Family family);
  // Marks the elements of each result for which f is true.
  void mark_where(Task& t, const Instr& in, const std::function<bool(int64_t element)>& f);
  void unite(Task& t, Slot to, Slot with);  // adds the marks of `with`, which has as many elements
  void recognise_clean(Task& t, Slot s);    // sets the slot clean if none of its elements is marked
  int64_t first(Task& t, Slot s);           // the first marked element; -1: there is none
  // Returns the first marked element that a mask (kNoSlot: none) leaves on; -1: there is none. A mask of one
  // element is for all.
  int64_t first_on(Task& t, Slot s, int64_t mask);
  // Replaces the marks of shared memory that nothing was written to (0xff) by those of other undefined elements
  // (1). Returns the first element that had one; -1: there is none.
  int64_t replace_unwritten(Task& t, Slot s);
  // Runs the instruction on the shadows; the slots in `real`, and objects, keep their values.
  void run(Task& t, const Instr& in, std::vector<Slot> real);
  // Does an instruction's reads and writes of shared memory again on its shadow. `stored` becomes the origin of
  // an operand that is not clean.
  void shared_moves(Task& t, const Instr& in);
  // Clears the marks of the buffers to which an op may have written.
  void clear_buffers(Task& t, const Instr& in, std::span<const MemoryOperand> buffers);
  // issue_copy() starts an asynchronous copy of marks to a buffer: of the shadow of the instruction's result.
  // issue_block() starts that of a TMA load or a store to another block, which `barrier` counts; `undefined` is
  // 1 for each marked element, and empty where none is.
  void issue_copy(Task& t, const Instr& in, const MemoryOperand& to);
  void issue_block(Task& t, const Instr& in, const MemoryOperand& barrier, const MemoryOperand& to,
                   const std::vector<uint8_t>& undefined);
  // Has the task's copies arrive at a barrier together.
  void hand_over(Task& t, Slot barrier);
  // read() returns 1 for each marked element of a buffer; write() takes them in the same form.
  std::vector<uint8_t> read(Task& t, const Instr& in, const MemoryOperand& from, int64_t n);
  void write(Task& t, const Instr& in, const MemoryOperand& to, const std::vector<uint8_t>& undefined);
  // Completes the copies that a barrier counts, which have arrived.
  void complete_copies(Task& t, Slot barrier);
  uint32_t new_origin(Task& t, const Instr& in, std::vector<int64_t> element, std::string what,
                      uint32_t from = 0);

  std::vector<uint32_t> origin;  // by slot: 1 + the index in origins, 0 where it is not known
  std::vector<Origin> origins;
  uint32_t stored = 0;  // the origin of the last marked value that was stored to shared memory

 private:
  class World;
  void drop(Value& v);

  const Code& code_;
  BufferPool& pool_;
  std::vector<Value> values_;
  Buffer* shared_ = nullptr;
  std::unique_ptr<ProgramState> state_;
};

// The checks keep this for a program.
struct ProgramChecks : ProgramState {
  void begin(Program&) override {}
  std::unique_ptr<Shadows> shadows;  // of check="uninit"
  std::unique_ptr<Shadows> missing;  // of check="overflow"
  std::unique_ptr<ProgramState> race;
};

// Calls f(lane, n, address) for lanes that are on, of which n from `lane` on follow each other in memory, until it returns false.
// Returns what it returned last.
template <class F>
bool each_stretch(Task& t, const Access& a, const TileType& type, F f) {
  const Value* mask = a.mask == kNoSlot ? nullptr : &t.value(static_cast<Slot>(a.mask));
  if (mask && mask->form == Form::kUniform) {
    if (!mask->bits) return true;
    mask = nullptr;
  }
  const Slot ptr = static_cast<Slot>(a.ptr);
  if (type.rank == 0) return f(int64_t{0}, int64_t{1}, static_cast<uint64_t>(t.bits(ptr)));
  const auto size = static_cast<uint64_t>(type.size);
  const Value& p = t.value(ptr);
  const int last = type.rank - 1;
  // Sums of strides in a box: a row of it is a stretch.
  if (p.form == Form::kAffine && (!mask || mask->form == Form::kBox) &&
      static_cast<uint64_t>(p.stride[last]) == size) {
    int64_t lo[kLazyRank], hi[kLazyRank], at[kLazyRank];
    for (int d = 0; d <= last; ++d) {
      lo[d] = at[d] = mask ? std::max<int64_t>(mask->box.lo[d], 0) : 0;
      hi[d] = mask ? std::min<int64_t>(mask->box.hi[d], type.shape[d]) : type.shape[d];
      if (lo[d] >= hi[d]) return true;
    }
    for (;;) {
      int64_t lane = 0;
      auto address = static_cast<uint64_t>(p.base);
      for (int d = 0; d <= last; ++d) {
        lane = lane * type.shape[d] + at[d];
        address += static_cast<uint64_t>(p.stride[d] * at[d]);
      }
      if (!f(lane, hi[last] - lo[last], address)) return false;
      int d = last - 1;
      for (; d >= 0 && ++at[d] == hi[d]; --d) at[d] = lo[d];
      if (d < 0) return true;
    }
  }
  const auto* on = mask ? t.dense<uint8_t>(static_cast<Slot>(a.mask)) : nullptr;
  const auto* addresses = t.dense<uint64_t>(ptr);
  for (int64_t i = 0, n; i < type.n; i += n) {
    n = 1;
    if (on && !on[i]) continue;
    uint64_t next = addresses[i] + size;
    for (; i + n < type.n && (!on || on[i + n]) && addresses[i + n] == next; ++n) next += size;
    if (!f(i, n, addresses[i])) return false;
  }
  return true;
}

// The same of f(lane, address) for each of them.
template <class F>
bool each_address(Task& t, const Access& a, const TileType& type, F f) {
  return each_stretch(t, a, type, [&](int64_t lane, int64_t n, uint64_t address) {
    for (; n > 0; --n, ++lane, address += static_cast<uint64_t>(type.size))
      if (!f(lane, address)) return false;
    return true;
  });
}

}  // namespace triton_runner::tile
