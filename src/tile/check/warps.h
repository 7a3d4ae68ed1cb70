// Warps tells, for check="race", which warps of a program make an access to global memory, element by
// element, and what orders the warps. The layouts of TTGIR say so; at TTIR there are none, and a program is
// one.
//
// A store is made by one holder of an element. A load is made by all of them, but only those count whose copy of the
// element goes anywhere: into a store that this warp makes, into a decision, or to other warps. So `p[i] += 1` in a tile
// that is smaller than the block is no race, although all warps read what one of them writes.
#pragma once
#include <cstdint>
#include <map>
#include <vector>

#include "check/check.h"

namespace triton_runner::tile {

using WarpMask = uint64_t;  // a bit each; 0: the program as one

class Warps {
 public:
  explicit Warps(const CheckedCode& code);
  bool are_known() const { return known_; }
  // The warps of an access through pointers, by element; one for all of them; or empty: nobody makes it.
  std::vector<WarpMask> of(const Instr& in) const;
  // Returns whether all warps of the task wait for each other at the instruction: before what it does, and
  // after.
  bool meet_before(const Instr& in) const { return before_[number_of(in)]; }
  bool meet_after(const Instr& in) const { return after_[number_of(in)]; }

 private:
  // By element, and one for all where they are the same; empty: no layout is known.
  using Holders = std::vector<WarpMask>;
  const Holders& holders(const ir::Type* type) const;
  WarpMask writers(const ir::Type* type) const;  // of all elements
  size_t number_of(const Instr& in) const { return static_cast<size_t>(&in - code_.code.instrs.data()); }
  const ir::Type* accessed_type(const Instr& in) const;
  bool crosses(const Instr& in) const;
  WarpMask wanted(Slot s) const { return wanted_[s]; }
  WarpMask wanted_of_operands(const Instr& in) const;
  void find_wanted();
  void find_meetings();

  static constexpr WarpMask kAll = ~WarpMask{0};
  const CheckedCode& code_;
  bool known_ = false;
  mutable std::map<const ir::Type*, Holders> holders_;
  std::vector<WarpMask> wanted_;  // by slot: the warps whose copy of the value goes anywhere
  std::vector<bool> crosses_, before_, after_;
};

}  // namespace triton_runner::tile
