// Checks NaNs and divisions by zero of machine code. A number between two parts of an instruction (Part) is
// not the program's: it is marked where it is computed, the mark follows it through the parts of the same
// instruction, and what reads it elsewhere reports it. So what the assembler computes before it knows whether
// it is needed is not reported.
#include <algorithm>

#include <triton_runner/num/types.h>

#include "check/state.h"

namespace triton_runner::simt {

using machine::Badness;

Badness Checks::worst_of(const Exec& x, std::span<const uint32_t> places, num::Type type,
                         uint32_t lane) const {
  const size_t size = num::size_of(type);
  std::vector<std::byte> bytes;
  for (const uint32_t place : places) {
    const std::byte* at = x.regs + place + size_t{4} * (x.first + lane);
    bytes.insert(bytes.end(), at, at + 4);
  }
  Badness worst = Badness::kFine;
  for (size_t at = 0; at + size <= bytes.size(); at += size)
    worst = std::max(worst, badness(num::to_double(num::load_bits(bytes.data() + at, type), type)));
  return worst;
}

const Checks::Mark* Checks::mark_of(const Exec& x, State& s, std::span<const uint32_t> places,
                                    uint32_t lane) const {
  for (const uint32_t place : places)
    if (auto found = s.marks.find({x.cta->rank, place, x.first + lane}); found != s.marks.end())
      return &found->second;
  return nullptr;
}

void Checks::part_before(const Exec& x, const Instr& in) {
  inherited_.clear();
  used_.reset();
  if (!in.source || !in.source->part) return;
  const Part& part = *in.source->part;
  State& s = of(x);
  for (uint32_t i = 0; i < x.count; i++) {
    if (!x.on(i) || !(part.calls || part.takes_divisor)) continue;
    const std::pair<uint32_t, uint32_t> thread{x.cta->rank, x.first + i};
    if (part.calls) {
      s.callers[thread] = &in;
      s.divisions.erase({thread, 0});
      continue;
    }
    bool is_zero = true;
    for (const auto& places : part.reads)
      for (const uint32_t place : places) is_zero &= x.reg<uint32_t>(place)[i] == 0;
    s.divisions.erase({thread, part.of});
    if (is_zero && zero_division_)
      s.divisions[{thread, part.of}] = {maker_of(x, in, i), "the divisor is 0",
                                        exec::TrapKind::kDivisionByZero};
  }
  if (s.marks.empty()) return;
  for (uint32_t i : x.lanes()) {
    for (const auto& places : part.reads) {
      const Mark* mark = mark_of(x, s, places, i);
      if (!mark) continue;
      const uint32_t from = mark->maker->source->part->of;
      if (part.of && part.of != from && !used_) used_ = {i, *mark};
      Inherited& inherited = inherited_[i];
      inherited.mark = *mark;
      inherited.first = x.reg<uint32_t>(places.front())[i];
      for (const auto& other : part.reads)
        if (!mark_of(x, s, other, i))
          inherited.outside = std::max(inherited.outside, worst_of(x, other, mark->type, i));
    }
  }
}

bool Checks::part_uses(Exec& x, const Instr& in) {
  if (!used_) return false;
  const auto& [lane, mark] = *used_;
  x.trap(mark.maker->source->part->of ? *mark.maker : in, mark.kind, mark.message, lane);
  return true;
}

void Checks::part_writes(const Exec& x, const Instr& in, uint32_t lane, const Mark* mark) {
  State& s = of(x);
  for (const uint32_t place : in.source->part->writes) {
    if (mark)
      s.marks[{x.cta->rank, place, x.first + lane}] = *mark;
    else
      s.marks.erase({x.cta->rank, place, x.first + lane});
  }
}

void Checks::part_after(const Exec& x, const Instr& in) {
  if (!in.source || !in.source->part) return;
  const Part& part = *in.source->part;
  State& s = of(x);
  if (s.marks.empty() && s.divisions.empty()) return;
  for (uint32_t i : x.lanes()) {
    const auto found = inherited_.find(i);
    const Inherited* inherited = found == inherited_.end() ? nullptr : &found->second;
    const auto division = s.divisions.find({{x.cta->rank, x.first + i}, part.of});
    const bool is_same =
        inherited && !part.writes.empty() && x.reg<uint32_t>(part.writes[0])[i] == inherited->first;
    if (division != s.divisions.end() && (!part.of || !part.moves || is_same))
      part_writes(x, in, i, &division->second);
    else if (inherited && inherited->mark.kind == exec::TrapKind::kDivisionByZero)
      part_writes(x, in, i, part.moves && !is_same ? nullptr : &inherited->mark);
    else if (in.source->at != marked_at_)
      part_writes(x, in, i,
                  inherited && worst_of(x, part.writes, inherited->mark.type, i) > inherited->outside
                      ? &inherited->mark
                      : nullptr);
  }
}

const Instr* Checks::maker_of(const Exec& x, const Instr& in, uint32_t lane) {
  State& s = of(x);
  const auto found = s.callers.find({x.cta->rank, x.first + lane});
  return in.source->part->of || found == s.callers.end() ? &in : found->second;
}

}  // namespace triton_runner::simt
