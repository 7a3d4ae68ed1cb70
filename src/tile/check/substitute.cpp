// Puts a number in the place of elements that a check reports.
#include "check/substitute.h"

#include <triton_runner/exec/substitution.h>

#include "trace/location.h"

namespace triton_runner::tile {
namespace {

uint64_t bits_of(double number, num::Type type) {
  if (num::is_float(type)) return num::from_double(number, type);
  const auto whole = static_cast<uint64_t>(static_cast<int64_t>(number));
  return type == num::Type::kI1 ? whole & 1 : whole;
}

}  // namespace

bool substituted(Task& t, const Instr& in, Slot s, std::span<const int64_t> elements,
                 const std::function<exec::Trap()>& describe) {
  exec::Substitution* experiment = t.worker->launch->options->substitution;
  if (!experiment) return false;
  experiment->places.note(in.op, t.program->linear, elements.size(), describe);
  const TileType& type = t.type(s);
  if (type.element == num::Type::kPointer || type.size == 0 ||
      !experiment->applies_at(location_of(*in.op, *t.code->module).str()))
    return true;
  const uint64_t bits = bits_of(experiment->number, type.element);
  change(t, s, static_cast<int64_t>(elements.size()) == type.n, [&](std::byte* values, int64_t n) {
    for (const int64_t e : elements)
      if (e < n) num::store_bits(values + e * type.size, type.element, bits);
  });
  return true;
}

}  // namespace triton_runner::tile
