// HintCheck compares, for check="hints", what the IR promises of values (tt.divisibility, tt.contiguity,
// tt.constancy, of arguments and of results, and llvm.intr.assume) with the values. A compiler that believes
// a false promise makes accesses too wide; the program is at fault, not the compiler.
#pragma once
#include <unordered_map>

#include "check/check.h"

namespace triton_runner::tile {

class UninitCheck;

class HintCheck {
 public:
  explicit HintCheck(const Code& code);
  // Before a program's first instruction: its arguments, and what was computed once for all programs.
  bool begin(Task& t, const Instr& first) const;
  // After an instruction ran. False: a promise is broken in elements that are not `undefined`, and that is a
  // trap now.
  bool after(Task& t, const Instr& in, const UninitCheck& undefined) const;

 private:
  enum class Kind : uint8_t { kDivisibility, kContiguity, kConstancy };
  struct Hint {
    Kind kind;
    Slot slot;
    std::vector<int64_t> by;  // along each dimension; one of a scalar
    std::string subject;      // "argument 'n'" or "%5"
  };
  void collect(const Code& code, std::vector<Hint>& to, const ir::Attr* value, Kind kind, Slot slot,
               const std::string& subject) const;
  bool holds(Task& t, const Instr& at, const Hint& hint, const UninitCheck* undefined) const;

  std::vector<Hint> arguments_;
  std::unordered_map<const Instr*, std::vector<Hint>> results_;
  std::vector<const Instr*> once_;  // those of results_ that run once for all programs
  Instr function_{};                // stands for the tt.func, in reports on arguments
};

}  // namespace triton_runner::tile
