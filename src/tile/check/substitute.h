// Declares LaunchOptions::substitution in the tile engine: elements that a check reports get a number.
#pragma once
#include <functional>
#include <span>

#include "task.h"

namespace triton_runner::tile {

// Calls f(elements, n) to change a value. One that is the same everywhere stays so, if it `may`: it is one
// element then.
template <class F>
void change(Task& t, Slot s, bool may, F f) {
  const TileType& type = t.type(s);
  if (type.is_tensor && !(may && t.is_uniform(s))) return f(t.own_elements(s), type.n);
  std::byte element[8] = {};
  num::store_bits(element, type.element, static_cast<uint64_t>(t.bits(s)));
  f(element, int64_t{1});
  t.set_uniform_from(s, element);
}

// `elements` of result `s` are what a check reports, and describe() says of the first of them. False where the
// launch makes no such experiment; else the place is noted, and the elements are replaced if it is among those
// to be.
bool substituted(Task& t, const Instr& in, Slot s, std::span<const int64_t> elements,
                 const std::function<exec::Trap()>& describe);

}  // namespace triton_runner::tile
