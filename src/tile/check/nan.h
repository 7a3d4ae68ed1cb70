// check="nan": the first op whose result holds a NaN where none of its operands did.
#pragma once
#include <span>

#include "check/check.h"

namespace triton_runner::tile {

class NanCheck {
 public:
  // Infinities too; what loads bring in too.
  NanCheck(bool infinities, bool loads) : infinities_(infinities), loads_(loads) {}
  // What is undefined counts for nothing: it is masked off later, or computed ahead of a loop that may
  // not run.
  bool after(Task& t, const Instr& in, const UninitCheck& undefined);  // false: it trapped

 private:
  bool is_bad(const void* element, num::Type type) const;
  int64_t first_bad(const void* data, int64_t n, num::Type type) const;  // -1: none
  bool any_bad(Task& t, Slot s) const;
  // Of elements that the op made NaN. False: it trapped.
  bool report(Task& t, const Instr& in, Slot result, std::span<const int64_t> elements,
              bool same_index) const;
  exec::Trap described(Task& t, const Instr& in, Slot result, int64_t element, bool same_index) const;

  bool infinities_, loads_;
};

}  // namespace triton_runner::tile
