// Shadows holds a value of marks beside each value of a program, and runs instructions on these. The headers
// uninit.h and overflow.h say what their marks mean.
#pragma once
#include <algorithm>
#include <functional>

#include "check/family.h"
#include "ops/access.h"
#include "rules.h"

namespace triton_runner::tile {

// The place where an undefined value was made.
struct Origin {
  const Instr* in;
  std::vector<int64_t> element;
  std::string what, iteration;
  uint32_t from = 0;                         // 1 + the index of the one that it was computed from
  std::string text(const Code& code) const;  // its op, place, element and iteration
};

// Returns whether an element is undefined. Without an early exit, which would cost the vector instructions.
template <typename T>
bool any_set(const std::vector<T>& undefined) {
  T all{};
  for (T one : undefined) all |= one;
  return all != T{};
}

class Shadows {
 public:
  Shadows(const Code& code, BufferPool& pool);
  ~Shadows();
  // `memory`: what each byte of the shadow of shared memory is at first.
  void begin(Program& program, std::byte memory);

  // Nothing of it is undefined.
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
  std::byte* new_lanes(Task& t, Slot s, uint32_t origin);  // dense, all defined yet
  void copy(Slot to, Slot from);
  void copies(const Instr& in);  // result i is operand i, all at once
  // Results that are elements of operands, where the family says so; of kMoves the caller sets the origins. False: they are
  // not.
  bool move(Task& t, const Instr& in, Family family);
  // Elements of each result that f says.
  void fill(Task& t, const Instr& in, const std::function<bool(int64_t element)>& f);
  void unite(Task& t, Slot to, Slot with);  // adds what is undefined in `with`, of as many elements
  void settle(Task& t, Slot s);             // recognises it as clean if all of it is defined
  int64_t first(Task& t, Slot s);           // undefined element; -1: none
  // The same of those that a mask (kNoSlot: none) leaves on. A mask of fewer elements is for all.
  int64_t first_on(Task& t, Slot s, int64_t mask);
  // Makes the pattern of new shared memory that of other undefined elements; the first element that has
  // it, -1.
  int64_t tame(Task& t, Slot s);
  // The instruction on the shadows, but for the slots in `real` and objects, which keep their values.
  void run(Task& t, const Instr& in, std::vector<Slot> real);
  // Reads and writes of shared memory, done again on its shadow; stored: the origin of an operand that is not clean.
  void shared_moves(Task& t, const Instr& in);
  // Makes clean what an op that may have written to its buffers stored there.
  void clear_buffers(Task& t, const Instr& in, std::span<const MemoryOperand> buffers);
  // Puts what an asynchronous copy brings (the shadow of the instruction's result) on its way to a buffer;
  // what a TMA load or a store of the cluster brings (`undefined`: 1 for each element that is; empty: none)
  // to the second of its buffers, counted by the first.
  void issue_copy(Task& t, const Instr& in, const MemoryOperand& to);
  void issue_block(Task& t, const Instr& in, const MemoryOperand& barrier, const MemoryOperand& to,
                   const std::vector<uint8_t>& undefined);
  // The task's copies arrive at a barrier together.
  void hand_over(Task& t, Slot barrier);
  // Elements of a buffer, 1 where undefined.
  std::vector<uint8_t> read(Task& t, const Instr& in, const MemoryOperand& from, int64_t n);
  void write(Task& t, const Instr& in, const MemoryOperand& to, const std::vector<uint8_t>& undefined);
  // Copies that a barrier counts have arrived.
  void complete_copies(Task& t, Slot barrier);
  uint32_t new_origin(Task& t, const Instr& in, std::vector<int64_t> element, std::string what,
                      uint32_t from = 0);

  std::vector<uint32_t> origin;  // by slot, 1 + index in origins; 0: not known
  std::vector<Origin> origins;
  uint32_t stored = 0;  // of the last undefined value that was stored to shared memory

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
  std::unique_ptr<Shadows> shadows;
  std::unique_ptr<Shadows> missing;  // of check="overflow"
  std::unique_ptr<ProgramState> race;
};

// f(lane, address) for the lanes that are on, until it says false; what it said last.
template <class F>
bool each_address(Task& t, const Access& a, const TileType& type, F f) {
  const uint8_t* on = nullptr;
  if (a.mask != kNoSlot) {
    const Slot m = static_cast<Slot>(a.mask);
    if (t.is_uniform(m)) {
      if (!t.bits(m)) return true;
    } else {
      on = t.dense<uint8_t>(m);
    }
  }
  const Slot ptr = static_cast<Slot>(a.ptr);
  if (type.rank == 0) return f(int64_t{0}, static_cast<uint64_t>(t.bits(ptr)));
  const auto* addresses = t.dense<uint64_t>(ptr);
  for (int64_t i = 0; i < type.n; ++i)
    if ((!on || on[i]) && !f(i, addresses[i])) return false;
  return true;
}

}  // namespace triton_runner::tile
