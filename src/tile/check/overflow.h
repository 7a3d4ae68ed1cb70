// OverflowCheck reports, for check="overflow", integers that do not fit their type, where an address, a mask,
// the count of a loop or a stored index depends on them.
//
// The shadow of an integer (shadow.h) is a number of the same type: how many times 2^width is missing from it
// (machine/exact.h). Ops with an EXACT rule compute it, reductions and scans with the rule of the op that they apply; ops that
// move elements move it, through shared memory too; all others have exact results. Of what lies in global memory nothing is
// known to be missing.
#pragma once
#include <functional>

#include <triton_runner/machine/exact.h>

#include "check/family.h"
#include "check/shadow.h"

namespace triton_runner::tile {

class OverflowCheck {
 public:
  explicit OverflowCheck(const CheckedCode& code);
  void begin(Program& program);
  bool before(Task& t, const Instr& in);  // false: it trapped
  void after(Task& t, const Instr& in);

 private:
  struct Known {
    Family family;
    machine::ExactFn rule = nullptr;  // null: its results are exact, unless its family moves elements
    bool folds = false;               // a reduction or scan, by that rule
    bool makes = false;               // its result may be too large although its operands are exact
    int predicate = 0;                // of a comparison
    std::vector<Sink> sinks;
  };
  Shadows& of(const Task& t) const;
  Known known_of(const Instr& in);
  static machine::ExactFn applied_rule(const ir::Op& op);
  void compute(Task& t, const Instr& in, const Known& known);
  void fold(Task& t, const Instr& in, const Known& known);
  bool through_shared(Task& t, const Instr& in, Family family);  // false: it moves nothing there
  void mark(Task& t, const Instr& in, const std::vector<int64_t>& wraps, uint32_t origin);
  uint32_t origin_of(Task& t, const Instr& in, int64_t element, std::span<const machine::Integer> operands,
                     const std::function<std::string()>& what);
  bool report(Task& t, const Instr& in, const Sink& sink, int64_t element);

  const CheckedCode& code_;
  machine::MeantToWrap meant_;
  std::vector<Known> known_;  // by instruction
};

}  // namespace triton_runner::tile
