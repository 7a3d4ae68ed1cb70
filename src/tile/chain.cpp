// Two steps of a fused instruction as one, where what the first one gives goes only to the second.
#include <algorithm>

#include "fused.h"

namespace triton_runner::tile {
namespace {

void remove_register(Fused& f, uint16_t gone) {
  f.registers.erase(f.registers.begin() + gone);
  auto renumber = [gone](uint16_t& r) { r -= r > gone; };
  for (Fused::Step& s : f.steps) {
    if (s.defines()) renumber(s.out);
    for (uint16_t& r : s.in) renumber(r);
  }
  for (Fused::Access& a : f.loads) renumber(a.reg);
  if (f.store) renumber(f.store->reg);
}

}  // namespace

void chain_steps(Fused& f) {
  std::vector<uint32_t> reads(f.registers.size(), 0);
  for (const Fused::Step& s : f.steps)
    for (size_t k = 0; k < s.arity; ++k) ++reads[s.in[k]];
  if (f.store) ++reads[f.store->reg];
  for (size_t i = 0; i < f.steps.size();) {
    const Fused::Step first = f.steps[i];
    auto then = std::find_if(
        f.steps.begin() + static_cast<int64_t>(i) + 1, f.steps.end(),
        [&](const auto& s) { return s.in[0] == first.out || s.in[1] == first.out || s.in[2] == first.out; });
    const bool only = first.loop && first.arity == 2 && f.registers[first.out].result < 0 &&
                      reads[first.out] == 1 && then != f.steps.end() && then->loop && then->arity <= 2;
    const bool right = only && then->arity == 2 && then->in[1] == first.out;
    num::Loop loop = only ? num::chain_loops(first.loop, then->loop, right) : nullptr;
    if (!loop) {
      ++i;
      continue;
    }
    const uint16_t other = then->arity == 2 ? then->in[right ? 0 : 1] : first.in[0];
    then->loop = loop;
    ++then->arity;
    then->in[0] = first.in[0], then->in[1] = first.in[1], then->in[2] = other;
    f.steps.erase(f.steps.begin() + static_cast<int64_t>(i));
    reads.erase(reads.begin() + first.out);
    remove_register(f, first.out);
  }
}

}  // namespace triton_runner::tile
