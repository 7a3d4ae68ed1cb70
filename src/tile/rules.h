// What the checks are told of an op beside its effects, by functions that stand beside its handler and that its row
// of ops.def names. They are given one execution of an instruction of the op, and no part of the checks (check/), which
// implement what is asked and said here.
//
//   // SHADOW(select): only the operand that is chosen matters
//   void shadow_select(ShadowRule& r) {
//     const Lanes yes = r.lanes(1), no = r.lanes(2);
//     r.results([&](int64_t e) { return chosen[e] ? yes.bad(e) : no.bad(e); });
//   }
#pragma once
#include <functional>

#include "task.h"

namespace triton_runner::tile {

// Which elements of a value are undefined.
struct Lanes {
  const std::byte* data = nullptr;  // null: all elements are the same
  int64_t size = 1, n = 1;
  bool all = false;
  bool bad(int64_t i) const {
    if (!data) return all;
    const std::byte* p = data + (n == 1 ? 0 : i) * size;
    for (int64_t b = 0; b < size; ++b)
      if (p[b] != std::byte{0}) return true;
    return false;
  }
};

// Asked after the instruction ran: where an operand is undefined, and always of ops that have none or go to memory.
// Who says nothing leaves the results defined.
class ShadowRule {
 public:
  Task& t;
  const Instr& in;
  virtual Lanes lanes(uint32_t operand) = 0;
  // The elements of every result for which f says so.
  virtual void results(const std::function<bool(int64_t element)>& f) = 0;
  // Each element comes from one of the operands', which the instruction finds again when it runs on what is undefined
  // of them; `index` says where, and is given as it is: what is undefined of it is so of the result.
  virtual void moved(std::optional<uint32_t> index = {}) = 0;
  // All of every result, although no operand is.
  virtual void undefined(const char* why) = 0;
  // Elements of a buffer (1: undefined; empty: none are), from when the barrier has counted the copy on, in each block
  // that the op reaches.
  virtual void lands(ir::GroupName buffer, ir::GroupName barrier, const std::vector<uint8_t>& elements) = 0;

 protected:
  ShadowRule(Task& task, const Instr& instr) : t(task), in(instr) {}
  ~ShadowRule() = default;
};
using ShadowFn = void (*)(ShadowRule&);

}  // namespace triton_runner::tile
