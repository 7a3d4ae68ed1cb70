// FusedRun is the part that both ways to run a fused instruction share: fused.cpp for any tile,
// fused_line.cpp for runs of memory. `Self` says which registers are one value for all elements, is_fixed(r)
// and fixed_bits(r), and which want scratch memory of their own, needs_scratch(r).
#pragma once
#include <algorithm>
#include <bit>

#include "fuse/foreseen.h"
#include "fuse/fused.h"
#include "task.h"

namespace triton_runner::tile {

template <class Self>
class FusedRun {
 public:
  FusedRun(const FusedRun&) = delete;
  FusedRun& operator=(const FusedRun&) = delete;

 protected:
  using From = Fused::Register::From;

  FusedRun(Task& t, const Instr& in) : t_(t), in_(in), f_(in.as<Fused>()), end_(f_.tile->n) {}
  ~FusedRun() {
    if (scratch_) t_.worker->pool->release(scratch_);
  }

  int64_t size(size_t r) const { return f_.registers[r].size; }
  // One element in place of a strip.
  bool is_one(size_t r) const {
    const Fused::Register& reg = f_.registers[r];
    return reg.single && (reg.from == From::kStep || self().is_fixed(r));
  }

  // Bytes of scratch memory an element: those of registers, and the lanes that steps share.
  int64_t scratch_an_element() const {
    int64_t each = 0;
    for (size_t r = 0; r < f_.registers.size(); ++r)
      if (self().needs_scratch(r)) each += size(r);
    for (uint8_t size : f_.lanes) each += size;
    return each;
  }
  // Strips whose scratch memory fits the first-level cache: whole rows, one at the least.
  void shorten_strips(int64_t each) {
    const int64_t most = std::max<int64_t>(
        64, static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(kScratchBytes / each))));
    if (most < strip_) strip_ = std::min(std::max(most / f_.row, int64_t{1}) * f_.row, strip_);
  }
  int64_t room(int64_t size) const { return (strip_ * size + 63) / 64 * 64; }  // of a strip's scratch memory

  void skip_steps() {
    for (size_t i = 0; i < f_.steps.size(); ++i)
      if (f_.steps[i].selects && chooses_own(f_.steps[i])) skipped_ |= uint64_t{1} << i;
  }

  size_t links_of_step(const Fused::Step& s, num::Link* links) const {
    return links_of(s, at_, [&](uint16_t r) { return is_one(r); }, links);
  }

  Task& t_;
  const Instr& in_;
  const Fused& f_;
  int64_t first_ = 0, end_;  // the elements to compute
  int64_t strip_ = 0;
  bool far_ = false;              // what is stored does not come into the caches
  uint64_t skipped_ = 0;          // bit i: step i has nothing to do
  Foreseen* foreseen_ = nullptr;  // if there is something to fetch
  Buffer* scratch_ = nullptr;
  std::byte* at_[Fused::kMaxRegisters];  // the strips that are worked on
  int64_t step_[Fused::kMaxRegisters];   // how far the next one is

 private:
  const Self& self() const { return static_cast<const Self&>(*this); }

  // A select whose condition is the same for all, of a value that lies where the result belongs.
  bool chooses_own(const Fused::Step& s) const {
    if (!self().is_fixed(s.in[0])) return false;
    const Fused::Register& from = f_.registers[s.in[self().fixed_bits(s.in[0]) & 1 ? 1 : 2]];
    return from.lane >= 0 && from.lane == f_.registers[s.out].lane;
  }
};

}  // namespace triton_runner::tile
