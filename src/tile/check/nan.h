// NanCheck reports, for check="nan" and "inf", the first op whose result is worse than its operands: a NaN is
// worse than an infinity, and an infinity is worse than a finite number. So a NaN that comes of infinities is
// reported whether or not "inf" is on.
#pragma once
#include <span>

#include <triton_runner/machine/badness.h>

#include "check/check.h"

namespace triton_runner::tile {

class NanCheck {
 public:
  // infinities: they count, too. loads: NaNs that loads bring in are reported, too.
  NanCheck(bool infinities, bool loads) : infinities_(infinities), loads_(loads) {}
  // An undefined element counts for nothing: it is masked off later, or computed ahead of a loop that may not
  // run.
  bool after(Task& t, const Instr& in, const UninitCheck& undefined);  // false: it trapped

 private:
  machine::Badness badness(const void* element, num::Type type) const;
  int64_t first_bad(const void* data, int64_t n, num::Type type) const;  // -1: none
  machine::Badness worst(Task& t, Slot s) const;
  // The elements of a result that are worse than the operands, and at least so bad. same_index: worse than the operands'
  // elements at the same index.
  std::vector<int64_t> made(Task& t, const Instr& in, Slot result, bool same_index, machine::Badness least,
                            const UninitCheck& undefined) const;
  // False: it trapped.
  bool report(Task& t, const Instr& in, Slot result, std::span<const int64_t> elements,
              bool same_index) const;
  exec::Trap described(Task& t, const Instr& in, Slot result, int64_t element, bool same_index) const;

  bool infinities_, loads_;
};

}  // namespace triton_runner::tile
