// Declares what an op tells the checks beside its effects, by functions that stand beside its handler and
// that its row of ops.def names. They are given one execution of an instruction of the op, and no part of the
// checks (check/), which implement what is asked and said here.
//
//   // SHADOW(select): only the operand that is chosen matters
//   void shadow_select(ShadowRule& r) {
//     const Lanes yes = r.lanes(1), no = r.lanes(2);
//     r.results([&](int64_t e) { return chosen[e] ? yes.marked(e) : no.marked(e); });
//   }
#pragma once
#include <functional>

#include "task.h"

namespace triton_runner::tile {

// Says which elements of a value a check has marked: as undefined (check/uninit.h), or as not having the
// exact value (check/overflow.h).
struct Lanes {
  const std::byte* data = nullptr;  // null: all elements are the same
  int64_t size = 1, n = 1;
  bool all = false;
  bool marked(int64_t i) const {
    if (!data) return all;
    const std::byte* p = data + (n == 1 ? 0 : i) * size;
    for (int64_t b = 0; b < size; ++b)
      if (p[b] != std::byte{0}) return true;
    return false;
  }
};

class UninitCheck;
class RaceCheck;

// Asked after the instruction ran: where an operand is undefined, and always of ops that have none or go to memory.
// Who says nothing leaves the results defined.
class ShadowRule {
 public:
  Task& t;
  const Instr& in;
  Lanes lanes(uint32_t operand) const;
  // The elements of every result for which f says so.
  void results(const std::function<bool(int64_t element)>& f);
  // Each element comes from one of the operands', which the instruction finds again when it runs on what is undefined
  // of them; `index` says where, and is given as it is: what is undefined of it is so of the result.
  void moved(uint32_t index);
  void undefined(const char* why);  // all of every result, although no operand is
  // Elements of a buffer (1: undefined; empty: none are), from when the barrier has counted the copy on, in each block
  // that the op reaches.
  void lands(ir::GroupName buffer, ir::GroupName barrier, const std::vector<uint8_t>& elements);

  UninitCheck& check;
  uint32_t origin;  // of what is undefined of the operands
};
using ShadowFn = void (*)(ShadowRule&);

// Who accesses memory, and what came before it: a task, the tensor core, or a copy or product that runs beside its task.
struct RaceThread {};

// Asked before the instruction runs. False: what was said is a race, and the launch ends.
class RaceRule {
 public:
  enum Queue : uint8_t { kCopies, kProducts, kStores };  // what a task has begun and not waited for

  Task& t;
  const Instr& in;
  bool on() const;  // its predicate, if it has one
  RaceThread& task();
  RaceThread& tensor_core();  // of tcgen05: its products and copies come one after the other
  std::vector<Program*> blocks()
      const;             // whose memory an op of the tensor core works on; none: another block issues it
  RaceThread& beside();  // one that comes after what the task did so far
  void order(RaceThread& before, RaceThread& after);
  // All of a buffer, in each of these blocks; an operand that is none is left out.
  [[nodiscard]] bool reads(RaceThread& by, ir::GroupName buffer);
  [[nodiscard]] bool writes(RaceThread& by, ir::GroupName buffer);
  void arrive(RaceThread& by, ir::GroupName barriers);  // who waits for one of them comes after it
  void begin(Queue queue, const RaceThread& work);
  void fence();          // what the task knows of, the async proxy sees
  void fence_memory();   // what is before it comes before what is after it, where relaxed atomics meet
  bool commits() const;  // whether the kernel has commits of tcgen05

  RaceCheck& check;
  std::shared_ptr<RaceThread> made;
};
using RaceFn = bool (*)(RaceRule&);

}  // namespace triton_runner::tile
